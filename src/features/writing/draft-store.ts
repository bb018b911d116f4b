import { DAY } from '../../platform/clock.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';

/** The fields of a form for a post, without its files. */
export type DraftFields = Record<string, string>;

/** An unfinished post. `form`: the path of the page whose form the draft fills. */
export type Draft = { id: number; form: string; fields: DraftFields; savedAt: number };

/** Maximum number of drafts of one account; for a further draft, the hub removes the account's oldest draft. */
const MAX_DRAFTS = TABLES.drafts.most;
/** Maximum number of an account's pending drafts, made from forms sent after the session ended; kept for a day. */
const MAX_PENDING = 3;
export const PENDING_LIFETIME = DAY;
/** Time after which a saved draft is removed. */
export const DRAFT_LIFETIME = 90 * DAY;

const TIMES: StoredTime[] = [{ table: 'drafts', column: 'saved_at', furthest: 0 }];

/** Unfinished posts. Pages show a pending draft only after the account has adopted the draft. */
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
  const removeOf = db.prepare<[number, number]>('remove the drafts of an account',
    'DELETE FROM drafts WHERE id IN (SELECT id FROM drafts WHERE account_id = ? LIMIT ?)');
  const removeOld = db.prepare<[{ pending: number; kept: number; limit: number }]>('remove old drafts', `
    DELETE FROM drafts WHERE id IN (SELECT id FROM drafts
     WHERE saved_at <= @kept OR (saved_at <= @pending AND pending_hash IS NOT NULL) LIMIT @limit)`);

  const opened = ({ fields, ...row }: Row): Draft => ({ ...row, fields: JSON.parse(fields) });

  function save(accountId: number, form: string, fields: string): void {
    upsert.run(accountId, form, fields, clock());
    removeOldest.run({ id: accountId, isPending: 0, kept: MAX_DRAFTS });
  }

  return {
    find(accountId: number, form: string): Draft | undefined {
      const row = select.get(accountId, form);
      return row && opened(row);
    },
    listOf: (accountId: number, after: number, limit: number): Draft[] =>
      selectOf.all(accountId, after, limit).map(opened),

    /** Saves a draft, which replaces an older draft of the same form. */
    save: (accountId: number, form: string, fields: DraftFields): void => save(accountId, form, JSON.stringify(fields)),

    /** Saves a pending draft; returns the secret with which `adopt` finds the draft, and stores the secret's hash. */
    savePending(accountId: number, form: string, fields: DraftFields): string {
      const secret = newSecret();
      insertPending.run(accountId, form, JSON.stringify(fields), hashSecret(secret), clock());
      removeOldest.run({ id: accountId, isPending: 1, kept: MAX_PENDING });
      return secret;
    },

    /** Turns the pending draft with the given secret, if any, into an ordinary draft, in the caller's transaction. */
    adopt(accountId: number, form: string, secret: string): void {
      const taken = takePending.get(hashSecret(secret), accountId, form, clock() - PENDING_LIFETIME);
      if (taken) save(accountId, form, taken.fields);
    },

    remove: (accountId: number, form: string): void => void remove.run(accountId, form),
    /** Removes up to `limit` drafts of an account; returns the number of removed drafts. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
    removeOld: (limit: number): number =>
      removeOld.run({ pending: clock() - PENDING_LIFETIME, kept: clock() - DRAFT_LIFETIME, limit }).changes,
    bringBackTimes: createTimeRepair(db, clock, TIMES),
  };
});
