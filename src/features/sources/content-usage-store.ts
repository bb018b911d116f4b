import { store } from '../hub/hub.ts';

/** Bytes of the contents of an account's sources. `fullSince`: when the quota stopped the sources (unix ms). */
export type ContentUsage = { accountId: number; bytes: number; fullSince: number | null };

/** Bytes of posts, their files, tombstones and remembered events. Triggers keep the sums current (migration 0019). */
export const contentUsage = store(({ db, clock }) => {
  const columns = 'account_id AS accountId, bytes, full_since AS fullSince';
  const select = db.prepare<[number], ContentUsage>('content usage of account',
    `SELECT ${columns} FROM content_usage WHERE account_id = ?`);
  const selectOwner = db.prepare<[number], ContentUsage>('content usage of owner',
    `SELECT ${columns} FROM content_usage WHERE account_id = (SELECT owner_id FROM sources WHERE id = ?)`);
  const selectAmong = db.prepare<[string], ContentUsage>('content usage of accounts',
    `SELECT ${columns} FROM content_usage WHERE account_id IN (SELECT value FROM json_each(?))`);
  const selectLarge = db.prepare<[number], ContentUsage>('accounts with much content',
    `SELECT ${columns} FROM content_usage WHERE bytes >= ? OR full_since IS NOT NULL`);
  const selectFull = db.prepare<[], { n: number; since: number | null }>('accounts without room', `
    SELECT COUNT(*) AS n, MIN(full_since) AS since FROM content_usage
     WHERE full_since IS NOT NULL`);
  const selectSource = db.prepare<[number], { bytes: number }>('content usage of source',
    'SELECT bytes FROM source_usage WHERE source_id = ?');
  const setFull = db.prepare<[number | null, number]>('note whether account has room',
    'UPDATE content_usage SET full_since = ? WHERE account_id = ?');
  const hurry = db.prepare<[{ accountId: number; reason: string; now: number }]>('make stopped feeds due', `
    UPDATE sources SET next_sync_at = @now
     WHERE owner_id = @accountId AND kind = 'feed' AND state = 'failing' AND state_reason = @reason
       AND removed_at IS NULL`);

  return {
    of: (accountId: number): ContentUsage | undefined => select.get(accountId),
    ofOwner: (sourceId: number): ContentUsage | undefined => selectOwner.get(sourceId),
    ofSource: (sourceId: number): number => selectSource.get(sourceId)?.bytes ?? 0,
    /** Bytes of contents by account. */
    among: (accountIds: number[]): Map<number, number> =>
      new Map(selectAmong.all(JSON.stringify(accountIds)).map(({ accountId, bytes }) => [accountId, bytes])),
    /** Accounts with at least `bytes` of contents, and accounts whose quota was used up at the last check. */
    large: (bytes: number): ContentUsage[] => selectLarge.all(bytes),
    /** Number of accounts whose quota is used up, and when the first account used up its quota. */
    full: (): { n: number; since: number | null } => selectFull.get() ?? { n: 0, since: null },
    setFull: (accountId: number, isFull: boolean): void => void setFull.run(isFull ? clock() : null, accountId),
    /** Makes due the account's feeds that have stopped for `reason`. */
    hurry: (accountId: number, reason: string): void => void hurry.run({ accountId, reason, now: clock() }),
  };
});
