import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { createSlots } from '../../platform/limit-concurrency.ts';
import { inSteps, STEP, type Reading } from '../../platform/markup/in-steps.ts';
import { readingText } from '../../platform/markup/plain-text.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { imageAddresses, withoutImages } from '../../platform/markup/remote-media.ts';
import { sanitizingHtml } from '../../platform/markup/sanitize-html.ts';
import type { RemoteFile } from '../attachments/attachment-store.ts';
import { notifyFollowers } from '../follows/notify-followers.ts';
import { counts, metLimit, once, throttled, type Hub } from '../hub/hub.ts';
import {
  posts, type IncomingFile, type IncomingPost, type Post, type PreparedPost, type SearchTerms,
} from './post-store.ts';
import { readingTerms, searchTerms } from './search-words.ts';

/** What one post may hold, in characters, so that no publisher makes a page or an answer heavy for everybody. */
const MAX = {
  title: 500,
  author: 200,
  url: 4_096,
  content: 400_000, // as sent; sanitising adds attributes to links
  summary: 280,
  summarized: 20_000, // of the content, where there is no summary
  searchText: 200_000,
  attachments: 100, // files, not characters
  images: 200, // within the content
};

/** Characters of a title that is made of a post's text. */
export const FIRST_WORDS = 80;

/** New or changed posts, prepared, with their positions in the feed. */
export type PreparedPosts = { position: number; prepared: PreparedPost }[];

/**
 * Sanitises what is new or changed: the slow part, outside any transaction. `sourceId` is null where it is not known
 * yet what is new.
 */
export async function preparePosts(
  hub: Hub, sourceId: number | null, items: IncomingPost[],
): Promise<PreparedPosts> {
  const wanted = items
    .map((post, position) => ({ post, position, contentHash: hashOf(post) }))
    .filter(({ post, contentHash }) => sourceId === null || !posts(hub).isSettled(sourceId, post.guid, contentHash));
  const ready: PreparedPosts = [];
  let sincePause = 0;
  for (const { post, position, contentHash } of wanted) {
    ready.push({ position, prepared: await preparePost(await sanitized(post), contentHash) });
    sincePause += MAX.title + post.contentHtml.length;
    if (sincePause > STEP) await setImmediate();
    if (sincePause > STEP) sincePause = 0;
  }
  return ready;
}

/** How many long posts may wait while another one is being read. */
const WAITING = 40;

const slots = once((hub: Hub) => createSlots(1, WAITING,
  () => metLimit(hub, 'long-posts', 10, 'Too many long posts are being read at once.')));

/**
 * Does an account's work with a text of that length; with a long one when no other is worked with, or throws 503. Whose
 * it is costs the database more than the work with a short one, and is not asked then.
 */
export async function inTurn<Result>(
  hub: Hub, { length, accountOf }: { length: number; accountOf: () => number | undefined }, work: () => Promise<Result>,
): Promise<Result> {
  return length > STEP ? slots(hub)(work, accountOf()) : work();
}

/** Stores what was prepared and notifies the source's followers, in the caller's transaction. */
export function storePosts(
  hub: Hub, sourceId: number, kind: string, items: PreparedPosts, before: StoredPosts = NONE_STORED,
): StoredPosts {
  const stored = putPosts(hub, sourceId, kind, items);
  const added = before.added + stored.added;
  if (added > 0) notifyFollowers(hub, sourceId, added);
  return { changed: before.changed + stored.changed, added };
}

/** How many posts were added or updated, and how many of them were added. */
type StoredPosts = { changed: number; added: number };

const NONE_STORED: StoredPosts = { changed: 0, added: 0 };

/** In milliseconds, about: what one transaction may write while others wait for it. */
const STEP_WORK = 10;

/**
 * `before` is done in each transaction, with how many are left to store; where it throws, that one stores nothing, and
 * no other follows.
 */
type Early = { before(isFirst: boolean, left: number): void; signal: AbortSignal };

/**
 * Stores more posts than one transaction should, the oldest first, in steps between which others write. A step that was
 * done stays done. Returns what was stored and the rest, for `storePosts` and the transaction in which the job ends.
 */
export async function storeMost(
  hub: Hub, sourceId: number, kind: string, items: PreparedPosts, { before, signal }: Early,
): Promise<{ rest: PreparedPosts; stored: StoredPosts }> {
  const stored = { ...NONE_STORED };
  let rest = items;
  for (let from = startOfStep(rest); from > 0; from = startOfStep(rest)) {
    const step = rest.slice(from);
    await throttled(hub)('store posts, a step', (limit) => {
      before(rest === items, rest.length);
      const { changed, added } = putPosts(hub, sourceId, kind, step);
      stored.changed += changed;
      stored.added += added;
      return Math.min(step.length, limit - 1); // all of it; after no rows there would be no pause for others
    }, () => signal.aborted);
    signal.throwIfAborted();
    rest = rest.slice(0, from);
  }
  return { rest, stored };
}

