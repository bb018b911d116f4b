import type { Db } from '../../platform/db/open-database.ts';
import { attachments, FILES_OF_OWNER, type Attachment, type RemoteFile } from '../attachments/attachment-store.ts';
import { store } from '../hub/hub.ts';
import { fromSource, joinSource, type SourceKind } from '../sources/source-store.ts';
import { links } from './link-store.ts';
import { AUTHOR } from './post-text-store.ts';
import { searchIndex, type Indexable } from './search-index-store.ts';

/** A file that a publisher names beside a post; `url` is an absolute http(s) URL. */
export type IncomingFile = Omit<RemoteFile, 'filename' | 'isInline'>;

/** A post parsed from a feed or an event, or written here. All times are in unix ms. */
export type IncomingPost = {
  /** The publisher's id of the post, or an id derived from the post; never empty, unique within the source. */
  guid: string;
  title: string; // plain text on one line; empty if the post has no title
  url: string | null;
  author: string | null;
  language: string | null; // a BCP 47 tag; null if unknown
  contentHtml: string; // sanitised by `preparePosts`; `preparePost` expects it sanitised
  baseUrl: string; // the base address for relative links in `contentHtml`
  /** The publisher's summary, not sanitised; null unless the publisher gives both a summary and a content. */
  summary: string | null;
  /** The post's publishing time, or the time of its last change if the publisher gives no publishing time. */
  publishedAt: number | null;
  updatedAt: number | null;
  attachments: IncomingFile[];
  /** The address of the post's picture, if the feed names the picture apart from files, as podcasts do. */
  picture?: string | null;
};

export type SearchTerms = { searchTitle: string; searchText: string };

export type PreparedPost = Omit<IncomingPost, 'summary' | 'attachments'> & SearchTerms & {
  summary: string;
  /** The link of the post as its publisher gives it, if not too long; `url` is it without tracking parameters. */
  givenUrl: string | null;
  link: Uint8Array | null; // made by `linkKey`
  contentHash: string;
  attachments: RemoteFile[];
};

/** Fields of a post that its publisher sets, each with its column; the SQL for posts is made from the column lists. */
const LISTED_COLUMNS = {
  title: 'title', url: 'url', author: 'author', language: 'language', summary: 'summary',
} satisfies Partial<Record<keyof PreparedPost, string>>;

/** Columns that lists do not read: to reach a column after `content_html`, SQLite reads all the content. */
const WHOLE_COLUMNS = { contentHtml: 'content_html' } satisfies Partial<Record<keyof PreparedPost, string>>;

type WholeColumns = Pick<PreparedPost, keyof typeof WHOLE_COLUMNS>;

/** A post in a list, with its source's title and visibility. All times are in unix ms. */
export type Post = Pick<PreparedPost, 'guid' | keyof typeof LISTED_COLUMNS> & {
  id: number;
  firstGuid: string;
  sourceId: number;
  sourceTitle: string;
  sourceKind: SourceKind;
  sourceIdSeed: string;
  ownerId: number;
  publishedAt: number;
  updatedAt: number;
  createdAt: number; // when the post arrived
  isPublic: number;
  searchKey: number;
  contentBytes: number;
};

export type Position = { publishedAt: number; id: number };

export type WholePost = Post & WholeColumns & { attachments: Attachment[] };

const LEFT_OUT: WholeColumns = { contentHtml: '' };

export type PostAccess = Pick<Post, 'id' | 'sourceId' | 'ownerId' | 'isPublic'>;

type PostQuery = { viewerId: number | null; sourceId?: number | undefined; after?: Position; limit: number };

type UpsertRow = Omit<PreparedPost, 'baseUrl' | 'givenUrl' | 'link' | keyof SearchTerms | 'attachments'> & {
  sourceId: number; now: number; firstSeenAt: number; id: number | null; createdAt: number;
};
export type StoredRow = Omit<Indexable, 'sourceId' | keyof SearchTerms>;

export const POSTS = 'posts';

const content = Object.entries({ ...LISTED_COLUMNS, ...WHOLE_COLUMNS });

const listed = Object.entries(LISTED_COLUMNS).map(([name, column]) =>
  `${name === 'author' ? AUTHOR : `p.${column}`} AS ${name}`);

