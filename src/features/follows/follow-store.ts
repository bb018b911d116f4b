import type { Viewer } from '../../platform/http/router.ts';
import { isPresent } from '../accounts/account-store.ts';
import { store } from '../hub/hub.ts';
import { joinSource, type SourceState } from '../sources/source-store.ts';

/** Characters of a folder's name. */
export const FOLDER_MAX = 100;

/** Folders that a form offers. Any other can be typed, and a source can be found without its folder. */
const OFFERED = 200;

/** A source in somebody's reading list. Whatever of it arrived up to the post `readUpTo` is read, but for marks. */
export type Follow = {
  sourceId: number;
  folder: string | null;
  notify: number;
  readUpTo: number;
  createdAt: number;
};

/** A follow that its reader may still see. */
export type ListedFollow = Omit<Follow, 'createdAt'> & { title: string; state: SourceState };

/** What of a follow is to be changed; what is undefined stays. */
export type FollowChange = { folder?: string | null | undefined; notify?: boolean | undefined };

/** For statements about a person's sources: the follow of that account and source, as `f`. */
export function joinFollow(accountId: string, sourceId: string): string {
  return `JOIN follows f ON f.account_id = ${accountId} AND f.source_id = ${sourceId}`;
}

/** For statements about who follows a source. */
export function followersOf(sourceId: string): string {
  return `FROM follows f WHERE f.source_id = ${sourceId}`;
}

/** SQL: whether `f` is in the folder of that name, where one is given. */
export const IN_FOLDER = `(@folder IS NULL
  OR f.folder_id = (SELECT id FROM folders WHERE account_id = @viewerId AND name = @folder))`;

/** SQL: whether the source `s` may be seen by who asks. */
export const MAY_SEE = `(s.visibility = 'public' OR s.owner_id = @viewerId OR @isAdmin)`;

/** SQL: the follows of who asks, as `f`, all or those in a folder, with sources `s` that may be seen. */
export const READING_LIST = `
  FROM follows f ${joinSource('f.source_id')} WHERE f.account_id = @viewerId AND ${IN_FOLDER} AND ${MAY_SEE}`;

export type Asking = { viewerId: number; isAdmin: number };

/** Who asks, for statements with MAY_SEE. */
export function asking({ id, role }: Pick<Viewer, 'id' | 'role'>): Asking {
  return { viewerId: id, isAdmin: role === 'admin' ? 1 : 0 };
}

/** SQL: the columns of `f`, with the name of its folder. */
export const FOLLOW = `f.source_id AS sourceId, (SELECT name FROM folders WHERE id = f.folder_id) AS folder, f.notify,
  f.read_up_to AS readUpTo`;

const SELECT = `SELECT ${FOLLOW}, f.created_at AS createdAt FROM follows f`;

