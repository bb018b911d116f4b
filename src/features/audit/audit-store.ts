import type { Db, Statement } from '../../platform/db/open-database.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { store } from '../hub/hub.ts';

export type AuditRecord = {
  id: number;
  at: number; // unix ms
  act: string;
  actorId: number | null;
  actorName: string;
  targetKind: string | null;
  targetId: number | null;
  targetName: string | null;
  address: string | null;
  detail: string; // JSON
  count: number; // how many equal changes within a minute this record counts; `at` is the time of the last such change
};

type NewRecord = Omit<AuditRecord, 'id' | 'count'>;
type Merged = { targetName: string | null; count: number; firstAt: number | null };
type LikeRecord = Merged & { id: number };

/** Filters of the audit log. `actor` is a user name; `from` and `to` are unix ms, and `to` itself is excluded. */
export type AuditFilter = {
  act?: string;
  actor?: string;
  targetKind?: string;
  targetId?: number;
  from?: number;
  to?: number;
};

type AuditPosition = Pick<AuditRecord, 'at' | 'id'>;

type Asked = Required<AuditFilter> & { at: number; id: number; limit: number };

const COLUMNS = `id, at, act, actor_id AS actorId, actor_name AS actorName, target_kind AS targetKind,
  target_id AS targetId, target_name AS targetName, address, detail, count`;

const CONDITIONS: Record<keyof AuditFilter, string> = {
  act: 'act = @act',
  actor: 'actor_name = @actor COLLATE NOCASE',
  targetKind: 'target_kind = @targetKind',
  targetId: 'target_id = @targetId',
  from: 'at >= @from',
  to: 'at < @to',
};