const WHOLE = Object.entries(WHOLE_COLUMNS).map(([name, column]) => `${column} AS ${name}`).join(', ');

/** The source decides who may see a post. The copies of visibility and owner in `posts` may be outdated. */
const ACCESS = `p.id, p.source_id AS sourceId, s.owner_id AS ownerId, s.visibility = 'public' AS isPublic`;

// SQLite stores the length of a content, so the content need not be read.
export const COLUMNS = `${ACCESS}, s.title AS sourceTitle, s.kind AS sourceKind, s.id_seed AS sourceIdSeed,
  p.guid, COALESCE(p.first_guid, p.guid) AS firstGuid, ${listed.join(', ')},
  p.published_at AS publishedAt, p.updated_at AS updatedAt, p.created_at AS createdAt, p.search_key AS searchKey,
  octet_length(p.content_html) AS contentBytes`;

const SELECT_POSTS = `SELECT ${COLUMNS} FROM posts p ${joinSource('p.source_id')}`;

const IN_ITS_LIST = `p.is_public = (s.visibility = 'public') AND (p.is_public = 1 OR p.owner_id = s.owner_id)`;

export const AFTER = '(p.published_at, p.id) < (?, ?)';
export const NEWEST_FIRST = 'ORDER BY p.published_at DESC, p.id DESC LIMIT ?';

export const STORED = `id, published_at AS publishedAt, search_key AS searchKey, is_public AS isPublic,
  owner_id AS ownerId`;

const UPSERT = `
  INSERT INTO posts (id, source_id, is_public, owner_id, guid, ${content.map(([, column]) => column).join(', ')},
                     content_hash, published_at, updated_at, created_at)
  SELECT @id, s.id, s.visibility = 'public', s.owner_id, @guid, ${content.map(([name]) => `@${name}`).join(', ')},
         @contentHash, COALESCE(@publishedAt, @firstSeenAt),
         COALESCE(@updatedAt, @publishedAt, @firstSeenAt), @createdAt
    ${fromSource('@sourceId')}
     AND NOT EXISTS (SELECT 1 FROM post_tombstones WHERE source_id = @sourceId AND guid = @guid)
  ON CONFLICT (source_id, guid) DO UPDATE SET
    ${content.map(([, column]) => `${column} = excluded.${column}`).join(', ')}, content_hash = excluded.content_hash,
    published_at = COALESCE(@publishedAt, published_at), updated_at = COALESCE(@updatedAt, @now)
   WHERE content_hash <> excluded.content_hash
  RETURNING ${STORED}`;

