import type { Stored } from './stored-rows.ts';

/** Adds empty posts to a source of account 1, without a place in the search index. Returns the id of the last. */
export function addEmptyPosts({ db }: Stored, sourceId: number, count: number): number {
  return db.prepare<[{ sourceId: number; count: number }]>('empty posts', `
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @count)
    INSERT INTO posts (source_id, owner_id, guid, is_public, title, content_html, summary, content_hash, published_at,
                       updated_at, created_at)
    SELECT @sourceId, 1, 'x' || i, 1, '', '', '', '', i, i, i FROM n`).run({ sourceId, count }).lastInsertRowid;
}

/** Changes a title past everything that watches over it. */
export function setTitle({ db }: Stored, id: number, title: string): void {
  db.prepare<[string, number]>('set title', 'UPDATE posts SET title = ? WHERE id = ?').run(title, id);
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
