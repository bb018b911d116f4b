import { HttpError, notFound } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { displayNameOf, isPresent } from '../accounts/account-store.ts';
import { store, type StoreHub } from '../hub/hub.ts';

/** Characters. */
export const TITLE_MAX = 200;

export const SOURCE_KINDS = ['feed', 'webhook', 'native'] as const;
export const VISIBILITIES = ['public', 'private'] as const;
export const SOURCE_STATES = ['active', 'failing', 'paused'] as const;

export type SourceKind = (typeof SOURCE_KINDS)[number];
export type Visibility = (typeof VISIBILITIES)[number];
export type SourceState = (typeof SOURCE_STATES)[number];

export type Source = {
  id: number;
  ownerId: number;
  owner: string;
  kind: SourceKind;
  title: string;
  visibility: Visibility;
  state: SourceState;
  stateSince: number | null;
  stateReason: string | null;
  nextSyncAt: number | null;
  lastSyncAt: number | null;
  lastSuccessAt: number | null;
  createdAt: number;
  updatedAt: number;
  feedUrl: string | null;
  siteUrl: string | null;
  description: string | null;
  hasPassword: number; // 1: a feed behind a password
  hadPassword: number; // 1: it is or was behind one, and so always private
  /** Random; the ids of its feed and posts in other programs are derived from it. */
  idSeed: string;
};

export type NewSource = {
  ownerId: number;
  kind: SourceKind;
  title: string;
  titleIsOwn: boolean;
  visibility: Visibility;
};
type NewFeed = { url: string; nextSyncAt: number };

type InsertSource = Omit<NewSource, 'titleIsOwn'> & { isOwn: number; nextSyncAt: number | null; now: number };

/** For statements about what a source has: joins it as `s`, unless it is being removed. */
export function joinSource(id: string): string {
  return `JOIN sources s ON s.id = ${id} AND s.removed_at IS NULL`;
}

/** For statements that add to a source: its row as `s`, or none while it is being removed. */
export function fromSource(id: string): string {
  return `FROM sources s WHERE s.id = ${id} AND s.removed_at IS NULL`;
}

export const SELECT_SOURCES = `
  SELECT s.id, s.owner_id AS ownerId, ${displayNameOf('s.owner_id')} AS owner, s.kind, s.title, s.visibility, s.state,
         s.state_since AS stateSince, s.state_reason AS stateReason, s.next_sync_at AS nextSyncAt,
         s.last_sync_at AS lastSyncAt, s.last_success_at AS lastSuccessAt, s.created_at AS createdAt,
         s.updated_at AS updatedAt, f.url AS feedUrl, f.site_url AS siteUrl, f.description,
         f.credentials IS NOT NULL AS hasPassword, f.had_password AS hadPassword, s.id_seed AS idSeed
    FROM sources s LEFT JOIN feeds f ON f.source_id = s.id
   WHERE s.removed_at IS NULL`;

/** SQL: whether the id is of a source that is there and not deleted. */
export const sourceIsPresent = (id: string): string =>
  `EXISTS (SELECT 1 FROM sources WHERE id = ${id} AND removed_at IS NULL)`;