/** The reading lists: who follows which source, in which folder, and how far all of it is read. */
export const follows = store(({ db, clock }) => {
  const select = db.prepare<[number, number], Follow>('follow', `${SELECT} WHERE f.account_id = ? AND f.source_id = ?`);
  const selectAmong = db.prepare<[number, string], { id: number }>('which sources are followed', `
    SELECT source_id AS id FROM follows WHERE account_id = ? AND source_id IN (SELECT value FROM json_each(?))`);
  const selectOf = db.prepare<[number, number, number], Follow>('follows of account',
    `${SELECT} WHERE f.account_id = ? AND f.source_id > ? ORDER BY f.source_id LIMIT ?`);
  const selectListed = db.prepare<[Asking & { folder: string | null }], ListedFollow>('reading list', `
    SELECT ${FOLLOW}, s.title, s.state ${READING_LIST}`);
  const insert = db.prepare<[number, number, number, number]>('follow source', `
    INSERT INTO follows (account_id, source_id, read_up_to, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const remove = db.prepare<[number, number]>('unfollow source',
    'DELETE FROM follows WHERE account_id = ? AND source_id = ?');
  const insertFolder = db.prepare<[number, string]>('make folder',
    'INSERT INTO folders (account_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const selectFolder = db.prepare<[number, string], { id: number }>('folder',
    'SELECT id FROM folders WHERE account_id = ? AND name = ?');
  const selectFolders = db.prepare<[number], { name: string }>('folders of account',
    `SELECT name FROM folders WHERE account_id = ? ORDER BY name COLLATE NOCASE, name LIMIT ${OFFERED}`);
  const setFolder = db.prepare<[{ accountId: number; sourceId: number; name: string | null }]>('put into folder', `
    UPDATE follows SET folder_id = (SELECT id FROM folders WHERE account_id = @accountId AND name = @name)
     WHERE account_id = @accountId AND source_id = @sourceId`);
  const moveFolder = db.prepare<[{ accountId: number; from: string; to: string | null }]>('move all of folder', `
    UPDATE follows SET folder_id = (SELECT id FROM folders WHERE account_id = @accountId AND name = @to)
     WHERE folder_id = (SELECT id FROM folders WHERE account_id = @accountId AND name = @from)`);
  const countFollowers = db.prepare<[number, number], { n: number }>('count other followers', `
    SELECT COUNT(*) AS n FROM follows WHERE source_id = ? AND account_id <> ? AND ${isPresent('account_id')}`);
  const countForeign = db.prepare<[number, number], { n: number }>('count followed sources of others', `
    SELECT COUNT(*) AS n FROM follows f ${joinSource('f.source_id')} WHERE f.account_id = ? AND s.owner_id <> ?`);
  const selectFollowers = db.prepare<[number, number], { id: number }>('other followers', `
    SELECT account_id AS id FROM follows WHERE source_id = ? AND account_id <> ? AND ${isPresent('account_id')}
     ORDER BY created_at, account_id`);
  const setNotify = db.prepare<[number, number, number]>('set bell of follow',
    'UPDATE follows SET notify = ? WHERE account_id = ? AND source_id = ?');
  const setReadUpTo = db.prepare<[number, number, number]>('set mark of follow',
    'UPDATE follows SET read_up_to = ? WHERE account_id = ? AND source_id = ?');
  const selectToTell = db.prepare<[number], { id: number }>('followers to tell',
    `SELECT account_id AS id FROM follows WHERE source_id = ? AND notify = 1 AND ${isPresent('account_id')}`);
  const selectAfter = db.prepare<[number, number], FollowKey>('next follow', `
    SELECT account_id AS accountId, source_id AS sourceId, read_up_to AS readUpTo FROM follows
     WHERE (account_id, source_id) > (?, ?) ORDER BY account_id, source_id LIMIT 1`);
  const removeOf = db.prepare<[number, number]>('remove follows of account', `
    DELETE FROM follows WHERE (account_id, source_id) IN
      (SELECT account_id, source_id FROM follows WHERE account_id = ? LIMIT ?)`);

  return {
    find: (accountId: number, sourceId: number): Follow | undefined => select.get(accountId, sourceId),
    isFollowed: (accountId: number, sourceId: number): boolean => select.get(accountId, sourceId) !== undefined,
    /** Those of the sources that the account follows. */
    followedAmong: (accountId: number, sourceIds: number[]): Set<number> =>
      new Set(selectAmong.all(accountId, JSON.stringify(sourceIds)).map(({ id }) => id)),
    /** Those that the viewer may see, all or those in a folder. */
    listed: (viewer: Pick<Viewer, 'id' | 'role'>, folder?: string): ListedFollow[] =>
      selectListed.all({ ...asking(viewer), folder: folder ?? null }),
    hasFolder: (accountId: number, name: string): boolean => selectFolder.get(accountId, name) !== undefined,
    /** The first ones of the alphabet, for a form to choose from. */
    folderNames: (accountId: number): string[] => selectFolders.all(accountId).map(({ name }) => name),
    follow: (accountId: number, sourceId: number, readUpTo: number): void =>
      void insert.run(accountId, sourceId, readUpTo, clock()),
    unfollow: (accountId: number, sourceId: number): void => void remove.run(accountId, sourceId),

    /** In the caller's transaction: a folder that is new is made, and one without sources goes. */
    change(accountId: number, sourceId: number, { folder, notify }: FollowChange): void {
      if (folder) insertFolder.run(accountId, folder);
      if (folder !== undefined) setFolder.run({ accountId, sourceId, name: folder });
      if (notify !== undefined) setNotify.run(notify ? 1 : 0, accountId, sourceId);
    },

    /** All of a folder into another, which is made where it is new, or null: out of any. The empty one goes. */
    moveFolder(accountId: number, from: string, to: string | null): void {
      if (to !== null) insertFolder.run(accountId, to);
      moveFolder.run({ accountId, from, to });
    },

    /** How many sources of others are in somebody's list. */
    countForeign: (accountId: number): number => countForeign.get(accountId, accountId)?.n ?? 0,
    /** How many others than its owner follow a source. */
    countOthers: (sourceId: number, ownerId: number): number => countFollowers.get(sourceId, ownerId)?.n ?? 0,
    /** Those others, whoever has followed longest first. */
    others: (sourceId: number, ownerId: number): number[] =>
      selectFollowers.all(sourceId, ownerId).map(({ id }) => id),

    setReadUpTo: (accountId: number, sourceId: number, postId: number): void =>
      void setReadUpTo.run(postId, accountId, sourceId),
    /** By the id of the source. */
    listOf: (accountId: number, after: number, limit: number): Follow[] => selectOf.all(accountId, after, limit),
    /** The follow after that one, of all accounts. */
    after: (accountId: number, sourceId: number): FollowKey | undefined => selectAfter.get(accountId, sourceId),
    /** The accounts that want to hear of new posts, without those that have left. */
    toTell: (sourceId: number): number[] => selectToTell.all(sourceId).map(({ id }) => id),
    /** Up to `limit` of them; returns how many. Folders go with the last follow in them. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});

type FollowKey = Pick<Follow, 'sourceId' | 'readUpTo'> & { accountId: number };
