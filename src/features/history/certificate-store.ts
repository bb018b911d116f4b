import { store, type Hub } from '../hub/hub.ts';

/** It ends soon and was not renewed, it is for another name, or the hub could not see it. */
export type CertificateProblem = 'ending' | 'other name' | 'not seen';

/** Times in unix ms. `expiresAt` and `problem` are those of the last certificate that was seen, if any was. */
type SeenCertificate = { checkedAt: number; expiresAt: number | null; problem: CertificateProblem | null };

/** The certificate at BASE_URL as the worker last saw it, so that no page has to wait for a look at it. */
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

/** What was last seen of the hub's certificate; undefined on http, and before the first look. */
export function seenCertificate(hub: Hub): SeenCertificate | undefined {
  const { protocol, origin } = new URL(hub.config.baseUrl);
  return protocol === 'https:' ? certificates(hub).find(origin) : undefined;
}