/** Sources as people see and change them. What a synchronisation reads and writes is in sync-state-store. */
export const sources = store(({ db, clock }) => {
  const select = db.prepare<[number], Source>('source', `${SELECT_SOURCES} AND s.id = ?`);
  const selectVisible = db.prepare<[number, number, number], Source>('visible sources', `${SELECT_SOURCES}
     AND s.id > ? AND (s.visibility = 'public' OR s.owner_id = ?) ORDER BY s.id LIMIT ?`);
  const selectOwned = db.prepare<[number, number, number], Source>('owned sources',
    `${SELECT_SOURCES} AND s.owner_id = ? AND s.id > ? ORDER BY s.id LIMIT ?`);
  const selectAnyOwned = db.prepare<[number], { id: number }>('any source of account',
    'SELECT id FROM sources WHERE owner_id = ? LIMIT 1');
  const countOwned = db.prepare<[string], { ownerId: number; n: number }>('count sources of accounts', `
    SELECT owner_id AS ownerId, COUNT(*) AS n FROM sources
     WHERE owner_id IN (SELECT value FROM json_each(?)) AND removed_at IS NULL GROUP BY owner_id`);
  const selectDuplicate = db.prepare<[string, number], { id: number }>('same feed of one owner', `
    SELECT s.id FROM feeds f JOIN sources s ON s.id = f.source_id WHERE f.url = ? AND s.owner_id = ?
       AND s.removed_at IS NULL`);
  const selectPublicFeed = db.prepare<[string], Source>('public source of feed',
    `${SELECT_SOURCES} AND f.url = ? AND s.visibility = 'public' AND f.credentials IS NULL ORDER BY s.id LIMIT 1`);
  const insert = db.prepare<[InsertSource], { id: number }>('create source', `
    INSERT INTO sources (owner_id, kind, title, title_is_own, visibility, next_sync_at, created_at, updated_at)
    SELECT @ownerId, @kind, @title, @isOwn, @visibility, @nextSyncAt, @now, @now
     WHERE ${isPresent('@ownerId')} RETURNING id`);
  const insertFeed = db.prepare<[number, string, string]>('create feed',
    'INSERT INTO feeds (source_id, url, host) VALUES (?, ?, ?)');
  const updateTitle = db.prepare<[string, number, number]>('rename source',
    'UPDATE sources SET title = ?, title_is_own = 1, updated_at = ? WHERE id = ?');
  const updateVisibility = db.prepare<[Visibility, number, number]>('set source visibility',
    'UPDATE sources SET visibility = ?, updated_at = ? WHERE id = ?');
  const updateOwner = db.prepare<[number, number, number]>('set owner of source',
    'UPDATE sources SET owner_id = ?, updated_at = ? WHERE id = ?');
  const pause = db.prepare<[{ reason: string | null; now: number; id: number }]>('pause source', `
    UPDATE sources SET state = 'paused', state_since = @now, state_reason = @reason, next_sync_at = NULL,
           updated_at = @now WHERE id = @id`);
  const resume = db.prepare<[{ now: number; id: number }]>('resume source', `
    UPDATE sources SET state = 'active', state_since = @now, state_reason = NULL, failures = 0, updated_at = @now,
           next_sync_at = CASE kind WHEN 'feed' THEN @now END WHERE id = @id AND state = 'paused'`);
  const hide = db.prepare<[number, number]>('hide source',
    'UPDATE sources SET removed_at = ?, next_sync_at = NULL WHERE id = ?');
  const selectGiven = db.prepare<[number], { seq: number }>('whether an id of sources was given',
    `SELECT seq FROM sqlite_sequence WHERE name = 'sources' AND seq >= ?`);
  const remove = db.prepare<[number]>('delete source', 'DELETE FROM sources WHERE id = ? AND removed_at IS NOT NULL');

  return {
    find: (id: number): Source | undefined => select.get(id),
    /** Whether there was such a source. Ids that a restore skips count as given: their sources are lost with it. */
    wasDeleted: (id: number): boolean => select.get(id) === undefined && selectGiven.get(id) !== undefined,
    /** Public sources and the viewer's own, by id. */
    list: (viewer: Viewer | null, after: number, limit: number): Source[] =>
      selectVisible.all(after, viewer?.id ?? 0, limit),
    /** All that an account owns, by id. */
    listOwned: (ownerId: number, after: number, limit: number): Source[] => selectOwned.all(ownerId, after, limit),
    /** Whether any source names the account as its owner, if only one that is being removed. */
    ownsAny: (ownerId: number): boolean => selectAnyOwned.get(ownerId) !== undefined,
    /** How many sources each of these accounts owns; those with none are left out. */
    countOwned: (ownerIds: number[]): Map<number, number> =>
      new Map(countOwned.all(JSON.stringify(ownerIds)).map(({ ownerId, n }) => [ownerId, n])),
    /** The owner's source of this feed, if there is one. */
    idOfFeed: (url: string, ownerId: number): number | undefined => selectDuplicate.get(url, ownerId)?.id,

    /** The oldest public source of this feed. */
    publicFeed: (url: string): Source | undefined => selectPublicFeed.get(url),

    create({ titleIsOwn, ...source }: NewSource, feed: NewFeed | null): number {
      const isOwn = titleIsOwn ? 1 : 0;
      const row = insert.get({ ...source, isOwn, nextSyncAt: feed?.nextSyncAt ?? null, now: clock() });
      if (!row) throw new HttpError(401, 'This account no longer exists.');
      if (feed) insertFeed.run(row.id, feed.url, new URL(feed.url).host);
      return row.id;
    },

    setTitle: (id: number, title: string): void => void updateTitle.run(title, clock(), id),
    setVisibility: (id: number, visibility: Visibility): void => void updateVisibility.run(visibility, clock(), id),
    /** Its posts and their files go along. */
    setOwner: (id: number, ownerId: number): void => void updateOwner.run(ownerId, clock(), id),
    pause: (id: number, reason: string | null): void => void pause.run({ reason, now: clock(), id }),
    /** Due at once, with a clean record. */
    resume: (id: number): void => void resume.run({ now: clock(), id }),
    /** Nobody sees it or its posts any more. */
    hide: (id: number): void => void hide.run(clock(), id),
    /** The row of one that is hidden; what it has goes with it. */
    delete: (id: number): void => void remove.run(id),
  };
});

/** For backups, whose databases are no running hubs'. */
export function countSources({ db }: Pick<StoreHub, 'db'>): number {
  return db.prepare<[], { n: number }>('count sources', 'SELECT COUNT(*) AS n FROM sources').get()?.n ?? 0;
}

/** Who asks, or whom it is asked about. */
type Person = Pick<Viewer, 'id' | 'role'>;

/** Whether the viewer may see a source and its posts. */
export function maySee(source: Source, viewer: Person | null): boolean {
  return source.visibility === 'public' || mayManage(source, viewer);
}

/** Whether the viewer may change a source and its posts. */
export function mayManage(source: Source, viewer: Person | null): boolean {
  return viewer !== null && (viewer.id === source.ownerId || viewer.role === 'admin');
}

/** Whether there is such a source and the viewer may see it. */
export function maySeeSource(hub: StoreHub, id: number, viewer: Person | null): boolean {
  const source = sources(hub).find(id);
  return source !== undefined && maySee(source, viewer);
}

/** The source, for who may see it; 404 for anybody else. */
export function visibleSource(hub: StoreHub, id: number, viewer: Viewer | null): Source {
  const source = sources(hub).find(id);
  if (!source || !maySee(source, viewer)) throw notFound('source');
  return source;
}

/** The source, for its owner and administrators; 403 for who may only see it, 404 for anybody else. */
export function manageableSource(hub: StoreHub, id: number, viewer: Viewer): Source {
  const source = visibleSource(hub, id, viewer);
  if (!mayManage(source, viewer)) throw new HttpError(403, 'Only the owner of this source can do this.');
  return source;
}
