import { store, type Hub } from '../hub/hub.ts';

/** Why the hub's TLS certificate needs attention: it ends soon, is for another name, or was out of the hub's reach. */
export type CertificateProblem = 'ending' | 'other name' | 'not seen';

/**
 * What the hub last saw of its TLS certificate; times in unix ms. `expiresAt` and `problem` describe the last
 * certificate that the hub has seen, if any.
 */
type SeenCertificate = { checkedAt: number; expiresAt: number | null; problem: CertificateProblem | null };

/** Stores what the worker last saw of the TLS certificate at BASE_URL: pages must not wait for a TLS handshake. */
export const certificates = store(({ db, clock }) => {
  const select = db.prepare<[string], SeenCertificate>('certificate', `
    SELECT checked_at AS checkedAt, expires_at AS expiresAt, problem FROM certificates WHERE origin = ?`);
  const put = db.prepare<[string, number, number | null, string | null]>('note certificate', `
    INSERT INTO certificates (origin, checked_at, expires_at, problem) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET checked_at = excluded.checked_at,
      problem = CASE WHEN excluded.expires_at IS NULL AND expires_at IS NOT NULL THEN problem ELSE excluded.problem END,
      expires_at = COALESCE(excluded.expires_at, expires_at)`);

  return {
    find: (origin: string): SeenCertificate | undefined => select.get(origin),
    note: (origin: string, expiresAt: number | null, problem: CertificateProblem | null): void =>
      void put.run(origin, clock(), expiresAt, problem),
  };
});

/** The hub's TLS certificate as the worker last saw it; undefined on http, and before the worker's first check. */
export function seenCertificate(hub: Hub): SeenCertificate | undefined {
  const { protocol, origin } = new URL(hub.config.baseUrl);
  return protocol === 'https:' ? certificates(hub).find(origin) : undefined;
}
