import { hash } from 'node:crypto';
import { store } from '../hub/hub.ts';
import type { PreparedPosts } from './ingest-posts.ts';
import {
  formerHosts, formsOf, gradeOf, isOnlyDate, pairUp, type Moved, type NewPost, type OldPost,
} from './moved-posts.ts';
import type { PreparedPost } from './post-store.ts';

/** A post that its publisher has withdrawn, and the time of the withdrawal (unix ms; null if unknown). */
export type DeletedPost = { guid: string; deletedAt: number | null };

/** `isLike`: whether a deleted post may be told by link, title and time. */
type Buried = { hosts: string[]; inFeed: ReadonlySet<string>; isLike: (one: NewPost) => boolean };

type Likeness = Pick<PreparedPost, 'url' | 'title' | 'publishedAt'>;

/** Maximum number of posts marked as gone from their feed in one transaction: about 10 ms. */
const LEAVING_AT_ONCE = 500;

/** If a source has this many posts of one time, as if its feed gave all posts the same, the time tells none of them. */
const TIMED_MAX = 20;

const BURIED_MAX = 100; // tombstones that are like one post
const NEWEST = 10; // posts of a source that tell whether its times are dates

const OLD = 'p.guid, p.url, p.title, p.published_at AS publishedAt, p.created_at AS createdAt, ' +
  'p.left_at IS NOT NULL AS hasLeft';

