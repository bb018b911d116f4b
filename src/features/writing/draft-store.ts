import { DAY } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import { draftFiles } from '../attachments/draft-file-store.ts';
import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';

export type DraftFields = Record<string, string>;

/** `form`: the path of the form from which the post was published, if any. `publishedAt`, `createdAt`: unix ms. */
export type WithdrawnPost = {
  id: number; guid: string; publishedAt: number; createdAt: number; form: string | undefined;
};

/**
 * `form`: the path of the page whose form the draft fills. `revision`: grows with each save. `savedBy`: the random name
 * of the browser tab that saved the draft last. `publishAt`: unix ms.
 */
export type Draft = {
  id: number; accountId: number; form: string; fields: DraftFields; savedAt: number; revision: number;
  savedBy: string | null; publishAt: number | null; withdrawn: WithdrawnPost | null;
};

/** `revision`: the state of the form (`revisionOf`) that the tab knows; undefined if the sender knows no revisions. */
export type Tab = { name: string; revision: number | undefined };

export type ListedDraft = {
  id: number; form: string; title: string; beginning: string; savedAt: number;
  publishAt: number | null; discardedAt: number | null; isWithdrawn: number;
};

/**
 * Of one account, with discarded drafts and without pending ones. A text scheduled beside a newer draft does not count;
 * once it is unscheduled, or that draft discarded, there may be twice as many.
 */
export const MAX_DRAFTS = TABLES.drafts.most;
/** Maximum number of an account's pending drafts, made from forms sent after the session ended; kept for a day. */
const MAX_PENDING = 3;
export const PENDING_LIFETIME = DAY;
/** Time for which the author can restore a discarded draft. */
export const RESTORABLE = DAY;
/** Ends `form` of the row that goes out while a newer draft has the form's path. No route has such a path. */
const SCHEDULED = '/scheduled';
export const DRAFT_LIFETIME = 90 * DAY;
const TIMES: StoredTime[] = ['saved_at', 'discarded_at'].map((column) => ({ table: 'drafts', column, furthest: 0 }));

type Row = Omit<Draft, 'fields' | 'withdrawn'> & { fields: string; withdrawn: string | null };
type TakenRow = Pick<Row, 'fields' | 'savedBy' | 'revision'>;
type RestoredRow = { form: string; id: number; accountId: number; from: number };
type SavedRow = { accountId: number; form: string; fields: string; savedBy: string | null; now: number };

/** The form from which a scheduled draft came. */
export const formOfScheduled = ({ form }: Pick<Draft, 'form'>): string => form.replace(SCHEDULED, '');

