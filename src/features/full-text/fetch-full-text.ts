import { createLanes } from '../../platform/limit-concurrency.ts';
import { RANKS } from '../../platform/jobs/job-queue.ts';
import { decodingText } from '../../platform/markup/decode-text.ts';
import { inSteps } from '../../platform/markup/in-steps.ts';
import { extractingText } from '../../platform/markup/plain-text.ts';
import { sanitizingHtml } from '../../platform/markup/sanitize-html.ts';
import type { OutboundResponse } from '../../platform/net/outbound-fetch.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { counts, enqueue, jobs, once, type Hub, type JobKind } from '../hub/hub.ts';
import { searchableText } from '../posts/ingest-posts.ts';
import { indexBytesOf } from '../posts/search-words.ts';
import { posts, type SearchTerms, type WholePost } from '../posts/post-store.ts';
import type { Failure, Refusal } from './explain-full-text.ts';
import { extractArticle } from './extract-article.ts';
import { fetchPage, PageFailed, PageRefused } from './fetch-page.ts';
import { fullTexts, REPEATED_AFTER, type FullTextRow, type NoFullText } from './full-text-store.ts';
import { sourceFullTexts } from './source-full-text-store.ts';
import { MAX_ARTICLE_LENGTH } from './write-article.ts';

/** A worker fetches up to this many pages at the same time, mostly waiting for sites, but parses one at a time. */
const FETCHED_AT_ONCE = 4;

/** The schedule enqueues few jobs at a time, so that the page that a member asks for is fetched soon. */
const PLANNED_AT_ONCE = 20;

/** After so many failed fetches of a post's page, the hub tries no more by itself, unless the post changes. */
const FETCHES = 2;

/** The transaction that stores a full text evicts at most this many others; the schedule evicts the rest. */
const EVICTED_AT_ONCE = 50;

const TEASER_SHARE = 1 / 3;

/** Words and signs at the ends of teasers, without spaces. */
const TEASER_ENDS = ['…', '...', 'readmore', 'continuereading', 'weiterlesen', 'lirelasuite'];

/** The result that counts the pages with a full text; the other results are reasons why there was none. */
export const READY = 'ready';

const lanes = once((_: Hub) => createLanes());

/** The operator can turn full texts off for everybody. */
export function hasFullTexts({ config }: Pick<Hub, 'config'>): boolean {
  return config.fullTextMaxBytes > 0;
}

export const fetchFullText: JobKind<{ postId: number }> = {
  name: 'fetch-full-text',
  key: ({ postId }) => String(postId),
  attempts: 2, // a page that cannot be fetched is a result, not a failed attempt of the job
  concurrency: FETCHED_AT_ONCE,
  afterRestore: 'discard', // the schedule enqueues new jobs for the full texts that wait
  stores: true,

  async run(hub, { postId }, signal) {
    const [row, post] = [fullTexts(hub).find(postId), posts(hub).find(postId)];
    if (row?.state !== 'waiting' || !post || !hasFullTexts(hub)) return;
    const found = await findFullText(hub, post, row, signal);
    return () => 'text' in found ? keep(hub, post, row, found) : settle(hub, post, row, found);
  },

  failed(hub, { postId }, _error, fate) {
    const [row, post] = [fullTexts(hub).find(postId), posts(hub).listed([postId])[0]];
    if (fate === 'failed' && row && post) settle(hub, post, row, failure('error', null, FETCHES));
  },
};

type FoundText = { text: string; isCut: boolean; terms: SearchTerms; bytes: number };

async function findFullText(
  hub: Hub, post: WholePost, { failures }: FullTextRow, signal: AbortSignal,
): Promise<FoundText | NoFullText> {
  if (post.url === null) return refusal('no-address');
  try {
    const isAsked = (): boolean => fullTexts(hub).find(post.id)?.isAsked === 1;
    const page = await fetchPage(hub, post.url, { isAsked, signal });
    const found = await lanes(hub)('page', signal, () => readPage(post, page));
    return found.bytes > hub.config.fullTextMaxBytes ? { ...refusal('no-room'), bytes: found.bytes } : found;
  } catch (error) {
    if (error instanceof PageRefused) return refusal(error.reason);
    if (error instanceof PageFailed) return failure(error.reason, error.message, failures + 1, hub.clock());
    throw error;
  }
}

