import { DAY, MINUTE } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { counts, store, type StoreHub } from '../hub/hub.ts';
import {
  findPosts, postsSearch, prepareFind, type FoundPosts, type PostSearch, type SearchedIndexes,
} from '../posts/find-posts-store.ts';
import { prepareWordsFrom, wordsOfAll } from '../posts/index-words-store.ts';
import { POSTS, type Post, type SearchTerms } from '../posts/post-store.ts';
import { FULL_TEXTS_WORDS, POSTS_WORDS, prepareIndexing } from '../posts/search-index-store.ts';
import { contentWords } from '../posts/read-words.ts';
import { prepareIndex } from '../posts/stretches-store.ts';
import { joinSource } from '../sources/source-store.ts';

/** The result of fetching a post's page. `failures`: failed fetches of this version of the post. Times in unix ms. */
export type FullTextRow = {
  state: 'waiting' | 'ready' | 'refused' | 'failed';
  reason: string | null;
  detail: string | null;
  isAsked: number;
  failures: number;
  version: number;
  dueAt: number | null;
  usedAt: number;
  isCut: number;
};

type DueFullText = { postId: number; ownerId: number; url: string | null; isAsked: number };

/** The reason why a fetch brought no full text, and the time of the next fetch; null if no fetch follows. */
export type NoFullText = Pick<FullTextRow, 'reason' | 'detail' | 'failures' | 'dueAt'> & {
  state: 'refused' | 'failed';
  bytes?: number | null; // the size of a text that is too large for the hub
};

type KeptText = { isCut: 0 | 1; contentHtml: string; bytes: number };
/** `ask` and `want` begin with the time as the version, because a post that is published again keeps its old id. */
type Version = { postId: number; version: number };

/** A page that could not be fetched is fetched once more after this time. */
export const REPEATED_AFTER = DAY;

/** After this time the schedule plans a waiting full text again, because its job may be lost. */
const LOST_AFTER = 10 * MINUTE;

/**
 * The hub reads this many posts that have been due longest, and this many that have been due shortest (a few ms), so
 * that an owner with very many due posts does not delay the posts of other owners.
 */
const DUE_READ = 500;

const TIMES: StoredTime[] = [
  { table: 'full_texts', column: 'due_at', furthest: REPEATED_AFTER },
  { table: 'full_texts', column: 'used_at', furthest: 0 },
];

export const fullTexts = store((hub) => {
  const { db, clock } = hub;
  const [sql, words] = [prepareFullTexts(db), prepareWords(db)];
  const bytes = (): number => counts(hub).value('full_text_bytes');

  return {
    find: sql.find.get,
    contentOf: (postId: number): string | undefined => sql.contentOf.get(postId)?.contentHtml,
    /** The bytes of full texts by post id, only of posts whose source always has full texts. */
    sizesForApps: (postIds: number[]): Map<number, number> =>
      new Map(sql.sizesForApps.all(JSON.stringify(postIds)).map(({ id, bytes }) => [id, bytes])),

    /** Makes a post wait for its full text after a member asked for it, in the caller's transaction. */
    ask: (postId: number): void => void sql.ask.run({ postId, now: clock(), dueAt: clock() + LOST_AFTER }),
    /** Makes a post wait for its full text, unless it waits or its page was fetched, in the caller's transaction. */
    want: (postId: number): void => void sql.want.run({ postId, now: clock() }),
    /**
     * Takes posts that are due for a full text, in the caller's transaction. The owners of the posts' sources take
     * turns; owners for whom `isBusy` returns true, because their earlier jobs still wait, are left out.
     */
    takeDue(limit: number, isBusy: (ownerId: number) => boolean): DueFullText[] {
      const all = sql.due.all({ now: clock() });
      const busy = new Set([...new Set(all.map(({ ownerId }) => ownerId))].filter(isBusy));
      const due = all.filter(({ ownerId }) => !busy.has(ownerId)).slice(0, limit);
      for (const { postId } of due) sql.postpone.run(clock() + LOST_AFTER, postId);
      return due;
    },

    /**
     * `settle` and `keep` return false, and change nothing, if the post has changed since the fetch began or waits no
     * more; `settle` also if robots.txt is the reason, and a member has asked meanwhile.
     */
    settle: (of: Version, how: NoFullText): boolean => sql.settle.run({ bytes: null, ...of, ...how }).changes === 1,
    keep: (of: Version, text: KeptText): boolean => sql.keep.run({ ...of, ...text, now: clock() }).changes === 1,
    /** Notes that a reader has got full texts, for each text at most once in `resolution` ms. */
    noteUse(postIds: number[], resolution: number): void {
      const now = clock();
      const unused = sql.notUsedSince.all(JSON.stringify(postIds), now - resolution);
      for (const { postId } of unused) sql.touch.run(now, postId);
    },
    /** Makes up to `limit` posts wait for full texts that were too large for the hub before, but fit `maxBytes`. */
    wantFitting: (maxBytes: number, limit: number): number =>
      sql.wantFitting.run({ maxBytes, limit, now: clock() }).changes,
    /** Removes at most `limit` full texts, the longest unread first, until `maxBytes` suffice, but never `spared`. */
    evict(maxBytes: number, limit: number, spared = 0): number {
      for (let removed = 0; ; removed++) {
        const next = removed < limit && bytes() > maxBytes ? sql.longestUnread.get(spared) : undefined;
        if (!next) return removed;
        sql.remove.run(next.postId);
      }
    },
    clear: sql.clear.change,
    forgetRemoved: words.forgetRemoved,
    bringBackTimes: createTimeRepair(db, clock, TIMES),

    unindexed: (limit: number): number[] => words.unindexed.all(limit).map(({ postId }) => postId),
    /** Makes the words of a post's full text be indexed anew, in the caller's transaction. */
    forgetWords: words.forget.run,
    /** Adds the words of a post and its full text to the index of full texts. In the caller's transaction. */
    index(post: Post, terms: SearchTerms): void {
      const { id, searchKey } = post;
      if (words.setKey.run(searchKey, id).changes === 1) {
        words.insert(searchKey, { ...post, ...terms });
      }
    },
  };
});

