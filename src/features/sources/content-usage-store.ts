import { store } from '../hub/hub.ts';

/** Bytes of an account's contents. `fullSince`: when it was told that its quota is used up (unix ms); else null. */
export type ContentUsage = { accountId: number; bytes: number; fullSince: number | null };

/** Bytes of contents, which SQL triggers count: migrations 0019, 0030 and 0041 say what and how. */
export const contentUsage = store(({ db, clock }) => {
  const columns = 'account_id AS accountId, bytes, full_since AS fullSince';
  const selectAmong = db.prepare<[string], ContentUsage>('read the content usage of all accounts',
    `SELECT ${columns} FROM content_usage WHERE account_id IN (SELECT value FROM json_each(?))`);
  const selectFull = db.prepare<[], { n: number; since: number | null }>('accounts without room', `
    SELECT COUNT(*) AS n, MIN(full_since) AS since FROM content_usage
     WHERE full_since IS NOT NULL`);
  const selectSource = db.prepare<[number], { bytes: number }>('read the content usage of a source',
    'SELECT bytes FROM source_usage WHERE source_id = ?');
  const setFull = db.prepare<[number | null, number]>('note whether the content quota of an account is used up',
    'UPDATE content_usage SET full_since = ? WHERE account_id = ?');
  const hurry = db.prepare<[{ accountId: number; reason: string; now: number }]>('make stopped feeds of account due', `
    UPDATE sources SET next_sync_at = @now
     WHERE owner_id = @accountId AND kind = 'feed' AND state = 'failing' AND state_reason = @reason
       AND removed_at IS NULL`);

  return {
    of: db.prepare<[accountId: number], ContentUsage>('read the content usage of an account',
      `SELECT ${columns} FROM content_usage WHERE account_id = ?`).get,
    ofOwner: db.prepare<[sourceId: number], ContentUsage>('read the content usage of the owner of a source',
      `SELECT ${columns} FROM content_usage WHERE account_id = (SELECT owner_id FROM sources WHERE id = ?)`).get,
    ofSource: (sourceId: number): number => selectSource.get(sourceId)?.bytes ?? 0,
    among: (accountIds: number[]): Map<number, number> =>
      new Map(selectAmong.all(JSON.stringify(accountIds)).map(({ accountId, bytes }) => [accountId, bytes])),
    large: db.prepare<[bytes: number], ContentUsage>('find the accounts with much content',
      `SELECT ${columns} FROM content_usage WHERE bytes >= ? OR full_since IS NOT NULL`).all,
    full: (): { n: number; since: number | null } => selectFull.get() ?? { n: 0, since: null },
    setFull: (accountId: number, isFull: boolean): void => void setFull.run(isFull ? clock() : null, accountId),
    hurry: (accountId: number, reason: string): void => void hurry.run({ accountId, reason, now: clock() }),
  };
});
