import type { Hub } from '../../src/features/hub/hub.ts';
import { settleEntries } from '../../src/features/reading/settle-entries.ts';
import { factsOf } from '../../src/features/posts/blocks.ts';
import { searchKey } from '../../src/features/posts/search-index-store.ts';
import { DAY } from '../../src/platform/clock.ts';
import { randomBelow } from '../support/random.ts';
import { newDatabase } from './bench-hub.ts';
import { madeUpWords } from './made-up-words.ts';

const SOURCES = 1_000;
const FOLLOWED = 300;
export const NOW = Date.UTC(2026, 10, 1);

/** Posts with each of the words that never meet: one in so many. */
const APART = 20;

/**
 * A hub with so many posts of three years, with the rows and words that the hub makes of short posts, in a fraction of
 * its time. `evenly` and `oddly` never meet, `deepword` is in one post in a thousand of the older half, `onceword` in
 * the oldest post. Account 1 follows 300 of 1,000 sources, has read all but the newest of them, and starred 1 in 2,000.
 */
export function fillSearch(path: string, posts: number): void {
  const db = newDatabase(path, () => NOW);
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -400000');
  db.exec(`
    BEGIN;
    INSERT INTO posts_words (posts_words, rank) VALUES ('hashsize', 33554432);
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0), (2, 'ben', 'Ben', 'member', '', 0, 0);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SOURCES})
      INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at)
      SELECT i, 1, 'feed', 'Gazette ' || (i % 50), 0, 0 FROM n`);
  const insert = db.prepare<[object]>('post', `
    INSERT INTO posts (id, source_id, owner_id, is_public, guid, title, url, author, summary, content_hash, content_html,
                       published_at, updated_at, created_at, search_key)
    VALUES (@id, @sourceId, 1, 1, @guid, @title, NULL, @author, @body, 'x', @content, @at, @at, @at, @key)`);
  const index = db.prepare<[number, string, string, string]>('index post',
    'INSERT INTO posts_words (rowid, title, body, facts) VALUES (?, ?, ?, ?)');
  const { words, title, all } = madeUpWords(3);
  const below = randomBelow(7);
  for (let id = 1; id <= posts; id++) {
    const at = NOW - Math.floor(((posts - id) / posts) * 3 * 365) * DAY - below(DAY / 1_000) * 1_000;
    const sourceId = 1 + below(SOURCES);
    const special = [
      id % APART === 0 ? 'evenly' : id % APART === 1 ? 'oddly' : '', id % 3 === 0 ? '天気予報' : '',
      id < posts / 2 && id % 1_000 === 7 ? 'deepword' : '', id === 1 ? 'onceword' : '',
    ].join(' ');
    const [body, author] = [`${words(20)} ${special}`, `Author ${all[below(all.length)]}`];
    const post = { id, sourceId, title: title(6), body: body.slice(0, 200), author, content: `<p>${body}</p>`, guid: String(id), at };
    const key = searchKey(at, id);
    insert.run({ ...post, key });
    const terms = `${author}\n${body.replace('天気予報', '天気 気予 予報 報')}`;
    index.run(key, post.title, terms, factsOf(key, { sourceId, isPublic: 1, ownerId: 1 }));
  }
  db.exec(`
    INSERT INTO folders (id, account_id, name) VALUES (1, 1, 'News'), (2, 2, 'News');
    INSERT INTO follows (account_id, source_id, read_up_to, folder_id, created_at)
      SELECT a.id, s.id, CASE a.id WHEN 1 THEN ${Math.floor(posts * 0.98)} ELSE 0 END, CASE WHEN s.id % 10 = 0 THEN a.id END, 0
        FROM accounts a, sources s WHERE s.id <= ${FOLLOWED}`);
  settleEntries({ db } as Hub, Number.MAX_SAFE_INTEGER);
  db.exec(`
    UPDATE entries SET starred_at = published_at WHERE account_id = 1 AND post_id % 2000 = 0;
    INSERT INTO posts_words (posts_words, rank) VALUES ('hashsize', 1048576);
    COMMIT;
    PRAGMA optimize`);
  db.close();
}

/** Searches of such a hub: of every operator, for words that are common, rare, old, or never meet. */
export function searches(): string[] {
  const { all: [common = '', second = '', ...others] } = madeUpWords(3);
  const mid = others[298] ?? '';
  return [
    common, `${common} ${second} `, mid, mid.slice(0, 3), 'onceword', 'deepword', 'evenly oddly ', '"evenly oddly"',
    `"${common} ${second}"`, `${mid} -${common}`, `${mid} before:2025-01-01`, `${mid} after:2026-06-01`, `title:${mid}`,
    `author:${mid}`, `source:"Gazette 7" ${mid}`, `in:News ${mid}`, '天気', '天', `is:starred ${mid}`, 'is:starred',
    `is:unread ${mid}`, 'before:2025-01-01',
  ];
}