export const FROM_THE_TOP: Position = { publishedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/** Compares like NEWEST_FIRST. */
export function newestFirst(a: Position, b: Position): number {
  return b.publishedAt - a.publishedAt || b.id - a.id;
}

export const posts = store((hub) => {
  const { db, clock } = hub;
  const [index, files, linked] = [searchIndex(hub), attachments(hub), links(hub)];
  const [selects, writing] = [prepareSelects(db), prepareWriting(db)];

  function newest(query: PostQuery): Post[] {
    const { viewerId, sourceId, after = FROM_THE_TOP, limit } = query;
    const { publishedAt, id } = after;
    if (sourceId !== undefined) return selects.ofSource.all(sourceId, publishedAt, id, limit);
    const open = selects.public.all(publishedAt, id, limit);
    if (viewerId === null) return open;
    return [...open, ...selects.private.all(viewerId, publishedAt, id, limit)].sort(newestFirst).slice(0, limit);
  }

  function whole(posts: Post[], isWhole = (_post: Post): boolean => true): WholePost[] {
    const ids = posts.filter(isWhole).map(({ id }) => id);
    const byPost = Map.groupBy(files.ofPosts(ids), (attachment) => attachment.postId);
    const contents = new Map(selects.wholeAmong.all(JSON.stringify(ids)).map(({ id, ...rest }) => [id, rest]));
    return posts.map((post) =>
      ({ ...post, ...contents.get(post.id) ?? LEFT_OUT, attachments: byPost.get(post.id) ?? [] }));
  }

  /** The highest id of a post below an id; 0 if there is none. */
  const lastBefore = (id: number): number => selects.lastBefore.get(id)?.id ?? 0;

  return {
    whole,

    /** The caller checks that the viewer may see the post. */
    find(id: number): WholePost | undefined {
      const post = selects.one.get(id);
      return post && whole([post])[0];
    },

    listed(ids: number[]): Post[] {
      const byId = new Map(selects.among.all(JSON.stringify(ids)).map((post) => [post.id, post]));
      return ids.flatMap((id) => byId.get(id) ?? []);
    },

    lastId: (): number => lastBefore(Number.MAX_SAFE_INTEGER),
    lastBefore,
    arrivedAt: (id: number): number | undefined => selects.arrivedFrom.get(id)?.createdAt,
    firstFrom: (id: number): number | undefined => selects.arrivedFrom.get(id)?.id,
    firstSince(at: number): number | undefined {
      let [low, high] = [1, lastBefore(Number.MAX_SAFE_INTEGER) + 1];
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        const next = selects.arrivedFrom.get(middle);
        if (next && next.createdAt < at) low = next.id + 1;
        else high = next?.id === middle ? middle : lastBefore(middle) + 1; // a restore leaves a large gap of ids
      }
      return selects.arrivedFrom.get(low)?.id;
    },
    exists: selects.id.has,
    accessOf: db.prepare<[id: number], PostAccess>('access to post',
      `SELECT ${ACCESS} FROM posts p ${joinSource('p.source_id')} WHERE p.id = ?`).get,
    /** Public posts and the viewer's own posts; with `sourceId`, all posts of the source (the caller checks access). */
    newest,
    fileBytes: (source: { id: number; ownerId: number }): number =>
      selects.fileBytes.get(source.ownerId, source.id)?.bytes ?? 0,

    has: writing.hash.has,
    versionOf: (id: number): string | undefined => writing.version.get(id)?.hash,
    isSettled(sourceId: number, guid: string, contentHash: string): boolean {
      const isThere = writing.hash.get(sourceId, guid)?.hash === contentHash;
      return isThere || writing.tombstone.get(sourceId, guid) !== undefined;
    },
    /**
     * Stores one post, in the caller's transaction; its publishing time becomes at most `firstSeenAt`. Undefined if it
     * is unchanged, has a tombstone, or its source is being removed. `was`: the id and creation time of a post that its
     * author took back into a draft.
     */
    put(sourceId: number, post: PreparedPost, firstSeenAt: number, was: { id?: number; createdAt?: number } = {}) {
      const now = clock();
      const [publishedAt, updatedAt] = [notLater(post.publishedAt, firstSeenAt), notLater(post.updatedAt, now)];
      const { id = null, createdAt = now } = was;
      const row = writing.upsert.get({ ...post, id, createdAt, sourceId, firstSeenAt, now, publishedAt, updatedAt });
      if (!row) return undefined;
      index.put({ ...row, ...post, sourceId, publishedAt: row.publishedAt });
      files.replaceRemote(row.id, post.attachments);
      const stored = { id: row.id, isNew: row.searchKey === null };
      linked.put({ ...stored, sourceId }, post.link);
      return stored;
    },

    contentOf: (id: number): string => selects.whole.get(id)?.contentHtml ?? '',
    /** Returns the first characters of a post's content; the last tag may be incomplete. */
    beginningOf: (id: number, characters: number): string =>
      selects.beginning.get(characters, id)?.contentHtml ?? '',

    withdraw: writing.remove.run,
    /**
     * Deletes a post and leaves a tombstone, which keeps it from coming back unless `liftDeletion` removes it. Runs in
     * the caller's transaction. `at`: when it was deleted (unix ms). Returns whether the post was there.
     */
    remove(sourceId: number, guid: string, at = clock()): boolean {
      writing.leaveTombstone.run(sourceId, guid, at);
      return writing.remove.run(sourceId, guid).changes === 1;
    },
    /**
     * For an event that publishes a post at the time `at` (unix ms): removes the tombstone that an earlier event has
     * left. Returns what became of the deletion; undefined if there was none.
     */
    liftDeletion(sourceId: number, guid: string, at: number): 'lifted' | 'later' | 'final' | undefined {
      const deletion = writing.tombstone.get(sourceId, guid);
      if (!deletion) return undefined;
      if (deletion.isFinal === 1) return 'final';
      if (deletion.at > at) return 'later';
      writing.liftTombstone.run(sourceId, guid);
      return 'lifted';
    },
  };
});

