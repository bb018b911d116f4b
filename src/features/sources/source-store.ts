import { HttpError, notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { displayNameOf, isPresent } from '../accounts/account-store.ts';
import { store, type StoreHub } from '../hub/hub.ts';

export const TITLE_MAX = 200; // characters

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
  hasPassword: number; // 1 if the feed needs a password
  hadPassword: number; // 1 if the feed needs or once needed a password, so that the source stays private
  showsAuthors: number; // 1 if posts show the names of the members who wrote them
  idSeed: string; // random seed for the ids of the source and its posts in published feeds
};

type NewSource = {
  ownerId: number;
  kind: SourceKind;
  title: string;
  titleIsOwn: boolean;
  visibility: Visibility;
};
type NewFeed = { url: string; nextSyncAt: number };

type InsertSource = Omit<NewSource, 'titleIsOwn'> & { isOwn: number; nextSyncAt: number | null; now: number };

/** SQL that joins a source as `s`; the join finds no row while the source is being removed. */
export function joinSource(id: string): string {
  return `JOIN sources s ON s.id = ${id} AND s.removed_at IS NULL`;
}

/** SQL FROM clause that finds a source's row under the alias `s`; finds no row while the source is being removed. */
export function fromSource(id: string): string {
  return `FROM sources s WHERE s.id = ${id} AND s.removed_at IS NULL`;
}

/** SQL: the addresses of the feed and the site of the source `s`, as columns; null for sources of other kinds. */
export const FEED_ADDRESSES = `(SELECT url FROM feeds WHERE source_id = s.id) AS feedUrl,
           (SELECT site_url FROM feeds WHERE source_id = s.id) AS siteUrl`;

const SELECT_SOURCES = `
  SELECT s.id, s.owner_id AS ownerId, ${displayNameOf('s.owner_id')} AS owner, s.kind, s.title, s.visibility, s.state,
         s.state_since AS stateSince, s.state_reason AS stateReason, s.next_sync_at AS nextSyncAt,
         s.last_sync_at AS lastSyncAt, s.last_success_at AS lastSuccessAt, s.created_at AS createdAt,
         s.updated_at AS updatedAt, f.url AS feedUrl, f.site_url AS siteUrl, f.description,
         f.credentials IS NOT NULL AS hasPassword, f.had_password AS hadPassword, s.id_seed AS idSeed,
         s.shows_authors AS showsAuthors
    FROM sources s LEFT JOIN feeds f ON f.source_id = s.id
   WHERE s.removed_at IS NULL`;

export const sourceIsPresent = (id: string): string =>
  `EXISTS (SELECT 1 FROM sources WHERE id = ${id} AND removed_at IS NULL)`;