/** Unfinished posts. A draft sent after the session ended is pending: pages show the draft only after `adopt`. */
export const drafts = store((hub) => {
  const { db, clock } = hub;
  const sql = { ...prepareSaved(db), ...prepareScheduled(db), ...preparePending(db) };
  const opened = ({ fields, withdrawn, ...row }: Row): Draft =>
    ({ ...row, fields: JSON.parse(fields), withdrawn: withdrawn && JSON.parse(withdrawn) });

  function save(accountId: number, form: string, fields: string, savedBy: string | null): Draft {
    setAside(sql.select.get(accountId, form));
    sql.upsert.run({ accountId, form, fields, savedBy, now: clock() });
    const row = sql.select.get(accountId, form);
    if (!row) throw new Error('the draft was not saved');
    return opened(row);
  }

  /** Before a scheduled draft changes, a copy with its files takes over the schedule. */
  function setAside(draft: Pick<Draft, 'id' | 'publishAt'> | undefined): void {
    if (!draft || draft.publishAt === null) return;
    const copy = sql.copyScheduled.get(draft.id);
    if (copy) draftFiles(hub).copy(draft.id, copy.id);
    sql.schedule.run(null, draft.id);
  }

  const find = (accountId: number, form: string): Draft | undefined => {
    const row = sql.select.get(accountId, form);
    return row && opened(row);
  };

  /** The form's draft keeps its id, and with it the identity of a withdrawn post, whichever of the two texts it has. */
  function swap(one: Draft, other: Draft): void {
    for (const [{ id }, { fields, savedAt, publishAt }] of [[one, other], [other, one]] as const) {
      sql.setContent.run({ id, fields: JSON.stringify(fields), savedAt, publishAt });
    }
    draftFiles(hub).swap(one.id, other.id);
  }

  /** If the text beside it goes out later, only what was written since then is discarded. */
  function discard(accountId: number, draft: Draft): void {
    const scheduled = find(accountId, draft.form + SCHEDULED);
    if (scheduled) swap(draft, scheduled);
    sql.discard.run(clock(), (scheduled ?? draft).id, accountId);
    makeRoom(accountId, 2 * MAX_DRAFTS);
  }

  /** Removes the oldest discarded drafts until at most so many drafts are left; returns whether that is so. */
  function makeRoom(accountId: number, most = MAX_DRAFTS - 1): boolean {
    const isFull = (): boolean => (sql.count.get(accountId)?.n ?? 0) > most;
    while (isFull()) if (sql.removeDiscarded.run(accountId).changes === 0) return false;
    return true;
  }

  return {
    find,
    findById(accountId: number, id: number): Draft | undefined {
      const row = sql.selectById.get(id, accountId);
      return row && opened(row);
    },
    /** What goes out later from a form: the form's draft itself, or the copy of it from before it was changed. */
    scheduled(accountId: number, form: string): Draft | undefined {
      const draft = find(accountId, form);
      return draft?.publishAt ? draft : find(accountId, form + SCHEDULED);
    },
    setAside,
    endSchedule(accountId: number, form: string): void {
      sql.remove.run(accountId, form + SCHEDULED);
      sql.endSchedule.run(accountId, form);
    },
    /** The account's drafts, the last saved first, and then the discarded ones. */
    list: (accountId: number): ListedDraft[] => sql.list.all(accountId, clock() - RESTORABLE),
    listOf: (accountId: number, after: number, limit: number): Draft[] =>
      sql.selectOf.all(accountId, after, limit).map(opened),

    save: (accountId: number, form: string, fields: DraftFields, savedBy: string | null = null): Draft =>
      save(accountId, form, JSON.stringify(fields), savedBy),
    makeRoom,

    /** Leaves the draft where it is if `form` has a draft already. */
    moveTo: (id: number, form: string): void => void sql.moveTo.run(form, id),
    endWithdrawn: (id: number): void => void sql.setWithdrawn.run(null, id),
    setWithdrawn: (id: number, post: WithdrawnPost): void => void sql.setWithdrawn.run(JSON.stringify(post), id),
    formOfWithdrawn: (accountId: number, postId: number): string | undefined =>
      sql.ofWithdrawn.get(accountId, postId)?.form,
    /**
     * Returns the id of the post that was published from `form` and then taken back into a draft, with the form of that
     * draft: null if the draft was discarded.
     */
    takenBackFrom: sql.takenBack.get,
    schedule: (id: number, at: number | null): void => void sql.schedule.run(at, id),
    due: (now: number, limit: number): number[] => sql.due.all(now, limit).map(({ id }) => id),
    findDue(id: number, now: number): Draft | undefined {
      const row = sql.selectDue.get(id, now);
      return row && opened(row);
    },
    allScheduled: (): Draft[] => sql.allScheduled.all().map(opened),

    /** Returns the secret with which `adopt` finds the draft; only its hash is stored. */
    savePending(accountId: number, form: string, fields: DraftFields, { name, revision = -1 }: Tab): string {
      const secret = newSecret();
      const row = { accountId, form, fields: JSON.stringify(fields), savedBy: name, revision, now: clock() };
      sql.insertPending.run({ ...row, hash: hashSecret(secret) });
      sql.removeOldestPending.run(accountId, MAX_PENDING);
      return secret;
    },

    /** Lets pages show a pending draft. A newer draft of the same form from another tab becomes a discarded one. */
    adopt(accountId: number, form: string, secret: string): void {
      const taken = sql.takePending.get(hashSecret(secret), accountId, form, clock() - PENDING_LIFETIME);
      if (!taken) return;
      const saved = sql.select.get(accountId, form);
      const isElsewhere = saved?.savedBy !== taken.savedBy && saved?.revision !== taken.revision;
      if (saved && isElsewhere && saved.publishAt === null) discard(accountId, opened(saved));
      save(accountId, form, taken.fields, taken.savedBy);
    },

    remove: sql.remove.run,
    /** Hides a draft, which can be restored for a day; its form can have a new one. */
    discard(accountId: number, id: number): void {
      const row = sql.selectById.get(id, accountId);
      if (row) discard(accountId, opened(row));
    },
    restore(accountId: number, id: number): string | undefined {
      const form = sql.discardedFrom.get(id, accountId)?.form ?? '';
      const scheduled = find(accountId, form);
      if (!scheduled?.publishAt) return sql.restore.get({ form, id, accountId, from: clock() - RESTORABLE })?.form;
      const restored = sql.restore.get({ form: form + SCHEDULED, id, accountId, from: clock() - RESTORABLE });
      const draft = restored && sql.selectById.get(id, accountId);
      if (draft) swap(scheduled, opened(draft));
      return draft && form;
    },
    removeOf: sql.removeOf.change,
    removeOld(limit: number): number {
      const [now, pending, kept] = [clock(), clock() - PENDING_LIFETIME, clock() - DRAFT_LIFETIME];
      return sql.removeOld.run({ kept, pending, restorable: now - RESTORABLE, limit }).changes;
    },
    bringBackTimes: createTimeRepair(db, clock, TIMES),
  };
});