export const feedPosts = store(({ db, clock }) => {
  const selectUnknown = db.prepare<[{ sourceId: number; guids: string }], { guid: string }>('unknown ids of a feed', `
    SELECT value AS guid FROM json_each(@guids)
     WHERE NOT EXISTS (SELECT 1 FROM posts WHERE source_id = @sourceId AND guid = value)
       AND NOT EXISTS (SELECT 1 FROM post_tombstones WHERE source_id = @sourceId AND guid = value)`);
  const selectAny = db.prepare<[{ sourceId: number }], { posts: number; tombstones: number }>('what a source has had', `
    SELECT EXISTS (SELECT 1 FROM posts WHERE source_id = @sourceId) AS posts,
           EXISTS (SELECT 1 FROM post_tombstones WHERE source_id = @sourceId) AS tombstones`);
  const selectForm = db.prepare<[number, string], OldPost>('post with another form of an id', `
    SELECT ${OLD} FROM posts p WHERE p.source_id = ? AND p.guid IN (SELECT value FROM json_each(?))
     ORDER BY +p.id DESC LIMIT 1`); // `+`: else SQLite reads all posts of the source, by id
  const selectTimed = db.prepare<[number, number, number], OldPost>('posts of a time',
    `SELECT ${OLD} FROM posts p WHERE p.source_id = ? AND p.published_at = ? LIMIT ?`);
  const selectLinked = db.prepare<[Uint8Array, number], OldPost>('first post of a source with a link', `
    SELECT ${OLD}, 1 AS isFirst FROM post_links l CROSS JOIN posts p ON p.id = l.post_id
     WHERE l.link = ? AND l.source_id = ?`);
  const selectBuried = db.prepare<[{ sourceId: number; guids: string; likenesses: string }], { guid: string }>(
    'tombstone of a post with another id', `
    SELECT guid FROM post_tombstones WHERE source_id = @sourceId AND guid IN (SELECT value FROM json_each(@guids))
     UNION ALL
    SELECT guid FROM post_tombstones
     WHERE source_id = @sourceId AND likeness IN (SELECT value FROM json_each(@likenesses)) LIMIT ${BURIED_MAX}`);
  const selectNewest = db.prepare<[number, number], { at: number }>('times of the newest posts of a source',
    'SELECT published_at AS at FROM posts WHERE source_id = ? ORDER BY id DESC LIMIT ?');
  const rename = db.prepare<[Moved & { sourceId: number }]>('give a post another guid', `
    UPDATE OR IGNORE posts SET first_guid = COALESCE(first_guid, guid), guid = @to
     WHERE source_id = @sourceId AND guid = @from`);
  const selectLikeness = db.prepare<[number, string], Likeness>('likeness of post',
    'SELECT url, title, published_at AS publishedAt FROM posts WHERE source_id = ? AND guid = ?');
  const entomb = db.prepare<[number, string, number, string | null]>('store a tombstone with link, title and date', `
    INSERT INTO post_tombstones (source_id, guid, deleted_at, likeness) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const copyTombstone = db.prepare<[Moved & { sourceId: number }]>('give a tombstone another guid', `
    INSERT INTO post_tombstones (source_id, guid, deleted_at, likeness)
    SELECT source_id, @to, deleted_at, likeness FROM post_tombstones WHERE source_id = @sourceId AND guid = @from
    ON CONFLICT DO NOTHING`);
  const setLeft = db.prepare<[number, number, string, number]>('note posts that left the feed', `
    UPDATE posts SET left_at = ? WHERE id IN
      (SELECT id FROM posts INDEXED BY posts_in_feed
        WHERE source_id = ? AND left_at IS NULL AND guid NOT IN (SELECT value FROM json_each(?)) LIMIT ?)`);
  const setReturned = db.prepare<[number, string]>('note posts that are in the feed again', `
    UPDATE posts SET left_at = NULL
     WHERE source_id = ? AND left_at IS NOT NULL AND guid IN (SELECT value FROM json_each(?))`);
  const removeUnchanged = db.prepare<[number, string, number]>('take back post',
    'DELETE FROM posts WHERE source_id = ? AND guid = ? AND updated_at <= ?');

  function oldPosts(sourceId: number, { guid, link, publishedAt }: NewPost): OldPost[] {
    const timed = publishedAt === null ? [] : selectTimed.all(sourceId, publishedAt, TIMED_MAX);
    const forms = formsOf(guid);
    const found = [
      forms.length > 1 ? selectForm.get(sourceId, JSON.stringify(forms)) : undefined,
      ...timed.length < TIMED_MAX ? timed : [],
      link ? selectLinked.get(link, sourceId) : undefined, // last: it alone has `isFirst`
    ];
    return [...new Map(found.flatMap((old) => (old ? [[old.guid, old]] : []))).values()];
  }

  function buriedAs(sourceId: number, one: NewPost, { hosts, inFeed, isLike }: Buried): Moved[] {
    const { guid, url, givenUrl, title, publishedAt } = one;
    // Earlier versions stored addresses with some of the tracking parameters.
    const given = isLike(one) ? [...new Set([url, givenUrl])] : [];
    const urls = given.flatMap((each) => formsOf(each ?? '', hosts));
    const likenesses = urls.map((each) => likenessOf({ url: each, title, publishedAt }));
    const asked = { sourceId, guids: JSON.stringify(formsOf(guid, hosts)), likenesses: JSON.stringify(likenesses) };
    const from = selectBuried.all(asked).find((buried) => !inFeed.has(buried.guid))?.guid;
    return from === undefined ? [] : [{ from, to: guid }];
  }

  return {
    /**
     * Finds stored posts, and tombstones, to which a fetched feed gives new ids, as a site does that moves. `items`:
     * the feed's new and changed posts; `guids`: the ids of all its posts. Of a feed that was cut (`isCut`) not all ids
     * are known, so that only another form of an address tells that a post has moved.
     */
    findMoved(sourceId: number, items: PreparedPosts, guids: string[], isCut: boolean): Moved[] {
      if (items.length === 0) return [];
      const changed = JSON.stringify(items.map(({ prepared }) => prepared.guid));
      const unknown = new Set(selectUnknown.all({ sourceId, guids: changed }).map(({ guid }) => guid));
      const had = selectAny.get({ sourceId });
      if (unknown.size === 0 || !had) return [];
      const added = items.flatMap(({ prepared }) => (unknown.has(prepared.guid) ? [prepared] : []));
      const stored = selectNewest.all(sourceId, NEWEST).map(({ at }) => at);
      const times = [...new Set([...stored, ...added.flatMap(({ publishedAt }) => publishedAt ?? [])])];
      const isDate = ({ publishedAt }: NewPost): boolean => publishedAt !== null && isOnlyDate(publishedAt, times);
      const pairs = had.posts === 0 ? [] : added.flatMap((one) =>
        oldPosts(sourceId, one).map((old) => ({ one, old, grade: gradeOf(one, old, isDate(one)) })));
      const inFeed = new Set(guids);
      const moved = pairUp(isCut ? pairs.filter(({ grade }) => grade === 4) : pairs, inFeed);
      const isLike = (one: NewPost): boolean =>
        !isCut && one.publishedAt !== null && (one.link !== null || !isDate(one));
      const hosts = formerHosts(moved);
      const found = new Set(moved.map(({ one }) => one));
      const left = had.tombstones === 0 ? [] : added.filter((one) => !found.has(one));
      return [
        ...moved.map(({ one, old }) => ({ from: old.guid, to: one.guid })),
        ...left.flatMap((one) => buriedAs(sourceId, one, { hosts, inFeed, isLike })),
      ];
    },

    /**
     * Gives posts the ids that `findMoved` has found, and tombstones a copy with theirs: in the transaction that then
     * stores the feed's posts. In the hub's own feeds, a post keeps its first id.
     */
    followMoved(sourceId: number, moved: Moved[]): void {
      for (const each of moved) {
        if (rename.run({ sourceId, ...each }).changes === 0) copyTombstone.run({ sourceId, ...each });
      }
    },

    /** Stores a tombstone that also matches the deleted post under another id, in the deletion's transaction. */
    rememberDeleted(sourceId: number, guid: string): void {
      const post = selectLikeness.get(sourceId, guid);
      entomb.run(sourceId, guid, clock(), post ? likenessOf(post) : null);
    },

    /**
     * Notes which posts of the source are missing from the feed's latest document, which has these `guids`, at most
     * LEAVING_AT_ONCE per call, and which are in it again. In the transaction that stores the feed's posts.
     */
    noteContained(sourceId: number, guids: string[]): void {
      const all = JSON.stringify(guids);
      setReturned.run(sourceId, all);
      setLeft.run(clock(), sourceId, all, LEAVING_AT_ONCE);
    },

    /** Deletes posts that the publisher withdrew, unless they changed after that; returns how many. */
    takeBack: (sourceId: number, deleted: DeletedPost[]): number => deleted
      .map(({ guid, deletedAt }) => removeUnchanged.run(sourceId, guid, deletedAt ?? Number.MAX_SAFE_INTEGER).changes)
      .reduce((sum, one) => sum + one, 0),
  };
});

function likenessOf({ url, title, publishedAt }: Likeness): string {
  return hash('sha256', JSON.stringify([url, title, publishedAt]));
}
