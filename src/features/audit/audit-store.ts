import type { Db, Statement } from '../../platform/db/open-database.ts';
import { HttpError } from '../../platform/http/reply.ts';
import { store, type StoreHub } from '../hub/hub.ts';

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
  // Each act is found by one step in the index after the one before: there are few acts and many records.
  const selectActs = db.prepare<[], { act: string }>('kinds of acts', `
    WITH RECURSIVE known (act) AS (
      SELECT MIN(act) FROM audit_records
      UNION ALL SELECT (SELECT MIN(act) FROM audit_records WHERE act > known.act) FROM known WHERE act IS NOT NULL)
    SELECT act FROM known WHERE act IS NOT NULL`);
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
    /** All that were ever recorded. */
    acts: (): string[] => selectActs.all().map(({ act }) => act),
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

/** Every kind of audit event, `noun.verb`, with what it says. */
const AUDIT_EVENTS = {
  'account.changed': 'An account was given another name, role or state',
  'account.deleted': 'A person deleted their account',
  'account.exported': 'A person downloaded their data',
  'account.joined': 'A person joined by a link',
  'account.password-changed': 'A password was changed',
  'attachment.deleted': 'A file was removed from a post',
  'attachment.quarantined': 'A stored file was found to be infected',
  'attachment.refused': 'An infected upload was refused',
  'backup.restored': 'The hub was restored from a backup',
  'invitation.created': 'An invitation link was made',
  'invitation.withdrawn': 'An invitation link was withdrawn',
  'job.discarded': 'A dead-lettered job was discarded',
  'job.retried': 'A dead-lettered job was put back into the queue',
  'post.changed': 'A post was edited',
  'post.created': 'A post was written',
  'post.deleted': 'A post was deleted',
  'post.files-added': 'Files were added to a post',
  'retention.applied': 'Rows past their retention period were removed',
  'session.created': 'Somebody signed in',
  'session.ended': 'Somebody signed out',
  'session.others-ended': 'Somebody ended all their other sessions',
  'set-up-link.created': 'A link for the first account was printed',
  'source.created': 'A source was added',
  'source.deleted': 'A source was deleted',
  'source.paused': 'A source was paused',
  'source.renamed': 'A source was given another title',
  'source.resumed': 'A source was resumed',
  'source.transferred': 'A source was given to another account',
  'source.visibility-changed': 'A source was made public or private',
  'sources.imported': 'Feeds were imported from OPML',
  'token.created': 'An API token was made',
  'token.revoked': 'An API token was revoked',
  'webhook.rotated': 'A webhook was given a new secret',
} as const;

export type AuditEvent = keyof typeof AUDIT_EVENTS;

/**
 * Who did something: an account, or the command line and the hub itself (id null). `recheck` throws 401 or 403 where
 * that account may not do it any more; it is absent where the act's own transaction has checked the account, or where
 * the event is recorded though the session has ended.
 */
export type Actor = { id: number | null; name: string; address: string | null; recheck?: () => void };

type AuditTarget = { kind: string; id: number | null; name: string };

/** Flat, and never a secret. */
export type AuditDetail = Record<string, string | number | boolean | null>;

export const COMMAND_LINE: Actor = { id: null, name: 'command line', address: null };
export const THE_HUB: Actor = { id: null, name: 'hub', address: null };

type Request = { viewer: { id: number; username: string } | null; address: string; recheck(): void };

/** The actor of a request: its signed-in viewer, or nobody from an address. */
export function actorOf({ viewer, address, recheck }: Request): Actor {
  return { id: viewer?.id ?? null, name: viewer?.username ?? '', address, recheck };
}

/**
 * Writes one audit event, in the caller's transaction. Throws HttpError 401 or 403 where the session, token, role or
 * account is gone with which the act was asked for: what was begun before that is not done after it. An act that ends
 * the actor's own session or token is recorded first.
 */
export function audit(
  hub: StoreHub, event: AuditEvent, actor: Actor, target?: AuditTarget, detail: AuditDetail = {},
): void {
  actor.recheck?.();
  auditRecords(hub).insert({
    at: hub.clock(),
    act: event,
    actorId: actor.id,
    actorName: actor.name,
    targetKind: target?.kind ?? null,
    targetId: target?.id ?? null,
    targetName: target?.name ?? null,
    address: actor.address,
    detail: JSON.stringify(detail),
  });
}