const COLUMNS = `id, account_id AS accountId, form, fields, saved_at AS savedAt, revision, saved_by AS savedBy,
  publish_at AS publishAt, withdrawn`;
const IS_OPEN = 'pending_hash IS NULL AND discarded_at IS NULL';

function prepareSaved(db: Db) {
  return {
    select: db.prepare<[number, string], Row>('draft',
      `SELECT ${COLUMNS} FROM drafts WHERE account_id = ? AND form = ? AND ${IS_OPEN}`),
    selectOf: db.prepare<[number, number, number], Row>('drafts of account',
      `SELECT ${COLUMNS} FROM drafts WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`),
    list: db.prepare<[number, number], ListedDraft>('list drafts', `
      SELECT id, form, COALESCE(fields ->> 'title', '') AS title,
             COALESCE(substr(fields ->> 'content', 1, 200), '') AS beginning,
             saved_at AS savedAt, publish_at AS publishAt, discarded_at AS discardedAt,
             withdrawn IS NOT NULL AS isWithdrawn
        FROM drafts WHERE account_id = ? AND pending_hash IS NULL AND (discarded_at IS NULL OR discarded_at > ?)
       ORDER BY discarded_at IS NOT NULL, saved_at DESC, id DESC`),
    upsert: db.prepare<[SavedRow]>('save draft', `
      INSERT INTO drafts (account_id, form, fields, saved_by, saved_at)
      VALUES (@accountId, @form, @fields, @savedBy, @now)
      ON CONFLICT (account_id, form) WHERE pending_hash IS NULL
      DO UPDATE SET fields = excluded.fields, saved_at = excluded.saved_at, saved_by = excluded.saved_by,
                    revision = revision + 1`),
    selectById: db.prepare<[number, number], Row>('draft by id',
      `SELECT ${COLUMNS} FROM drafts WHERE id = ? AND account_id = ? AND ${IS_OPEN}`),
    moveTo: db.prepare<[string, number]>('move draft to another form',
      'UPDATE OR IGNORE drafts SET form = ? WHERE id = ?'),
    count: db.prepare<[number], { n: number }>('count the drafts of an account', `
      SELECT COUNT(*) AS n FROM drafts
       WHERE account_id = ? AND pending_hash IS NULL AND form NOT LIKE '%${SCHEDULED}'`),
    removeDiscarded: db.prepare<[number]>('remove the oldest discarded draft of an account', `
      DELETE FROM drafts WHERE id = (SELECT id FROM drafts
       WHERE account_id = ? AND discarded_at IS NOT NULL ORDER BY discarded_at, id LIMIT 1)`),
    remove: db.prepare<[accountId: number, form: string]>('remove draft',
      `DELETE FROM drafts WHERE account_id = ? AND form = ? AND ${IS_OPEN}`),
    discard: db.prepare<[number, number, number]>('discard draft', `
      UPDATE drafts SET discarded_at = ?, publish_at = NULL, form = replace(form, '${SCHEDULED}', '') || '#' || id
       WHERE id = ? AND account_id = ? AND ${IS_OPEN}`),
    discardedFrom: db.prepare<[number, number], { form: string }>('form of a discarded draft', `
      SELECT substr(form, 1, instr(form, '#') - 1) AS form FROM drafts
       WHERE id = ? AND account_id = ? AND discarded_at IS NOT NULL`),
    restore: db.prepare<[RestoredRow], { form: string }>('restore draft', `
      UPDATE OR IGNORE drafts SET discarded_at = NULL, form = @form
       WHERE id = @id AND account_id = @accountId AND discarded_at > @from RETURNING form`),
    setContent: db.prepare<[Pick<Row, 'id' | 'fields' | 'savedAt' | 'publishAt'>]>('give a draft another text', `
      UPDATE drafts SET fields = @fields, saved_at = @savedAt, publish_at = @publishAt, revision = revision + 1,
             saved_by = NULL WHERE id = @id`),
    removeOf: db.prepare<[accountId: number, limit: number]>('remove the drafts of an account',
      'DELETE FROM drafts WHERE id IN (SELECT id FROM drafts WHERE account_id = ? LIMIT ?)'),
    removeOld: db.prepare<[{ pending: number; kept: number; restorable: number; limit: number }]>('remove old drafts', `
      DELETE FROM drafts WHERE id IN (SELECT id FROM drafts
       WHERE (saved_at <= @kept AND publish_at IS NULL AND withdrawn IS NULL AND NOT EXISTS (
               SELECT 1 FROM drafts s WHERE s.account_id = drafts.account_id AND s.pending_hash IS NULL
                  AND s.form = drafts.form || '${SCHEDULED}')) OR discarded_at <= @restorable
          OR (saved_at <= @pending AND pending_hash IS NOT NULL) LIMIT @limit)`),
  };
}

