import { store } from '../hub/hub.ts';

/** What is wrong: it ends before long and nobody has renewed it, it is for another name, or it could not be seen. */
export type CertificateProblem = 'ending' | 'other name' | 'not seen';

/** Times in unix ms; `expiresAt` and `problem` are those of the last certificate that was seen, if there is one. */
type SeenCertificate = { checkedAt: number; expiresAt: number | null; problem: CertificateProblem | null };

/** What the worker saw of the certificate at BASE_URL, so that no page has to wait for a look at it. */
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