async function readPage(post: WholePost, { url, headers, body }: OutboundResponse): Promise<FoundText> {
  const html = await inSteps(decodingText(body, headers['content-type'] ?? null));
  const teaser = await inSteps(extractingText(post.contentHtml));
  const found = await inSteps(extractArticle(html, { url, title: post.title, teaser }));
  if ('refused' in found) throw new PageRefused(found.refused);
  const text = await inSteps(sanitizingHtml(found.article.contentHtml.slice(0, MAX_ARTICLE_LENGTH), { baseUrl: url }));
  const words = await inSteps(extractingText(text));
  if (words === '') throw new PageRefused('empty');
  // A search may combine words of the feed's text with words of the full text.
  const terms = await searchableText(post, `${post.contentHtml}\n${text}`);
  const bytes = Buffer.byteLength(text) + indexBytesOf(terms.searchText);
  return { text, isCut: isTeaser(teaser, words), terms, bytes };
}

function isTeaser(teaser: string, words: string): boolean {
  const end = teaser.slice(-30).toLowerCase().replace(/[^\p{L}….]/gu, '');
  const isCut = TEASER_ENDS.some((sign) => end.endsWith(sign));
  return teaser.length < words.length * TEASER_SHARE || isCut && teaser.length < words.length;
}

function refusal(reason: Refusal): NoFullText {
  return { state: 'refused', reason, detail: null, failures: 0, dueAt: null };
}

function failure(reason: Failure, detail: string | null, failures: number, now = 0): NoFullText {
  return { state: 'failed', reason, detail, failures, dueAt: failures < FETCHES ? now + REPEATED_AFTER : null };
}

function keep(
  hub: Hub, { id: postId }: WholePost, { version }: FullTextRow, { text, isCut, terms, bytes }: FoundText,
): void {
  const post = posts(hub).listed([postId])[0];
  const kept = { isCut: isCut ? 1 : 0, contentHtml: text, bytes } as const;
  if (!post || !fullTexts(hub).keep({ postId, version }, kept)) return;
  fullTexts(hub).index(post, terms);
  fullTexts(hub).evict(hub.config.fullTextMaxBytes, EVICTED_AT_ONCE, postId);
  countResult(hub, post, 'ready', READY);
}

function settle(
  hub: Hub, post: { id: number; sourceId: number }, { version }: FullTextRow, how: NoFullText,
): void {
  if (!fullTexts(hub).settle({ postId: post.id, version }, how)) return;
  countResult(hub, post, how.state, how.reason ?? '');
}

function countResult(
  hub: Hub, { sourceId }: { sourceId: number }, result: 'ready' | 'refused' | 'failed', reason: string,
): void {
  counts(hub).add('full_texts_total', result, 1);
  sourceFullTexts(hub).addResult(sourceId, reason);
}

/** In the caller's transaction. `owner`: the account that owns the job. `isAsked`: a waiting job is due at once. */
export function enqueueFullText(
  hub: Hub, { postId, url, owner, isAsked }: { postId: number; url: string; owner: number; isAsked: boolean },
): void {
  const turn = { lane: URL.parse(url)?.host ?? '', owner, rank: isAsked ? RANKS.asked : RANKS.usual };
  if (!enqueue(hub, fetchFullText, { postId }, turn) && isAsked) jobs(hub).hurry(fetchFullText.name, String(postId));
}

/** Scheduled task: enqueues due full texts of owners who have no such job waiting. */
export function planFullTexts(hub: Hub): void {
  if (!hasFullTexts(hub) || !mayRecord(hub)) return;
  const isBusy = (owner: number): boolean =>
    [RANKS.asked, RANKS.usual].some((rank) => jobs(hub).waitOfOwner(fetchFullText.name, rank, owner) > 0);
  hub.db.write('plan full texts', () => {
    for (const { postId, ownerId, url, isAsked } of fullTexts(hub).takeDue(PLANNED_AT_ONCE, isBusy)) {
      enqueueFullText(hub, { postId, url: url ?? '', owner: ownerId, isAsked: isAsked === 1 });
    }
  });
}

/** Scheduled task. Full texts that a lower limit kept out are fetched again. If turned off, all are removed. */
export function evictFullTexts(hub: Hub, limit: number): number {
  if (!hasFullTexts(hub)) return fullTexts(hub).clear(limit);
  const { fullTextMaxBytes: maxBytes } = hub.config;
  return fullTexts(hub).wantFitting(maxBytes, limit) + fullTexts(hub).evict(maxBytes, limit);
}

/** Scheduled task: indexes full texts that are not, such as after the owner or visibility of their source changed. */
export async function indexFullTexts(hub: Hub, stopping: AbortSignal): Promise<void> {
  for (const id of fullTexts(hub).unindexed(PLANNED_AT_ONCE)) {
    if (stopping.aborted || !mayRecord(hub)) return;
    const post = posts(hub).find(id);
    if (!post) continue;
    const terms = await searchableText(post, `${post.contentHtml}\n${fullTexts(hub).contentOf(id) ?? ''}`);
    hub.db.write('index full text', () => {
      const current = posts(hub).listed([id])[0];
      if (current) fullTexts(hub).index(current, terms);
    });
  }
}
