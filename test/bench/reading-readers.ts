import type { Db } from '../../src/platform/db/open-database.ts';
import type { Hub } from '../../src/features/hub/hub.ts';
import { linkKey, links } from '../../src/features/posts/link-store.ts';
import { searchIndex } from '../../src/features/posts/search-index-store.ts';
import { mutedPosts, type EntryRow } from '../../src/features/reading/entry-store.ts';
import { savedSearches, SEARCHES_MAX } from '../../src/features/reading/saved-search-store.ts';
import { ACTS, RULES_MAX } from '../../src/features/rules/rule-store.ts';
import { settleEntries } from '../../src/features/reading/settle-entries.ts';
import { DAY } from '../../src/platform/clock.ts';
import { randomBelow } from '../support/random.ts';
import { newDatabase } from './bench-hub.ts';
import { madeUpWords } from './made-up-words.ts';

/** When the last post was published. */
export const NOW = Date.now();

const SIZES = { posts: 100_000, sources: 1_000, members: 20, follows: 300 };

/** Of each member; a tenth of the sources are in none. */
const FOLDERS = 12;

/** One post in so many is a long article. */
const LONG_EVERY = 500;

/** One post in so many has the link of the post before it, which is mostly a post of another source. */
const DOUBLE_EVERY = 30;

/** One in so many posts that a member follows is muted. */
const MUTED_EVERY = 30;

/** A post that most readers have not read yet, and that is long. */
export const LONG_POST = 99_500;

/** Of the posts' words: one that stands in most of them, and one in few. */
export function readableWords(): { commonest: string; rarer: string } {
  const { all } = madeUpWords(WORDS);
  return { commonest: all[0] ?? '', rarer: all[3_000] ?? '' };
}

/** Where the words of posts begin. */
const WORDS = 3;

/** The kinds of readers, by the id of their account. */
export const READERS = {
  'caught up but for 40': 1, 'half at random': 2, 'never': 3, 'the newest 2 %': 4, 'four of five at random': 5,
  'all but 1 % at random': 6,
} as const;

/**
 * A year of posts: some sources are busy, one post in twenty arrives up to a week after it was published. Members
 * follow some of the sources and have read as READERS says; the others 70 to 99 % at random.
 */
export async function fillReadingLists(path: string, { posts, sources, members, follows } = SIZES): Promise<void> {
  const db = newDatabase(path);
  db.pragma('synchronous = OFF');
  const below = randomBelow(7);
  db.exec('BEGIN');
  db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${members})
      INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      SELECT i, 'member' || i, 'Member', 'member', '', 0, 0 FROM n;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${sources})
      INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at)
      SELECT i, 1 + i % ${members}, 'feed', 'Source ' || i, 0, 0 FROM n`);
  nameSources(db, sources);
  const sourceOf = addPosts(db, below, posts, sources);
  for (let accountId = 1; accountId <= members; accountId++) {
    addMember(db, below, accountId, sourceOf, { sources, follows });
    addRulesAndSearches(db, below, accountId);
  }
  db.exec('COMMIT');
  db.exec('ANALYZE');
  db.close();
}

function nameSources(db: Db, sources: number): void {
  const { title } = madeUpWords(5);
  const name = db.prepare<[string, number]>('name source', 'UPDATE sources SET title = ? WHERE id = ?');
  for (let id = 1; id <= sources; id++) name.run(title(1 + (id % 3)), id);
}

/** The source of each post by its id. */
function addPosts(db: Db, below: (limit: number) => number, posts: number, sources: number): number[] {
  const insert = db.prepare<[Record<string, string | number>]>('post', `
    INSERT INTO posts (id, source_id, owner_id, is_public, guid, title, url, author, summary, content_hash, content_html,
                       published_at, updated_at, created_at)
    VALUES (@id, @sourceId, 1 + @sourceId % 20, 1, @guid, @title, @url, 'Somebody', @summary, 'x',
            @content, @publishedAt, @at, @at)`);
  const index = searchIndex({ db, clock: Date.now });
  const { words, title } = madeUpWords(WORDS);
  const sourceOf = [0];
  for (let id = 1; id <= posts; id++) {
    const sourceId = below(4) === 0 ? 1 + below(Math.ceil(sources / 50)) : 1 + below(sources);
    const at = NOW - Math.floor(((posts - id) / posts) * 365 * DAY);
    const publishedAt = below(20) === 0 ? at - below(7 * DAY) : at - below(3_600_000);
    const isLong = id % LONG_EVERY === 0;
    const texts = { title: title(5 + below(8)), summary: words(40), body: words(isLong ? 1_200 : 60) };
    const content = `<p>${texts.body.replaceAll(/((?:\S+ ){60})/g, '$1</p><p>')}</p>`;
    const url = `https://example.org/${id % DOUBLE_EVERY === 0 ? id - 1 : id}`;
    insert.run({ id, guid: String(id), url, sourceId, at, publishedAt, content, title: texts.title, summary: texts.summary });
    links({ db, clock: Date.now }).put({ id, sourceId, isNew: true }, linkKey(url));
    const readers = { isPublic: 1, ownerId: 1 + sourceId % 20 };
    index.put({ id, sourceId, publishedAt, searchKey: null, ...readers, searchTitle: texts.title, searchText: texts.body });
    sourceOf.push(sourceId);
  }
  return sourceOf;
}