const NOTHING_ASKED = { act: '', actor: '', targetKind: '', targetId: 0, from: 0, to: 0 };
const FROM_THE_TOP = { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/** Only `audit` in audit.ts adds records. */
export const auditRecords = store(({ db }) => {
  // The trigger audit_records_of_leavers keeps the name of a deleted account from being stored.
  const insert = db.prepare<[NewRecord & Merged]>('record act', `
    INSERT INTO audit_records
           (at, act, actor_id, actor_name, target_kind, target_id, target_name, address, detail, count, first_at)
    VALUES (@at, @act, @actorId, @actorName, @targetKind, @targetId, @targetName, @address, @detail,
            @count, @firstAt)`);
  const selectLike = db.prepare<[NewRecord & { since: number }], LikeRecord>('recent equal record', `
    SELECT id, target_name AS targetName, count, COALESCE(first_at, at) AS firstAt FROM audit_records
     WHERE actor_id = @actorId AND act = @act AND at > @since AND COALESCE(first_at, at) > @since
       AND target_kind IS @targetKind AND target_id IS @targetId AND address IS @address ORDER BY at DESC LIMIT 1`);
  const remove = db.prepare<[number]>('remove merged record', 'DELETE FROM audit_records WHERE id = ?');
  const selectFiltered = filteredStatements(db);

  const selectNewest = db.prepare<[], { at: number | null }>('newest audit record',
    'SELECT MAX(at) AS at FROM audit_records');

  return {
    newestAt: (): number | null => selectNewest.get()?.at ?? null,
    /**
     * If an equal record began after `mergeSince` (unix ms), the new one replaces it, keeps its target name and counts
     * one act more. Throws 401 if the actor's account is deleted.
     */
    insert(record: NewRecord, mergeSince?: number): void {
      const like = mergeSince === undefined ? undefined : selectLike.get({ ...record, since: mergeSince });
      const { targetName, firstAt, count } = like ?? { targetName: record.targetName, firstAt: null, count: 0 };
      const { changes } = insert.run({ ...record, targetName, firstAt, count: count + 1 });
      if (changes === 0) throw new HttpError(401, 'This account no longer exists.');
      if (like) remove.run(like.id);
    },

    list: (filter: AuditFilter, { at, id }: AuditPosition = FROM_THE_TOP, limit: number): AuditRecord[] =>
      selectFiltered(filter).all({ ...NOTHING_ASKED, ...filter, at, id, limit }),
    listOf: db.prepare<[accountId: number, after: number, limit: number], AuditRecord>('acts of account',
      `SELECT ${COLUMNS} FROM audit_records WHERE actor_id = ? AND id > ? ORDER BY id LIMIT ?`).all,
    /** Removes up to `limit` audit records older than `before` (unix ms), oldest first. Returns their number. */
    removeBefore: db.prepare<[before: number, limit: number]>('remove old audit records', `
      DELETE FROM audit_records WHERE id IN (SELECT id FROM audit_records WHERE at < ? ORDER BY at LIMIT ?)`).change,
    countBefore: db.prepare<[before: number], { n: number }>('count old audit records',
      'SELECT COUNT(*) AS n FROM audit_records WHERE at < ?').count,
  };
});

/** Prepares one statement per combination of filters, because a common statement could not use an index. */
function filteredStatements(db: Db): (filter: AuditFilter) => Statement<[Asked], AuditRecord> {
  const known = new Map<string, Statement<[Asked], AuditRecord>>();

  return (filter) => {
    const wanted = Object.entries(CONDITIONS).filter(([name]) => name in filter).map(([, condition]) => condition);
    const where = [...wanted, '(at, id) < (@at, @id)'].join(' AND ');
    const statement = known.get(where) ?? db.prepare<[Asked], AuditRecord>('audit records',
      `SELECT ${COLUMNS} FROM audit_records WHERE ${where} ORDER BY at DESC, id DESC LIMIT @limit`);
    known.set(where, statement);
    return statement;
  };
}

/** A deleted account, and the pseudonym `name` that replaces its names. */
export type Leaver = { id: number; name: string };

export type Thing = { kind: 'source' | 'post'; id: number };

/** Removes names and titles of deleted accounts; the kind and the time of each act stay in the audit log. */
export const leavers = store(({ db }) => {
  const own = 'SELECT id FROM audit_records WHERE actor_id = @id ORDER BY id LIMIT @limit';
  const selectThings = db.prepare<[{ id: number; limit: number }], Thing>('things that an account acted on', `
    SELECT DISTINCT target_kind AS kind, target_id AS id FROM audit_records
     WHERE id IN (${own}) AND target_kind IN ('source', 'post') AND target_id IS NOT NULL`);
  const ofThing = 'about.target_kind = @kind AND about.target_id = @thingId';
  const madeByAnother = `SELECT 1 FROM audit_records about
    WHERE ${ofThing} AND about.act = @kind || '.created' AND about.actor_id <> @id`;
  const givenToLeaver = `SELECT 1 FROM audit_records about
    WHERE ${ofThing} AND about.act = 'source.transferred' AND json_extract(about.detail, '$.to') = @id`;
  const hideTitle = db.prepare<[{ id: number; kind: Thing['kind']; thingId: number }]>(
    'remove the title of a source or post', `
    UPDATE audit_records AS about SET target_name = NULL, detail = json_remove(detail, '$.title')
     WHERE ${ofThing} AND actor_id IS NOT @id AND target_name IS NOT NULL
       AND (NOT EXISTS (${madeByAnother}) OR EXISTS (${givenToLeaver}))`);
  // The title of a token, post, file or source may name a person, so audit records keep only the thing's kind and id.
  const hideActor = db.prepare<[Leaver & { limit: number }]>('hide actor', `
    UPDATE audit_records SET actor_id = NULL, actor_name = @name, address = NULL,
           target_name = CASE WHEN target_kind IN ('account', 'invitation', 'job') THEN target_name END,
           detail = json_remove(detail, '$.title')
     WHERE id IN (${own})`);
  const hideTarget = db.prepare<[Leaver & { limit: number }]>('hide target', `
    UPDATE audit_records SET target_id = NULL, target_name = @name
     WHERE id IN (SELECT id FROM audit_records WHERE target_kind = 'account' AND target_id = @id LIMIT @limit)`);

  return {
    /** The sources and posts that are named in the records from which `hideNames` removes the account's name next. */
    thingsOf: (id: number, limit: number): Thing[] => selectThings.all({ id, limit }),
    /** Removes the title of a source or post that was the deleted account's from the records of other actors. */
    hideTitle: (id: number, { kind, id: thingId }: Thing): void => void hideTitle.run({ id, kind, thingId }),

    /**
     * Renames the account in up to `limit` audit records as actor, and in up to `limit` as target. Returns the number
     * of records that were changed for the actor or for the target, whichever is larger.
     */
    hideNames(leaver: Leaver, limit: number): number {
      const step = { ...leaver, limit };
      return Math.max(hideActor.run(step).changes, hideTarget.run(step).changes);
    },
  };
});
