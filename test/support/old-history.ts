import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { putDatabase } from './migrated-database.ts';

const READERS = 1_000;

/**
 * A database in which a thousand accounts have read as many posts each as make up that many rows, all of them in 2001
 * and each within a day of its publication. `content` stands in every post.
 */
export function fillWithOldHistory(path: string, rows: number, content = 'x'): void {
  const posts = Math.ceil(rows / READERS);
  putDatabase(path);
  const db = openDatabase(path);
  db.pragma('synchronous = OFF');
  db.exec(`
    BEGIN;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${READERS})
      INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      SELECT i, 'reader' || i, 'Reader', 'member', '', 0, 0 FROM n;
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at) VALUES (1, 1, 'native', 'Notes', 0, 0);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${posts})
      INSERT INTO posts (id, source_id, owner_id, guid, is_public, title, content_html, summary, content_hash,
                         published_at, updated_at, created_at)
      SELECT i, 1, 1, i, 1, 'Post ' || i, '${content}', '${content}', i, i, i, i FROM n;
    INSERT INTO reading_history (account_id, post_id, read_at)
      SELECT a.id, p.id, 1000000000000 + p.id * 3600000 + (p.id * 7919 + a.id * 104729) % 86400000
        FROM accounts a, posts p;
    COMMIT;`);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** Has the database note what each transaction of a removal took; gives the rows of each so far. */
export function watchRemovals(db: Db): () => number[] {
  db.exec(`
    CREATE TABLE steps (id INTEGER PRIMARY KEY, removed INTEGER NOT NULL) STRICT;
    CREATE TRIGGER note_step AFTER UPDATE OF removed ON retention_runs BEGIN
      INSERT INTO steps (removed) VALUES (json_extract(NEW.removed, '$.readingHistory')
                                          - COALESCE(json_extract(OLD.removed, '$.readingHistory'), 0));
    END`);
  const select = db.prepare<[], { removed: number }>('steps', 'SELECT removed FROM steps ORDER BY id');
  return () => select.all().map(({ removed }) => removed);
}