/** How much of what they follow accounts have read at random, in per cent. */
const SHARES: Record<number, number> = { 1: 0, 2: 50, 3: 0, 4: 0, 5: 80, 6: 99 };

function addMember(
  db: Db, below: (limit: number) => number, accountId: number, sourceOf: number[],
  { sources, follows }: { sources: number; follows: number },
): void {
  const follow = db.prepare<[number, number, number]>('follow',
    'INSERT INTO follows (account_id, source_id, read_up_to, created_at) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING');
  const mark = db.prepare<[number, number, number]>('mark',
    'UPDATE entries SET is_unread = ?, marked_at = 1 WHERE account_id = ? AND post_id = ? AND marked_at IS NULL');
  const followed = new Set<number>();
  while (followed.size < follows) followed.add(1 + below(sources));
  const last = sourceOf.length - 1;
  const isCaughtUp = accountId === READERS['caught up but for 40'];
  for (const sourceId of followed) follow.run(accountId, sourceId, isCaughtUp ? last : 0);
  putIntoFolders(db, accountId);
  settleEntries({ db } as Hub, Number.MAX_SAFE_INTEGER);
  const share = SHARES[accountId] ?? 70 + below(30);
  let unread = 40;
  for (let id = 1; id <= last; id++) {
    const sourceId = sourceOf[id] ?? 0;
    if (!followed.has(sourceId)) continue;
    if (isCaughtUp && unread > 0 && id > last / 4 && below(100) === 0) unread -= mark.run(1, accountId, id).changes;
    const isRead = accountId === READERS['the newest 2 %'] ? id > last * 0.98 : below(100) < share;
    if (!isCaughtUp && isRead) mark.run(0, accountId, id);
  }
}

/** Rules, which have muted one in MUTED_EVERY of the posts that the account follows, and saved searches of all kinds. */
function addRulesAndSearches(db: Db, below: (limit: number) => number, accountId: number): void {
  const { all } = madeUpWords(WORDS);
  const word = (): string => all[below(all.length)] ?? '';
  const rule = db.prepare<[number, string, string, number]>('rule',
    'INSERT INTO rules (account_id, match, act, version, created_at) VALUES (?, ?, ?, ?, 0)');
  const ids = Array.from({ length: RULES_MAX }, (_, n) =>
    rule.run(accountId, `title:${word()} -${word()}`, ACTS[n % ACTS.length] ?? 'mute', accountId * RULES_MAX + n).lastInsertRowid);
  const followed = db.prepare<[number], { id: number }>('posts of follows', `
    SELECT p.id FROM follows f CROSS JOIN posts p ON p.source_id = f.source_id WHERE f.account_id = ?`).all(accountId);
  const muted = followed.filter(() => below(MUTED_EVERY) === 0);
  mutedPosts({ db, clock: () => NOW }).mute(muted.map(({ id }): EntryRow =>
    [accountId, id, ids[ACTS.length * below(RULES_MAX / ACTS.length)] ?? 0]));
  const kinds = [
    () => word(), () => `${word()} ${word()}`, () => `title:${word()} OR title:${word()}`, () => `${word().slice(0, 4)}* -${word()}`,
    () => `${all[0]}`, () => `${all[1]} is:starred`, () => `author:somebody ${word()}`, () => `"${all[0]} ${all[2]}"`,
    () => `${word()} after:2020-01-01`, () => `source:${madeUpWords(5).all[0]} ${word()}`,
  ];
  for (let n = 0; n < SEARCHES_MAX; n++) {
    const q = kinds[n % kinds.length]?.() ?? '';
    savedSearches({ db, clock: () => NOW }).add(accountId, q, q);
  }
}

function putIntoFolders(db: Db, accountId: number): void {
  const { title } = madeUpWords(9);
  const make = db.prepare<[number, string]>('folder', 'INSERT INTO folders (account_id, name) VALUES (?, ?)');
  const fill = db.prepare<[number, number, number]>('fill folder', `
    UPDATE follows SET folder_id = ? WHERE account_id = ? AND source_id % 10 <> 0 AND source_id / 10 % ${FOLDERS} = ?`);
  for (let index = 0; index < FOLDERS; index++) {
    fill.run(make.run(accountId, `${title(1)} ${index}`).lastInsertRowid, accountId, index);
  }
}
