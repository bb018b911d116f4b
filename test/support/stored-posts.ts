import { searchIndex, type Indexable } from '../../src/features/posts/search-index-store.ts';
import type { Stored } from './stored-rows.ts';

type NewPost = { title: string; url: string | null; content: string; publishedAt: number; createdAt: number; leftAt: number | null };

type StoredPost = NewPost & { id: number; sourceId: number; ownerId: number; guid: string; isPublic: number };

/**
 * Adds so many posts to a source past the hub, and returns their ids. They were published 1, 2, 3 … ms after the
 * beginning of 1970 unless `fields` says otherwise of the nth, and are not in the search index.
 */
export function addPosts(
  { db }: Stored, sourceId: number, count: number, fields: (n: number) => Partial<NewPost> = () => ({}),
): number[] {
  const insert = db.prepare<[NewPost & { sourceId: number }], { id: number }>('add post', `
    INSERT INTO posts (source_id, owner_id, is_public, guid, title, url, content_html, summary, content_hash, published_at,
                       updated_at, created_at, left_at)
    SELECT id, owner_id, visibility = 'public', lower(hex(randomblob(8))), @title, @url, @content, '', '', @publishedAt,
           @createdAt, @createdAt, @leftAt FROM sources WHERE id = @sourceId RETURNING id`);
  const add = (n: number): number => {
    const given = fields(n);
    const { publishedAt = n } = given;
    const row = { sourceId, title: 'x', url: null, content: 'x', publishedAt, createdAt: publishedAt, leftAt: null, ...given };
    return insert.get(row)?.id ?? NaN;
  };
  return db.write('add posts', () => Array.from({ length: count }, (_, index) => add(index + 1)));
}

/** Changes the time of a post, as a feed that gives it another. */
export function publishAt({ db }: Stored, id: number, publishedAt: number): void {
  db.exec(`UPDATE posts SET published_at = ${publishedAt} WHERE id = ${id}`);
}

/** Adds a copy of each post, which has this id of the publisher and address, and has left its feed. */
export function doublePosts({ db }: Stored, guid: string): void {
  const kept = db.prepare<[], { name: string }>('columns of posts', `
    SELECT name FROM pragma_table_info('posts') WHERE name NOT IN ('id', 'guid', 'url', 'left_at', 'search_key')`);
  const others = kept.all().map(({ name }) => name).join();
  db.prepare<[object]>('double posts', `
    INSERT INTO posts (guid, url, left_at, search_key, ${others})
    SELECT @guid, @guid, 1, search_key - 1, ${others} FROM posts`).run({ guid });
}

/** All posts, in the order of their ids. */
export function storedPosts({ db }: Stored): StoredPost[] {
  return db.prepare<[], StoredPost>('stored posts', `
    SELECT id, source_id AS sourceId, owner_id AS ownerId, guid, is_public AS isPublic, title, url,
           content_html AS content, published_at AS publishedAt, created_at AS createdAt, left_at AS leftAt
      FROM posts ORDER BY id`).all();
}

/** Puts the posts that are not in the search index there, with their titles and this text. */
export function indexPosts(hub: Stored & { clock: () => number }, searchText = ''): void {
  const rows = hub.db.prepare<[], Omit<Indexable, 'searchText'>>('posts without words', `
    SELECT id, source_id AS sourceId, published_at AS publishedAt, search_key AS searchKey, is_public AS isPublic,
           owner_id AS ownerId, title AS searchTitle FROM posts WHERE search_key IS NULL`).all();
  hub.db.write('index posts', () => rows.forEach((row) => searchIndex(hub).put({ ...row, searchText })));
}

/** How many posts each word of the search index leads to. */
export function indexedWords({ db }: Stored): { word: string; posts: number }[] {
  db.exec('CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab (main, posts_words, row)');
  return db.prepare<[], { word: string; posts: number }>('words', 'SELECT term AS word, doc AS posts FROM temp.terms').all();
}

/** Bytes of the search index's pages. */
export function indexBytes({ db }: Stored): number {
  const select = db.prepare<[], { pages: number }>('index pages',
    'SELECT COUNT(*) AS pages FROM posts_words_data WHERE id > 137438953471');
  return (select.get()?.pages ?? NaN) * 4096;
}

/** Gives all posts, or that one, another title past everything that watches over it. */
export function retitlePosts({ db }: Stored, title: string, id: number | null = null): void {
  const update = db.prepare<[object]>('retitle posts', 'UPDATE posts SET title = @title WHERE id = COALESCE(@id, id)');
  update.run({ title, id });
}

/** Makes the content of each post 400,000 characters of chance, which no compression makes short. */
export function lengthenPosts({ db }: Stored): void {
  db.exec('UPDATE posts SET content_html = hex(randomblob(200000))');
}

/** Changes a content past the sanitiser. */
export function setContent({ db }: Stored, id: number, html: string): void {
  db.prepare<[string, number]>('set content', 'UPDATE posts SET content_html = ? WHERE id = ?').run(html, id);
}

/** Deletes a post without a tombstone. */
export function losePost({ db }: Stored, id: number): void {
  db.prepare<[number]>('lose post', 'DELETE FROM posts WHERE id = ?').run(id);
}

/** Lets the post with that id of its publisher fail to be stored; returns what ends that. */
export function failPost({ db }: Stored, guid: string): () => void {
  db.exec(`CREATE TRIGGER fail_post BEFORE INSERT ON posts WHEN NEW.guid = '${guid}'
    BEGIN SELECT RAISE(ABORT, 'made to fail'); END`);
  return () => db.exec('DROP TRIGGER fail_post');
}

/** What posts have together of the money that `writing-to-backup.ts` moves between them. */
export function moneyIn({ db }: Stored): number {
  return db.prepare<[], { sum: number }>('money', 'SELECT SUM(updated_at) AS sum FROM posts').get()?.sum ?? NaN;
}

/** Forgets how posts were written, as if version 1.0.0 had stored them. */
export function forgetTexts({ db }: Stored): void {
  db.prepare<[]>('forget texts', 'DELETE FROM post_texts').run();
}