function prepareSelects(db: Db) {
  return {
    one: db.prepare<[number], Post>('post', `${SELECT_POSTS} WHERE p.id = ?`),
    among: db.prepare<[string], Post>('posts by id',
      `${SELECT_POSTS} WHERE p.id IN (SELECT value FROM json_each(?))`),
    lastBefore: db.prepare<[number], { id: number | null }>('last post before an id',
      'SELECT MAX(id) AS id FROM posts WHERE id < ?'),
    arrivedFrom: db.prepare<[number], { id: number; createdAt: number }>('read the first post from an id on',
      'SELECT id, created_at AS createdAt FROM posts WHERE id >= ? ORDER BY id LIMIT 1'),
    id: db.prepare<[id: number], { id: number }>('whether a post exists', 'SELECT id FROM posts WHERE id = ?'),
    whole: db.prepare<[number], WholeColumns>('content of post', `SELECT ${WHOLE} FROM posts WHERE id = ?`),
    wholeAmong: db.prepare<[string], WholeColumns & { id: number }>('contents of posts',
      `SELECT id, ${WHOLE} FROM posts WHERE id IN (SELECT value FROM json_each(?))`),
    beginning: db.prepare<[number, number], { contentHtml: string }>('beginning of post',
      'SELECT substr(content_html, 1, ?) AS contentHtml FROM posts WHERE id = ?'),
    public: db.prepare<[number, number, number], Post>('public posts',
      `${SELECT_POSTS} WHERE p.is_public = 1 AND ${IN_ITS_LIST} AND ${AFTER} ${NEWEST_FIRST}`),
    private: db.prepare<[number, number, number, number], Post>('own private posts',
      `${SELECT_POSTS} WHERE p.is_public = 0 AND p.owner_id = ? AND ${IN_ITS_LIST} AND ${AFTER} ${NEWEST_FIRST}`),
    ofSource: db.prepare<[number, number, number, number], Post>('posts of source',
      `${SELECT_POSTS} WHERE p.source_id = ? AND ${AFTER} ${NEWEST_FIRST}`),
    // The query starts from the owner's files, which are fewer than the posts of a large source.
    fileBytes: db.prepare<[number, number], { bytes: number }>('bytes of source', `
      SELECT COALESCE(SUM(f.bytes), 0) AS bytes FROM (${FILES_OF_OWNER}) f CROSS JOIN posts p ON p.id = f.postId
       WHERE p.source_id = ?`),
  };
}

function prepareWriting(db: Db) {
  return {
    hash: db.prepare<[sourceId: number, guid: string], { hash: string }>('hash of post',
      'SELECT content_hash AS hash FROM posts WHERE source_id = ? AND guid = ?'),
    version: db.prepare<[number], { hash: string }>('version of post',
      'SELECT content_hash AS hash FROM posts WHERE id = ?'),
    // Deletions here note the post's likeness; those by an event of its publisher do not, and are not final.
    tombstone: db.prepare<[number, string], { at: number; isFinal: number }>('tombstone', `
      SELECT deleted_at AS at, likeness IS NOT NULL AS isFinal FROM post_tombstones WHERE source_id = ? AND guid = ?`),
    upsert: db.prepare<[UpsertRow], StoredRow>('store post', UPSERT),
    leaveTombstone: db.prepare<[number, string, number]>('leave tombstone', `
      INSERT INTO post_tombstones (source_id, guid, deleted_at) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET deleted_at = MAX(deleted_at, excluded.deleted_at)`),
    liftTombstone: db.prepare<[number, string]>('remove tombstone',
      'DELETE FROM post_tombstones WHERE source_id = ? AND guid = ?'),
    remove: db.prepare<[sourceId: number, guid: string]>(
      'delete post', 'DELETE FROM posts WHERE source_id = ? AND guid = ?'),
  };
}

const notLater = (at: number | null, limit: number): number | null => (at === null ? null : Math.min(at, limit));