/** Where the last posts begin that make one step; 0 where all of them do. */
function startOfStep(items: PreparedPosts): number {
  let work = 0;
  const last = items.findLastIndex(({ prepared: { attachments, contentHtml } }) =>
    (work += 0.4 + attachments.length / 40 + contentHtml.length / 50_000) > STEP_WORK);
  return last < 0 ? 0 : Math.min(last + 1, items.length - 1);
}

function putPosts(hub: Hub, sourceId: number, kind: string, items: PreparedPosts): StoredPosts {
  const now = hub.clock();
  // Oldest first, a millisecond apart: what has no date of its own keeps the order of the feed.
  const stored = items.toReversed()
    .map(({ prepared, position }) => posts(hub).put(sourceId, prepared, now - position))
    .filter((one) => one !== undefined);
  const added = stored.filter(({ isNew }) => isNew).length;
  if (added > 0) counts(hub).add('posts_ingested_total', kind, added);
  return { changed: stored.length, added };
}

/** What is stored of a post whose markup is sanitised: within the limits, with its summary, search text and files. */
export async function preparePost(post: IncomingPost, contentHash: string): Promise<PreparedPost> {
  const { contentHtml } = post;
  const content = await inSteps(readingText(contentHtml));
  const summary = post.summary ? post.summary.slice(0, MAX.content)
    : withoutImages(contentHtml.slice(0, MAX.summarized));
  const author = post.author && excerpt(post.author, MAX.author);
  const title = excerpt(post.title, MAX.title) || excerpt(content, FIRST_WORDS);
  return {
    ...post,
    title,
    url: post.url !== null && post.url.length <= MAX.url ? post.url : null,
    author,
    summary: excerpt(await inSteps(readingText(summary)) || content, MAX.summary),
    searchTitle: searchTerms(title),
    searchText: await inSteps(readingTermsOf(content, author)),
    contentHash,
    attachments: remoteFiles(post.attachments.slice(0, MAX.attachments), contentHtml),
  };
}

/** What search finds a stored post by. */
export async function searchableText(
  { title, author }: Pick<Post, 'title' | 'author'>, contentHtml: string,
): Promise<SearchTerms> {
  const content = await inSteps(readingText(contentHtml));
  return { searchTitle: searchTerms(title), searchText: await inSteps(readingTermsOf(content, author)) };
}

function readingTermsOf(content: string, author: string | null): Reading<string> {
  return readingTerms(`${author ?? ''}\n${content.slice(0, MAX.searchText)}`);
}

/** By the hash of what the publisher sent, an unchanged post is known before it is sanitised and written again. */
function hashOf(post: IncomingPost): string {
  return createHash('sha256').update(JSON.stringify(post)).digest('base64url');
}

async function sanitized(post: IncomingPost): Promise<IncomingPost> {
  const { contentHtml, baseUrl } = post;
  return { ...post, contentHtml: await inSteps(sanitizingHtml(contentHtml.slice(0, MAX.content), { baseUrl })) };
}

/** The files beside a post, each address once, then the images within it that are not among them. */
function remoteFiles(files: IncomingFile[], contentHtml: string): RemoteFile[] {
  const listed = new Set<string>();
  const beside = files.filter(({ url }) => !listed.has(url) && listed.add(url));
  const images = imageAddresses(contentHtml).filter((url) => !listed.has(url)).slice(0, MAX.images);
  const nameless = { mediaType: null, bytes: null, title: null, durationSeconds: null };
  return [...beside.map((file) => named(file, false)), ...images.map((url) => named({ url, ...nameless }, true))];
}

function named(file: IncomingFile, isInline: boolean): RemoteFile {
  return {
    ...file,
    isInline,
    filename: filenameOf(file.url),
    bytes: wholeNumber(file.bytes),
    durationSeconds: wholeNumber(file.durationSeconds),
  };
}

/** An integer that SQLite can store; null for what a publisher cannot mean. */
function wholeNumber(value: number | null): number | null {
  const rounded = value === null ? NaN : Math.round(value);
  return Number.isSafeInteger(rounded) && rounded >= 0 ? rounded : null;
}

/**
 * The last segment of the URL's path, for display: without controls, path separators and bidirectional marks, and never
 * of dots alone, which name folders.
 */
function filenameOf(url: string): string {
  const segment = decode(new URL(url).pathname.split('/').findLast((part) => part !== '') ?? '');
  const cleaned = segment.replace(/[\p{Cc}\p{Bidi_Control}/\\]/gu, '').slice(0, 120).toWellFormed();
  return /^[. ]*$/.test(cleaned) ? 'attachment' : cleaned;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