function endOfDue(order: 'ASC' | 'DESC'): string {
  return `
    SELECT post_id FROM (
      SELECT post_id FROM full_texts WHERE due_at <= @now ORDER BY due_at ${order} LIMIT ${DUE_READ})`;
}

function prepareFullTexts(db: Db) {
  return {
    find: db.prepare<[postId: number], FullTextRow>('full text', `
      SELECT state, reason, detail, is_asked AS isAsked, failures, version, due_at AS dueAt, used_at AS usedAt,
             is_cut AS isCut FROM full_texts WHERE post_id = ?`),
    contentOf: db.prepare<[number], { contentHtml: string }>('content of full text',
      'SELECT content_html AS contentHtml FROM full_texts WHERE post_id = ? AND content_html IS NOT NULL'),
    sizesForApps: db.prepare<[string], { id: number; bytes: number }>('sizes of full texts for apps', `
      SELECT t.post_id AS id, octet_length(t.content_html) AS bytes
        FROM json_each(?) j CROSS JOIN full_texts t ON t.post_id = j.value AND t.content_html IS NOT NULL
        CROSS JOIN ${POSTS} p ON p.id = t.post_id
        CROSS JOIN full_text_sources f ON f.source_id = p.source_id AND f.is_always = 1`),
    ask: db.prepare<[{ postId: number; now: number; dueAt: number }]>('ask for full text', `
      INSERT INTO full_texts (post_id, state, is_asked, due_at, used_at, version)
      VALUES (@postId, 'waiting', 1, @dueAt, @now, @now)
      ON CONFLICT DO UPDATE SET state = 'waiting', is_asked = 1, due_at = @dueAt, reason = NULL, detail = NULL,
             failures = IIF(reason = 'robots', 0, failures)`), // a page that robots.txt kept back was never tried
    want: db.prepare<[{ postId: number; now: number }]>('want full text', `
      INSERT INTO full_texts (post_id, state, due_at, used_at, version) VALUES (@postId, 'waiting', @now, @now, @now)
      ON CONFLICT DO NOTHING`),
    due: db.prepare<[{ now: number }], DueFullText>('full texts that are due', `
      SELECT postId, ownerId, url, isAsked FROM (
        SELECT t.post_id AS postId, s.owner_id AS ownerId, p.url, t.is_asked AS isAsked, t.due_at AS dueAt,
               row_number() OVER (PARTITION BY s.owner_id ORDER BY t.due_at) AS turn
          FROM (${endOfDue('ASC')} UNION ${endOfDue('DESC')}) d CROSS JOIN full_texts t ON t.post_id = d.post_id
          CROSS JOIN ${POSTS} p ON p.id = t.post_id CROSS ${joinSource('p.source_id')})
       ORDER BY turn, dueAt`),
    postpone: db.prepare<[number, number]>('postpone full text',
      `UPDATE full_texts SET state = 'waiting', due_at = ? WHERE post_id = ?`),
    settle: db.prepare<[Version & NoFullText]>('settle full text', `
      UPDATE full_texts SET state = @state, reason = @reason, detail = @detail, failures = @failures, due_at = @dueAt,
             bytes = @bytes
       WHERE post_id = @postId AND version = @version AND state = 'waiting'
         AND NOT (is_asked = 1 AND @reason IS 'robots')`), // robots.txt does not apply to a page that a member wants
    keep: db.prepare<[Version & KeptText & { now: number }]>('keep full text', `
      UPDATE full_texts SET state = 'ready', reason = NULL, detail = NULL, due_at = NULL, used_at = @now,
             is_cut = @isCut, bytes = @bytes, content_html = @contentHtml
       WHERE post_id = @postId AND version = @version AND state = 'waiting'`),
    notUsedSince: db.prepare<[string, number], { postId: number }>('full texts that were not used since', `
      SELECT t.post_id AS postId FROM json_each(?) j CROSS JOIN full_texts t ON t.post_id = j.value
       WHERE t.used_at <= ?`),
    touch: db.prepare<[number, number]>('note use of full text',
      'UPDATE full_texts SET used_at = ? WHERE post_id = ?'),
    wantFitting: db.prepare<[{ maxBytes: number; limit: number; now: number }]>('want full texts that fit now', `
      UPDATE full_texts SET state = 'waiting', reason = NULL, due_at = @now WHERE post_id IN (
        SELECT post_id FROM full_texts WHERE reason = 'no-room' AND bytes <= @maxBytes LIMIT @limit)`),
    longestUnread: db.prepare<[number], { postId: number }>('longest unread full text', `
      SELECT post_id AS postId FROM full_texts
       WHERE content_html IS NOT NULL AND post_id <> ? ORDER BY used_at, post_id LIMIT 1`),
    remove: db.prepare<[number]>('remove full text', 'DELETE FROM full_texts WHERE post_id = ?'),
    clear: db.prepare<[limit: number]>('remove some full texts',
      'DELETE FROM full_texts WHERE post_id IN (SELECT post_id FROM full_texts LIMIT ?)'),
  };
}

