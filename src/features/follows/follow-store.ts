import type { Viewer } from '../../platform/http/router.ts';
import { plural } from '../../platform/in-words.ts';
import { accounts, isPresent } from '../accounts/account-store.ts';
import { store, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { FEED_ADDRESSES, joinSource, maySee, sources, type Source, type SourceState } from '../sources/source-store.ts';

export const FOLDER_MAX = 100; // characters of a folder's name

/** A form suggests at most this many folders; the member can type the names of other folders. */
const OFFERED = 200;

/**
 * A source that an account follows. Posts up to the id `readUpTo` count as read where they have no entry: they were old
 * when the follow began, or (before version 2.1.0) read.
 */
export type Follow = {
  sourceId: number;
  ownTitle: string | null; // the account's own name for the source; null: the title of the source
  folder: string | null;
  notify: number;
  hideGlobally: number; // 1: lists of the posts of all sources leave out the source's posts
  readUpTo: number;
  createdAt: number;
};

/** A follow of a source that the follower may see. `title`: the account's own name for the source, or its title. */
export type ListedFollow = Omit<Follow, 'createdAt' | 'ownTitle' | 'readUpTo'> & { title: string; state: SourceState };

/** A followed source as apps list it. */
export type Subscription =
  Pick<ListedFollow, 'title' | 'folder'> & Pick<Source, 'id' | 'ownerId' | 'feedUrl' | 'siteUrl'>;

/** Changes to a follow; a field that is undefined stays as it is. `title` null ends the account's own name. */
export type FollowChange = {
  title?: string | null | undefined; folder?: string | null | undefined; notify?: boolean | undefined;
  hideGlobally?: boolean | undefined;
};

/** The table that queries of reading lists join. Only `features/follows` writes to it. */
export const FOLLOWS = 'follows';

/** SQL condition: the follow `f` is in `@folder`; true for every follow if `@folder` is NULL. */
export const IN_FOLDER = `(@folder IS NULL
  OR f.folder_id = (SELECT id FROM folders WHERE account_id = @viewerId AND name = @folder))`;

/** SQL condition: posts of the follow `f` are in the list of `@folder` or, if `@folder` is NULL, of all sources. */
export const IN_LIST = `(${IN_FOLDER} AND (@folder IS NOT NULL OR NOT f.hide_globally))`;

/** SQL condition of all reading lists: the viewer may see the source `s`. */
export const MAY_SEE = `(s.visibility = 'public' OR s.owner_id = @viewerId OR @isAdmin)`;

/** SQL: the viewer's follows `f` (all, or in `@folder`) with their sources `s`, if the viewer may see the source. */
export const READING_LIST = `
  FROM follows f ${joinSource('f.source_id')} WHERE f.account_id = @viewerId AND ${IN_FOLDER} AND ${MAY_SEE}`;

export type Asking = { viewerId: number; isAdmin: number };

/** The viewer as parameters of SQL statements that contain MAY_SEE. */
export function asking({ id, role }: Pick<Viewer, 'id' | 'role'>): Asking {
  return { viewerId: id, isAdmin: role === 'admin' ? 1 : 0 };
}

const FOLDER = '(SELECT name FROM folders WHERE id = f.folder_id)';

/** SQL: columns of the follow `f`, with its folder's name, but without its title, `read_up_to` and `created_at`. */
export const FOLLOW = `f.source_id AS sourceId, ${FOLDER} AS folder, f.notify,
  f.hide_globally AS hideGlobally`;

/** SQL: the title of the source `s` as the account of the follow `f` sees it; without a follow, the source's title. */
export const SEEN_TITLE = 'COALESCE(f.title, s.title)';

const SELECT =
  `SELECT ${FOLLOW}, f.title AS ownTitle, f.read_up_to AS readUpTo, f.created_at AS createdAt FROM follows f`;

export const follows = store(({ db, clock }) => {
  const select = db.prepare<[accountId: number, sourceId: number], Follow>(
    'follow', `${SELECT} WHERE f.account_id = ? AND f.source_id = ?`);
  const selectAmong = db.prepare<[number, string], { id: number }>('which sources are followed', `
    SELECT source_id AS id FROM follows WHERE account_id = ? AND source_id IN (SELECT value FROM json_each(?))`);
  const selectListed = db.prepare<[Asking & { folder: string | null }], ListedFollow>('reading list', `
    SELECT ${FOLLOW}, ${SEEN_TITLE} AS title, s.state ${READING_LIST}`);
  const selectSubscriptions = db.prepare<[Asking & { folder: null }], Subscription>('followed sources for apps', `
    SELECT s.id, ${SEEN_TITLE} AS title, ${FOLDER} AS folder, s.owner_id AS ownerId,
           ${FEED_ADDRESSES} ${READING_LIST}`);
  const insert = db.prepare<[number, number, number, number]>('follow source', `
    INSERT INTO follows (account_id, source_id, read_up_to, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const insertFolder = db.prepare<[number, string]>('make folder',
    'INSERT INTO folders (account_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const selectFolders = db.prepare<[number, number], { name: string }>('folders of account',
    'SELECT name FROM folders WHERE account_id = ? ORDER BY name COLLATE NOCASE, name LIMIT ?');
  const setFolder = db.prepare<[{ accountId: number; sourceId: number; name: string | null }]>('put into folder', `
    UPDATE follows SET folder_id = (SELECT id FROM folders WHERE account_id = @accountId AND name = @name)
     WHERE account_id = @accountId AND source_id = @sourceId`);
  const moveFolder = db.prepare<[{ accountId: number; from: string; to: string | null }]>('move follows of folder', `
    UPDATE follows SET folder_id = (SELECT id FROM folders WHERE account_id = @accountId AND name = @to)
     WHERE folder_id = (SELECT id FROM folders WHERE account_id = @accountId AND name = @from)`);
  const countFollowers = db.prepare<[sourceId: number, ownerId: number], { n: number }>('count other followers', `
    SELECT COUNT(*) AS n FROM follows WHERE source_id = ? AND account_id <> ? AND ${isPresent('account_id')}`);
  const countForeign = db.prepare<[{ accountId: number }], { n: number }>('count sources of other owners', `
    SELECT COUNT(*) AS n FROM follows f ${joinSource('f.source_id')}
     WHERE f.account_id = @accountId AND s.owner_id <> @accountId`);
  const selectFollowers = db.prepare<[number, number], { id: number }>('other followers', `
    SELECT account_id AS id FROM follows WHERE source_id = ? AND account_id <> ? AND ${isPresent('account_id')}
     ORDER BY created_at, account_id`);
  const setNotify = db.prepare<[number, number, number]>('set notification of follow',
    'UPDATE follows SET notify = ? WHERE account_id = ? AND source_id = ?');
  const setHidden = db.prepare<[number, number, number]>('hide source globally',
    'UPDATE follows SET hide_globally = ? WHERE account_id = ? AND source_id = ?');
  const setTitle = db.prepare<[string | null, number, number]>('name source',
    'UPDATE follows SET title = ? WHERE account_id = ? AND source_id = ?');
  const raise = db.prepare<[number, number, number, number]>('count old posts as read',
    'UPDATE follows SET read_up_to = ? WHERE account_id = ? AND source_id = ? AND read_up_to < ?');
  const selectToTell = db.prepare<[number], { id: number }>('followers to tell',
    `SELECT account_id AS id FROM follows WHERE source_id = ? AND notify = 1 AND ${isPresent('account_id')}`);

  return {
    find: select.get,
    isFollowed: select.has,
    followedAmong: (accountId: number, sourceIds: number[]): Set<number> =>
      new Set(selectAmong.all(accountId, JSON.stringify(sourceIds)).map(({ id }) => id)),
    /** The follows of the viewer, all or only in one folder, without sources that the viewer may not see. */
    listed: (viewer: Pick<Viewer, 'id' | 'role'>, folder?: string): ListedFollow[] =>
      selectListed.all({ ...asking(viewer), folder: folder ?? null }),
    /** The follows of the viewer, in the order of the sources' ids. */
    subscriptions: (viewer: Viewer): Subscription[] => selectSubscriptions.all({ ...asking(viewer), folder: null }),
    hasFolder: db.prepare<[accountId: number, name: string], { id: number }>('folder',
      'SELECT id FROM folders WHERE account_id = ? AND name = ?').has,
    /** In alphabetical order. */
    folderNames: (accountId: number, most = OFFERED): string[] =>
      selectFolders.all(accountId, most).map(({ name }) => name),
    follow: (accountId: number, sourceId: number, readUpTo: number): void =>
      void insert.run(accountId, sourceId, readUpTo, clock()),
    unfollow: db.prepare<[accountId: number, sourceId: number]>('unfollow source',
      'DELETE FROM follows WHERE account_id = ? AND source_id = ?').run,

    /** In the caller's transaction. An SQL trigger removes a folder when its last source leaves the folder. */
    change(accountId: number, sourceId: number, { title, folder, notify, hideGlobally }: FollowChange): void {
      if (folder) insertFolder.run(accountId, folder);
      if (folder !== undefined) setFolder.run({ accountId, sourceId, name: folder });
      if (title !== undefined) setTitle.run(title, accountId, sourceId);
      if (notify !== undefined) setNotify.run(notify ? 1 : 0, accountId, sourceId);
      if (hideGlobally !== undefined) setHidden.run(hideGlobally ? 1 : 0, accountId, sourceId);
    },

    /** Creates the folder `to` if it does not exist; null: the follows are in no folder afterwards. */
    moveFolder(accountId: number, from: string, to: string | null): void {
      if (to !== null) insertFolder.run(accountId, to);
      moveFolder.run({ accountId, from, to });
    },

    /** Posts of the source up to the id `postId` count as read where they have no entry. */
    raiseReadUpTo: (accountId: number, sourceId: number, postId: number): void =>
      void raise.run(postId, accountId, sourceId, postId),
    /** Counts followed sources of other owners. */
    countForeign: (accountId: number): number => countForeign.get({ accountId })?.n ?? 0,
    countOthers: countFollowers.count,
    hasFollowers: (sourceId: number): boolean => (countFollowers.get(sourceId, 0)?.n ?? 0) > 0, // no account's id is 0
    /** The followers except the owner and accounts that are being removed, longest followers first. */
    others: (sourceId: number, ownerId: number): number[] =>
      selectFollowers.all(sourceId, ownerId).map(({ id }) => id),

    /** `after`: a source id; the follows are in the order of these ids. */
    listOf: db.prepare<[accountId: number, after: number, limit: number], Follow>('follows of account',
      `${SELECT} WHERE f.account_id = ? AND f.source_id > ? ORDER BY f.source_id LIMIT ?`).all,
    /** The followers who want notifications of the source's new posts, without accounts that are being removed. */
    toTell: (sourceId: number): number[] => selectToTell.all(sourceId).map(({ id }) => id),
    readersOf: db.prepare<[sourceId: number], Reader>('readers of source', `
      SELECT f.account_id AS accountId, f.title AS ownTitle, ${FOLDER} AS folder
        FROM follows f WHERE f.source_id = ?`).all,
    /** Returns the number of removed follows. */
    removeOf: db.prepare<[accountId: number, limit: number]>('remove follows of account', `
      DELETE FROM follows WHERE (account_id, source_id) IN
        (SELECT account_id, source_id FROM follows WHERE account_id = ? LIMIT ?)`).change,
  };
});

type Reader = Pick<Follow, 'ownTitle' | 'folder'> & { accountId: number };

/** In the caller's transaction. `postsFor`: an account's number of new posts. Account `authorId` is not notified. */
export function notifyFollowers(
  hub: Hub, sourceId: number, postsFor: (accountId: number) => number, authorId: number | null = null,
): void {
  const followers = follows(hub).toTell(sourceId).filter((id) => id !== authorId);
  const source = followers.length > 0 ? sources(hub).find(sourceId) : undefined;
  if (!source) return;
  const title = (n: number): string => `${plural(n, 'new post')} in “${source.title}”`;
  for (const accountId of followers) {
    if (!maySeeNow(hub, source, accountId)) continue;
    const posts = postsFor(accountId);
    if (posts === 0) continue;
    const senderId = authorId ?? source.ownerId;
    const about = { accountId, senderId, kind: 'source.posts', path: `/sources/${sourceId}` };
    notifications(hub).addPosts(about, posts, title);
  }
}

/** Whether a follower may see the source: the source may have become private, or the follower was demoted. */
function maySeeNow(hub: Hub, source: Source, accountId: number): boolean {
  if (source.visibility === 'public') return true;
  const account = accounts(hub).find(accountId);
  return account !== undefined && maySee(source, account);
}
