import { DAY } from '../../platform/clock.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import { store } from '../hub/hub.ts';

/** What the form holds, without its files. */
export type DraftFields = Record<string, string>;

/** `form` is the path of its page. */
export type Draft = { id: number; form: string; fields: DraftFields; savedAt: number };

/** Drafts of one account; the oldest make room. */
const MOST = 10;
/** Pending drafts of one account: sent after its session ended, they wait a day for its owner to sign in. */
const MOST_PENDING = 3;
export const PENDING_LIFETIME = DAY;
/** A draft is removed so long after it was saved. */
export const DRAFT_LIFETIME = 90 * DAY;

const TIMES: StoredTime[] = [{ table: 'drafts', column: 'saved_at', furthest: 0 }];

/** What people are writing and was not accepted. A pending draft is its account's too, but is shown to nobody. */
export const drafts = store(({ db, clock }) => {
  type Row = Omit<Draft, 'fields'> & { fields: string };
  const columns = 'id, form, fields, saved_at AS savedAt';
  const select = db.prepare<[number, string], Row>('draft',
    `SELECT ${columns} FROM drafts WHERE account_id = ? AND form = ? AND pending_hash IS NULL`);
  const selectOf = db.prepare<[number, number, number], Row>('drafts of account',
    `SELECT ${columns} FROM drafts WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`);
  const upsert = db.prepare<[number, string, string, number]>('save draft', `
    INSERT INTO drafts (account_id, form, fields, saved_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (account_id, form) WHERE pending_hash IS NULL
    DO UPDATE SET fields = excluded.fields, saved_at = excluded.saved_at`);
  const insertPending = db.prepare<[number, string, string, string, number]>('save pending draft',
    'INSERT INTO drafts (account_id, form, fields, pending_hash, saved_at) VALUES (?, ?, ?, ?, ?)');
  const takePending = db.prepare<[string, number, string, number], { fields: string }>('take pending draft', `
    DELETE FROM drafts WHERE pending_hash = ? AND account_id = ? AND form = ? AND saved_at > ? RETURNING fields`);
  const removeOldest = db.prepare<[{ id: number; isPending: 0 | 1; kept: number }]>('remove oldest drafts', `
    DELETE FROM drafts WHERE account_id = @id AND (pending_hash IS NOT NULL) = @isPending AND id NOT IN
      (SELECT id FROM drafts WHERE account_id = @id AND (pending_hash IS NOT NULL) = @isPending
        ORDER BY saved_at DESC, id DESC LIMIT @kept)`);
  const remove = db.prepare<[number, string]>('remove draft',
    'DELETE FROM drafts WHERE account_id = ? AND form = ? AND pending_hash IS NULL');
  const removeOf = db.prepare<[number, number]>('remove drafts of account',
    'DELETE FROM drafts WHERE id IN (SELECT id FROM drafts WHERE account_id = ? LIMIT ?)');
  const removeOld = db.prepare<[{ pending: number; kept: number; limit: number }]>('remove old drafts', `
    DELETE FROM drafts WHERE id IN (SELECT id FROM drafts
     WHERE saved_at <= @kept OR (saved_at <= @pending AND pending_hash IS NOT NULL) LIMIT @limit)`);

  const opened = ({ fields, ...row }: Row): Draft => ({ ...row, fields: JSON.parse(fields) });

  function save(accountId: number, form: string, fields: string): void {
    upsert.run(accountId, form, fields, clock());
    removeOldest.run({ id: accountId, isPending: 0, kept: MOST });
  }

  return {
    find(accountId: number, form: string): Draft | undefined {
      const row = select.get(accountId, form);
      return row && opened(row);
    },
    listOf: (accountId: number, after: number, limit: number): Draft[] =>
      selectOf.all(accountId, after, limit).map(opened),

    /** In the place of an older one of that form. */
    save: (accountId: number, form: string, fields: DraftFields): void => save(accountId, form, JSON.stringify(fields)),

    /** The secret with which its account makes a draft of it once somebody has signed in; it is not kept. */
    savePending(accountId: number, form: string, fields: DraftFields): string {
      const secret = newSecret();
      insertPending.run(accountId, form, JSON.stringify(fields), hashSecret(secret), clock());
      removeOldest.run({ id: accountId, isPending: 1, kept: MOST_PENDING });
      return secret;
    },

    /** In the caller's transaction. Nothing happens where the secret is not that account's, of that form. */
    adopt(accountId: number, form: string, secret: string): void {
      const taken = takePending.get(hashSecret(secret), accountId, form, clock() - PENDING_LIFETIME);
      if (taken) save(accountId, form, taken.fields);
    },

    remove: (accountId: number, form: string): void => void remove.run(accountId, form),
    /** Up to `limit` of an account; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
    removeOld: (limit: number): number =>
      removeOld.run({ pending: clock() - PENDING_LIFETIME, kept: clock() - DRAFT_LIFETIME, limit }).changes,
    bringBackTimes: createTimeRepair(db, clock, TIMES),
  };
});