function prepareWords(db: Db) {
  return {
    unindexed: db.prepare<[number], { postId: number }>('full texts that are not indexed', `
      SELECT post_id AS postId FROM full_texts WHERE content_html IS NOT NULL AND search_key IS NULL
       ORDER BY post_id DESC LIMIT ?`),
    setKey: db.prepare<[number, number]>('set search key of full text',
      `
      UPDATE full_texts SET search_key = ?
       WHERE post_id = ? AND content_html IS NOT NULL AND search_key IS NULL`),
    forget: db.prepare<[postId: number]>('forget the words of full text',
      'UPDATE full_texts SET search_key = NULL WHERE post_id = ? AND search_key IS NOT NULL'),
    ...prepareIndexing(db, FULL_TEXTS_WORDS),
  };
}

export const membersSearch = store((hub): SearchedIndexes => {
  const ofPosts = postsSearch(hub);
  return {
    indexes: [...ofPosts.indexes, prepareIndex(hub.db, FULL_TEXTS_WORDS)],
    find: prepareFind(hub.db, [POSTS_WORDS, FULL_TEXTS_WORDS]),
    wordsFrom: wordsOfAll([ofPosts.wordsFrom, prepareWordsFrom(hub.db, FULL_TEXTS_WORDS)]),
    textsOf(postId) {
      const fullText = fullTexts(hub).contentOf(postId);
      return [...ofPosts.textsOf(postId), ...fullText === undefined ? [] : [contentWords(fullText)]];
    },
  };
});

/** Finds, for a member, the posts whose text in the feed or whose full text contains the typed words. */
export function findForMember(hub: StoreHub, query: PostSearch): FoundPosts {
  return findPosts(hub, query, membersSearch(hub));
}