/** Sources as people make, change and see them; `sync-state-store.ts` has the state of synchronisations. */
export const sources = store(({ db, clock }) => {
  const select = db.prepare<[id: number], Source>('source', `${SELECT_SOURCES} AND s.id = ?`);
  const selectVisible = db.prepare<[number, number, number], Source>('visible sources', `${SELECT_SOURCES}
     AND s.id > ? AND (s.visibility = 'public' OR s.owner_id = ?) ORDER BY s.id LIMIT ?`);
  const countOwned = db.prepare<[string], { ownerId: number; n: number }>('count the sources of accounts', `
    SELECT owner_id AS ownerId, COUNT(*) AS n FROM sources
     WHERE owner_id IN (SELECT value FROM json_each(?)) AND removed_at IS NULL GROUP BY owner_id`);
  const selectDuplicate = db.prepare<[string, number], { id: number }>('find the source of a feed by its owner', `
    SELECT s.id FROM feeds f JOIN sources s ON s.id = f.source_id WHERE f.url = ? AND s.owner_id = ?
       AND s.removed_at IS NULL`);
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
  const updateAuthors = db.prepare<[0 | 1, number, number]>('show or hide the authors of a source',
    'UPDATE sources SET shows_authors = ?, updated_at = ? WHERE id = ?');
  const updateOwner = db.prepare<[number, number, number]>('set the owner of a source',
    'UPDATE sources SET owner_id = ?, updated_at = ? WHERE id = ?');
  const pause = db.prepare<[{ reason: string | null; now: number; id: number }]>('pause source', `
    UPDATE sources SET state = 'paused', state_since = @now, state_reason = @reason, next_sync_at = NULL,
           updated_at = @now WHERE id = @id`);
  const resume = db.prepare<[{ now: number; id: number }]>('resume source', `
    UPDATE sources SET state = 'active', state_since = @now, state_reason = NULL, failures = 0, updated_at = @now,
           next_sync_at = CASE kind WHEN 'feed' THEN @now END WHERE id = @id AND state = 'paused'`);
  const hide = db.prepare<[number, number]>('hide source',
    'UPDATE sources SET removed_at = ?, next_sync_at = NULL WHERE id = ?');
  const selectGiven = db.prepare<[number], { seq: number }>('whether an id was ever given to a source',
    `SELECT seq FROM sqlite_sequence WHERE name = 'sources' AND seq >= ?`);

  return {
    find: select.get,
    /** Whether no source has this id, but one may have had it: it is removed, or a restore has lost it. */
    wasDeleted: (id: number): boolean => !select.has(id) && selectGiven.has(id),
    list: (viewer: Viewer | null, after: number, limit: number): Source[] =>
      selectVisible.all(after, viewer?.id ?? 0, limit),
    /** Returns the titles of all public sources and of the viewer's own sources (`viewerId` 0: a visitor). */
    titles: db.prepare<[viewerId: number], Pick<Source, 'id' | 'title'>>('titles of visible sources', `
      SELECT id, title FROM sources WHERE removed_at IS NULL AND (visibility = 'public' OR owner_id = ?)`).all,
    listOwned: db.prepare<[ownerId: number, after: number, limit: number], Source>('owned sources',
      `${SELECT_SOURCES} AND s.owner_id = ? AND s.id > ? ORDER BY s.id LIMIT ?`).all,
    /** Whether the account owns any source; sources that are being removed count too. */
    ownsAny: db.prepare<[ownerId: number], { id: number }>('whether an account has any source',
      'SELECT id FROM sources WHERE owner_id = ? LIMIT 1').has,
    countOwned: (ownerIds: number[]): Map<number, number> =>
      new Map(countOwned.all(JSON.stringify(ownerIds)).map(({ ownerId, n }) => [ownerId, n])),
    idOfFeed: (url: string, ownerId: number): number | undefined => selectDuplicate.get(url, ownerId)?.id,

    publicFeed: db.prepare<[url: string], Source>('find the public source of a feed', `${SELECT_SOURCES}
       AND f.url = ? AND s.visibility = 'public' AND f.credentials IS NULL ORDER BY s.id LIMIT 1`).get,

    create({ titleIsOwn, ...source }: NewSource, feed: NewFeed | null): number {
      const isOwn = titleIsOwn ? 1 : 0;
      const row = insert.get({ ...source, isOwn, nextSyncAt: feed?.nextSyncAt ?? null, now: clock() });
      if (!row) throw new HttpError(401, 'This account no longer exists.');
      if (feed) insertFeed.run(row.id, feed.url, new URL(feed.url).host);
      return row.id;
    },

    setTitle: (id: number, title: string): void => void updateTitle.run(title, clock(), id),
    setVisibility: (id: number, visibility: Visibility): void => void updateVisibility.run(visibility, clock(), id),
    setShowsAuthors: (id: number, shows: boolean): void => void updateAuthors.run(shows ? 1 : 0, clock(), id),
    setOwner: (id: number, ownerId: number): void => void updateOwner.run(ownerId, clock(), id),
    pause: (id: number, reason: string | null): void => void pause.run({ reason, now: clock(), id }),
    resume: (id: number): void => void resume.run({ now: clock(), id }),
    hide: (id: number): void => void hide.run(clock(), id),
    /** Deletes the row of a hidden source; foreign keys delete the rows that belong to the source. */
    delete: db.prepare<[id: number]>(
      'delete source', 'DELETE FROM sources WHERE id = ? AND removed_at IS NOT NULL').run,
  };
});

/** Database queries for several sources at once. The caller checks whether the viewer may see the sources. */
export const manySources = store(({ db }) => {
  const selectAmong = db.prepare<[string], Source>('read sources by their ids',
    `${SELECT_SOURCES} AND s.id IN (SELECT value FROM json_each(?))`);
  const countNew = db.prepare<[string], { untried: number; failing: number }>('count new sources by state', `
    SELECT COUNT(*) FILTER (WHERE last_sync_at IS NULL AND state <> 'paused') AS untried,
           COUNT(*) FILTER (WHERE state = 'failing') AS failing
      FROM sources WHERE id IN (SELECT value FROM json_each(?)) AND removed_at IS NULL`);

  return {
    beingRemoved: db.prepare<[ownerId: number], { id: number; title: string }>('sources of an account to be removed',
      'SELECT id, title FROM sources WHERE owner_id = ? AND removed_at IS NOT NULL ORDER BY id LIMIT 20').all,
    among: (ids: number[]): Source[] => selectAmong.all(JSON.stringify(ids)),
    nativeOf: db.prepare<[ownerId: number], Source>('read the native sources of an account', `${SELECT_SOURCES}
       AND s.owner_id = ? AND s.kind = 'native' ORDER BY s.title COLLATE NOCASE, s.id LIMIT 100`).all,
    countNew: (ids: number[]) => countNew.get(JSON.stringify(ids)) ?? { untried: 0, failing: 0 },
  };
});

