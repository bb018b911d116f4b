import { indexAnew } from '../../src/features/full-text/index-anew.ts';
import { indexedFrom, noteIndexed, searchKey } from '../../src/features/posts/search-index-store.ts';
import type { Hub } from './hub.ts';
import { addPosts } from './stored-posts.ts';
import type { Stored } from './stored-rows.ts';

/** Posts about owls, a second apart from 1970 on, as a version before 2.1.0 left them: only the old index has their words. */
export function oldIndex({ db }: Stored, sourceId: number, count: number): number[] {
  const ids = addPosts({ db }, sourceId, count, (n) => ({ title: `Owl ${n}`, content: '<p>an owl</p>', publishedAt: n * 1_000 }));
  db.write('as before', () => {
    for (const [at, id] of ids.entries()) {
      db.exec(`UPDATE posts SET search_key = ${searchKey((at + 1) * 1_000, id)} WHERE id = ${id}`);
    }
    db.exec(`INSERT INTO posts_search (rowid, title, body, source)
      SELECT search_key, title, 'an owl', '1' FROM posts WHERE title LIKE 'Owl %'`);
    noteIndexed({ db, clock: Date.now }, searchKey((count + 1) * 1_000, 0));
  });
  return ids;
}

/** The full text of a post, as a version before 2.1.0 left it. */
export function oldFullText({ db }: Stored, postId: number, html: string): void {
  db.exec(`INSERT INTO full_texts (post_id, state, used_at, version, content_html, search_key)
    SELECT id, 'ready', 1, 1, '${html}', search_key FROM posts WHERE id = ${postId}`);
}

/** How many posts still wait to be indexed anew. */
export function waitingPosts({ db }: Stored): number {
  const from = indexedFrom({ db, clock: Date.now });
  return db.prepare<[number], { n: number }>('posts below', 'SELECT COUNT(*) AS n FROM posts WHERE search_key < ?').get(from)?.n ?? 0;
}

/** Rows that are left of the old index, besides the two of an empty one. */
export function oldRows({ db }: Stored): number {
  return db.prepare<[], { n: number }>('old rows', `
    SELECT (SELECT COUNT(*) FROM posts_search_docsize) + (SELECT COUNT(*) FROM posts_search_data) - 2
         + (SELECT COUNT(*) FROM posts_search_idx) AS n`).get()?.n ?? NaN;
}

/** Makes the index anew, and stops when so few posts are left. */
export async function untilIndexed(hub: Hub, isEnough: (left: number) => boolean): Promise<void> {
  await indexAnew(hub.handle, { get aborted() { return isEnough(waitingPosts(hub)); } } as AbortSignal);
}

/** Takes the newest post out of the index. */
export function loseWords({ db }: Stored): void {
  db.exec('DELETE FROM posts_words WHERE rowid = (SELECT MAX(search_key) FROM posts)');
}

/** Makes one segment of all segments of the search index. */
export function mergeSearchIndex(db: Stored['db']): void {
  db.exec(`INSERT INTO posts_words (posts_words) VALUES ('optimize')`);
}
