import type { Db, Statement } from '../../platform/db/open-database.ts';
import { HttpError } from '../../platform/http/reply.ts';
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
};

/** Which records are wanted; `actor` is a name, `to` (unix ms) is not included. */
export type AuditFilter = {
  act?: string;
  actor?: string;
  targetKind?: string;
  targetId?: number;
  from?: number;
  to?: number;
};

/** Where a page begins: after this record, newest first. */
type AuditPosition = Pick<AuditRecord, 'at' | 'id'>;

type Asked = Required<AuditFilter> & { at: number; id: number; limit: number };

const COLUMNS = `id, at, act, actor_id AS actorId, actor_name AS actorName, target_kind AS targetKind,
  target_id AS targetId, target_name AS targetName, address, detail`;

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

/** Who did what to what, for administrators to read later. Written through `audit`. */
export const auditRecords = store(({ db }) => {
  // Of an account that has left none is stored (trigger audit_records_of_leavers).
  const insert = db.prepare<[Omit<AuditRecord, 'id'>]>('record act', `
    INSERT INTO audit_records (at, act, actor_id, actor_name, target_kind, target_id, target_name, address, detail)
    VALUES (@at, @act, @actorId, @actorName, @targetKind, @targetId, @targetName, @address, @detail)`);
  const selectFiltered = filteredStatements(db);
  const selectOf = db.prepare<[number, number, number], AuditRecord>('acts of account',
    `SELECT ${COLUMNS} FROM audit_records WHERE actor_id = ? AND id > ? ORDER BY id LIMIT ?`);
  const removeBefore = db.prepare<[number, number]>('remove old audit records', `
    DELETE FROM audit_records WHERE id IN (SELECT id FROM audit_records WHERE at < ? ORDER BY at LIMIT ?)`);
  const countBefore = db.prepare<[number], { n: number }>('count old audit records',
    'SELECT COUNT(*) AS n FROM audit_records WHERE at < ?');

  return {
    /** Throws 401 for an actor who has left. */
    insert(record: Omit<AuditRecord, 'id'>): void {
      if (insert.run(record).changes === 0) throw new HttpError(401, 'This account no longer exists.');
    },

    /** Newest first. */
    list: (filter: AuditFilter, { at, id }: AuditPosition = FROM_THE_TOP, limit: number): AuditRecord[] =>
      selectFiltered(filter).all({ ...NOTHING_ASKED, ...filter, at, id, limit }),
    /** What an account itself did, oldest first. */
    listOf: (accountId: number, after: number, limit: number): AuditRecord[] => selectOf.all(accountId, after, limit),
    /** Up to `limit` older than that (unix ms), oldest first; returns how many. */
    removeBefore: (before: number, limit: number): number => removeBefore.run(before, limit).changes,
    countBefore: (before: number): number => countBefore.get(before)?.n ?? 0,
  };
});

/** A statement for each set of conditions: one for all of them could use no index. */
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

/** An account that has left; `name` stands where its own names stood. */
export type Leaver = { id: number; name: string };

/** What somebody owned. */
export type Thing = { kind: 'source' | 'post'; id: number };

/**
 * Takes the names of those who left, and of what they had, out of the audit records. What was done, and when, stays.
 */
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
  const hideTitle = db.prepare<[{ id: number; kind: Thing['kind']; thingId: number }]>('hide title of a thing', `
    UPDATE audit_records AS about SET target_name = NULL, detail = json_remove(detail, '$.title')
     WHERE ${ofThing} AND actor_id IS NOT @id AND target_name IS NOT NULL
       AND (NOT EXISTS (${madeByAnother}) OR EXISTS (${givenToLeaver}))`);
  // What somebody named (a token, a post, a file, a source) may hold a name as well; only kind and id of it stay.
  const hideActor = db.prepare<[Leaver & { limit: number }]>('hide actor', `
    UPDATE audit_records SET actor_id = NULL, actor_name = @name, address = NULL,
           target_name = CASE WHEN target_kind IN ('account', 'invitation', 'job') THEN target_name END,
           detail = json_remove(detail, '$.title')
     WHERE id IN (${own})`);
  const hideTarget = db.prepare<[Leaver & { limit: number }]>('hide target', `
    UPDATE audit_records SET target_id = NULL, target_name = @name
     WHERE id IN (SELECT id FROM audit_records WHERE target_kind = 'account' AND target_id = @id LIMIT @limit)`);

  return {
    /** What those records are about from which `hideNames` will next take the account's name. */
    thingsOf: (id: number, limit: number): Thing[] => selectThings.all({ id, limit }),
    /** In records of what others did to a thing, unless it was never the leaver's: another made it and kept it. */
    hideTitle: (id: number, { kind, id: thingId }: Thing): void => void hideTitle.run({ id, kind, thingId }),

    /** In up to `limit` records by the account and as many about it; returns the larger of both numbers. */
    hideNames(leaver: Leaver, limit: number): number {
      const step = { ...leaver, limit };
      return Math.max(hideActor.run(step).changes, hideTarget.run(step).changes);
    },
  };
});