function prepareScheduled(db: Db) {
  return {
    setWithdrawn: db.prepare<[string | null, number]>('note a withdrawn post',
      'UPDATE drafts SET withdrawn = ? WHERE id = ?'),
    ofWithdrawn: db.prepare<[number, number], { form: string }>('draft of a withdrawn post',
      `SELECT form FROM drafts WHERE account_id = ? AND withdrawn ->> 'id' = ? AND ${IS_OPEN}`),
    takenBack: db.prepare<[accountId: number, form: string], { postId: number; form: string | null }>(
      'draft of the form of a post', `
      SELECT withdrawn ->> 'id' AS postId, iif(${IS_OPEN}, form, NULL) AS form FROM drafts
       WHERE account_id = ? AND withdrawn ->> 'form' = ? ORDER BY discarded_at IS NOT NULL LIMIT 1`),
    copyScheduled: db.prepare<[number], { id: number }>('copy scheduled draft', `
      INSERT INTO drafts (account_id, form, fields, saved_by, saved_at, revision, publish_at)
      SELECT account_id, form || '${SCHEDULED}', fields, saved_by, saved_at, revision, publish_at
        FROM drafts WHERE id = ? RETURNING id`),
    endSchedule: db.prepare<[number, string]>('end the schedule of a form',
      `UPDATE drafts SET publish_at = NULL WHERE account_id = ? AND form = ? AND ${IS_OPEN}`),
    schedule: db.prepare<[number | null, number]>('schedule draft', 'UPDATE drafts SET publish_at = ? WHERE id = ?'),
    due: db.prepare<[number, number], { id: number }>('due drafts',
      'SELECT id FROM drafts WHERE publish_at <= ? ORDER BY publish_at LIMIT ?'),
    selectDue: db.prepare<[number, number], Row>('due draft',
      `SELECT ${COLUMNS} FROM drafts WHERE id = ? AND publish_at <= ?`),
    allScheduled: db.prepare<[], Row>('scheduled drafts',
      `SELECT ${COLUMNS} FROM drafts WHERE publish_at IS NOT NULL ORDER BY publish_at`),
  };
}

function preparePending(db: Db) {
  return {
    insertPending: db.prepare<[SavedRow & { hash: string; revision: number }]>('save pending draft', `
      INSERT INTO drafts (account_id, form, fields, saved_by, revision, pending_hash, saved_at)
      VALUES (@accountId, @form, @fields, @savedBy, @revision, @hash, @now)`),
    takePending: db.prepare<[string, number, string, number], TakenRow>('take pending draft', `
      DELETE FROM drafts WHERE pending_hash = ? AND account_id = ? AND form = ? AND saved_at > ?
      RETURNING fields, revision, saved_by AS savedBy`),
    removeOldestPending: db.prepare<[number, number]>('remove oldest pending drafts', `
      DELETE FROM drafts WHERE id IN (SELECT id FROM drafts WHERE account_id = ? AND pending_hash IS NOT NULL
       ORDER BY saved_at DESC, id DESC LIMIT -1 OFFSET ?)`),
  };
}
