import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { MIGRATIONS } from './migrated-database.ts';
import { addPosts } from './stored-posts.ts';
import { temporaryFolder } from './temporary-project.ts';

type Entry = {
  account_id: number; post_id: number; source_id: number; published_at: number; place: number; is_unread: number;
  marked_at: number | null; act: number | null; starred_at: number | null; muted_by: string | null; row_id: number | null;
};

/** The database of a hub of version 2.0.0: accounts 1 (an administrator) to 4, sources 1 to 6, of which 5 and 6 are private, and rules 1 to 8. */
export function oldHub(t: TestContext): Db {
  const db = openDatabase(join(temporaryFolder(t), 'hub.db'));
  t.after(() => db.close());
  migrate(db, MIGRATIONS.slice(0, 41), Date.now);
  db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4)
      INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      SELECT i, 'a' || i, 'A', iif(i = 1, 'admin', 'member'), '', 0, 0 FROM n;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6)
      INSERT INTO sources (id, owner_id, kind, title, visibility, created_at, updated_at)
      SELECT i, 1 + i % 4, 'native', 'S', iif(i > 4, 'private', 'public'), 0, 0 FROM n;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8)
      INSERT INTO rules (id, account_id, match, act, version, created_at) SELECT i, 1 + i % 4, 'x', 'mute', i, 0 FROM n`);
  return db;
}

/** Fills the tables of reading at random; returns the entries that they should become. */
export function fillLists(db: Db, below: (limit: number) => number): Entry[] {
  const run = (sql: string, ...values: unknown[]) => void db.prepare<unknown[]>('fill', sql).run(...values);
  const posts = Array.from({ length: 120 }, () => 1 + below(6)).flatMap((sourceId) =>
    [below(1_000)].flatMap((published_at) =>
      addPosts({ db }, sourceId, 1, () => ({ publishedAt: published_at })).map((id) => ({ id, sourceId, published_at }))));
  const rowIds = new Map(posts.filter(() => below(4) === 0).map(({ id }) => [id, 1 + below(9)]));
  for (const { id, sourceId } of posts) {
    if (rowIds.has(id)) run('INSERT INTO doubles (post_id, source_id, row_id) VALUES (?, ?, ?)', id, sourceId, rowIds.get(id));
  }
  for (const table of ['read_marks', 'stars', 'muted_posts']) run(`DELETE FROM ${table}`); // what triggers made of doubles
  const wanted: Entry[] = [];
  for (let account = 1; account <= 4; account++) {
    const followed = new Map([1, 2, 3, 4, 5, 6].filter(() => below(2) === 0).map((id) =>
      [id, { readUpTo: below(140), hidden: below(2) }]));
    for (const [id, { readUpTo, hidden }] of followed) {
      run('INSERT INTO follows (account_id, source_id, read_up_to, hide_globally, created_at) VALUES (?, ?, ?, ?, 0)',
        account, id, readUpTo, hidden);
    }
    for (const { id, sourceId, published_at } of posts) {
      const follow = followed.get(sourceId);
      const mark = below(4) === 0 ? { isRead: below(2), at: below(100) } : undefined;
      const starredAt = below(6) === 0 ? below(100) : null;
      const rules = [account + 3 - 4 * Number(account > 1), account + 7 - 4 * Number(account > 1)].filter(() => below(9) === 0);
      if (mark) run('INSERT INTO read_marks VALUES (?, ?, ?, ?, ?)', account, sourceId, id, mark.isRead, mark.at);
      if (starredAt !== null) run('INSERT INTO stars VALUES (?, ?, ?, ?, ?)', account, id, sourceId, published_at, starredAt);
      for (const rule of rules) run('INSERT INTO muted_posts VALUES (?, ?, ?, ?, ?)', account, sourceId, id, rule, published_at);
      if (!follow && !mark && starredAt === null && rules.length === 0) continue;
      const sees = sourceId <= 4 || account === 1 || 1 + sourceId % 4 === account;
      const isRead = mark ? mark.isRead === 1 : id <= (follow?.readUpTo ?? 0);
      wanted.push({
        account_id: account, post_id: id, source_id: sourceId, published_at, place: follow && sees ? 2 - follow.hidden : 0,
        is_unread: isRead ? 0 : 1, marked_at: mark?.at ?? null, act: null, starred_at: starredAt,
        muted_by: rules.length > 0 ? JSON.stringify(rules) : null, row_id: rowIds.get(id) ?? null,
      });
    }
  }
  return wanted;
}

/** What a member of version 2.0.0 chose for a list. */
export function chooseOrder(db: Db, list: string, order: 'newest' | 'oldest'): void {
  db.prepare<[string, string]>('choice of 2.0.0', `INSERT INTO list_choices (account_id, list, sort_order, show, chosen_at)
    VALUES (1, ?, ?, 'all', 5)`).run(list, order);
}