/** A failing source and the reason of the failure; all times are in unix ms. */
export type FailingSource = {
  id: number;
  title: string;
  since: number;
  reason: string | null;
  failures: number; // jobs in a row that have used up their attempts
  nextSyncAt: number | null;
};

type FailingHost = { host: string; count: number; since: number };

export const failingSources = store(({ db }) => {
  const selectHost = db.prepare<[number], FailingHost>('find a host whose feeds all fail', `
    SELECT f.host, COUNT(*) AS count, MIN(s.state_since) AS since
      FROM sources s INDEXED BY sources_failing JOIN feeds f ON f.source_id = s.id
     WHERE s.state = 'failing' AND s.state_since > 0 AND s.removed_at IS NULL
     GROUP BY f.host HAVING count >= ? AND NOT EXISTS
       (SELECT 1 FROM feeds g JOIN sources o ON o.id = g.source_id
         WHERE g.host = f.host AND o.state = 'active' AND o.removed_at IS NULL)
     LIMIT 1`);

  return {
    list: db.prepare<[limit: number], FailingSource>('failing sources', `
      SELECT id, title, state_since AS since, state_reason AS reason, failures, next_sync_at AS nextSyncAt
        FROM sources INDEXED BY sources_failing
       WHERE state = 'failing' AND state_since > 0 AND removed_at IS NULL ORDER BY state_since LIMIT ?`).all,
    wholeHost: (count: number): FailingHost | null => selectHost.get(count) ?? null,
  };
});

type StoredCredentials = { sourceId: number; credentials: string };

/** Stored user names and passwords of feeds, as `feed-passwords.ts` seals them: encrypted if the hub has a key. */
export const feedCredentials = store(({ db }) => {
  const select = db.prepare<[number], { credentials: string | null }>('credentials of feed',
    'SELECT credentials FROM feeds WHERE source_id = ?');
  const selectBeginning = db.prepare<[string, number], StoredCredentials>('read the unsealed credentials of feeds',
    'SELECT source_id AS sourceId, credentials FROM feeds WHERE credentials LIKE ? LIMIT ?');
  const update = db.prepare<[{ id: number; credentials: string | null }]>('store the credentials of a feed', `
    UPDATE feeds SET credentials = @credentials, had_password = iif(@credentials IS NULL, had_password, 1)
     WHERE source_id = @id`);

  return {
    find: (sourceId: number): string | null => select.get(sourceId)?.credentials ?? null,
    /** Returns up to `limit` stored credentials that begin with `prefix`; a prefix marks unencrypted credentials. */
    beginningWith: (prefix: string, limit: number): StoredCredentials[] => selectBeginning.all(`${prefix}%`, limit),
    keep: (id: number, credentials: string | null): void => void update.run({ id, credentials }),
  };
});

/** Counts the sources in a database that no hub has open, such as a backup. */
export function countSources({ db }: Pick<StoreHub, 'db'>): number {
  return db.prepare<[], { n: number }>('count sources', 'SELECT COUNT(*) AS n FROM sources').get()?.n ?? 0;
}

type Person = Pick<Viewer, 'id' | 'role'>;

/** Whether the viewer may see a source and its posts. */
export function maySee(source: Source, viewer: Person | null): boolean {
  return source.visibility === 'public' || mayManage(source, viewer);
}

/** Whether the viewer may change a source and its posts. */
export function mayManage(source: Pick<Source, 'ownerId'>, viewer: Person | null): boolean {
  return viewer !== null && (viewer.id === source.ownerId || viewer.role === 'admin');
}

/** Whether the source exists and the viewer may see it. */
export function maySeeSource(hub: StoreHub, id: number, viewer: Person | null): boolean {
  const source = sources(hub).find(id);
  return source !== undefined && maySee(source, viewer);
}

/** Returns the source; throws status 404 if the source does not exist or the viewer may not see it. */
export function visibleSource(hub: StoreHub, id: number, viewer: Viewer | null): Source {
  const source = sources(hub).find(id);
  if (!source || !maySee(source, viewer)) throw notFound('source');
  return source;
}

/** Returns a source that the viewer may manage. Throws status 403 if the viewer may only see it. */
export function manageableSource(hub: StoreHub, id: number, viewer: Viewer): Source {
  const source = visibleSource(hub, id, viewer);
  if (!mayManage(source, viewer)) throw new HttpError(403, 'Only the owner of this source can manage it.');
  return source;
}
