import { createHash } from 'node:crypto';
import { createSlots } from '../../platform/limit-concurrency.ts';
import { inSteps, isPauseDue, STEP, type Resumable } from '../../platform/markup/in-steps.ts';
import { extractingText } from '../../platform/markup/plain-text.ts';
import { safeLink } from '../../platform/markup/safe-url.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { imageAddresses, withoutImages } from '../../platform/markup/remote-media.ts';
import { sanitizingHtml } from '../../platform/markup/sanitize-html.ts';
import { nextRound, ownTurn } from '../../platform/turns.ts';
import type { NewUpload, RemoteFile } from '../attachments/attachment-store.ts';
import { keepPictures, liftPictures, showPictures, type EmbeddedPicture } from '../attachments/embedded-pictures.ts';
import { OWN_FILES, storedAddress, withoutOwnLinks } from '../attachments/own-files.ts';
import { notifyFollowers } from '../follows/follow-store.ts';
import { counts, metLimit, once, throttled, type Hub } from '../hub/hub.ts';
import { linkKey } from './link-store.ts';
import {
  posts, type IncomingFile, type IncomingPost, type Post, type PreparedPost, type SearchTerms,
} from './post-store.ts';
import { makingTerms, searchTerms } from './search-words.ts';

/** Maximum lengths of a post's fields, in characters, so that no publisher can make pages slow for everybody. */
const MAX = {
  title: 500,
  author: 200,
  url: 4_096,
  content: 400_000, // maximum before sanitising, which adds attributes to links
  summary: 280,
  summarized: 20_000, // length of the content's beginning that replaces a missing summary
  searchText: 200_000,
  attachments: 100, // files, not characters
  images: 200, // within the content, with the post's picture
};

export const FIRST_WORDS = 80; // maximum characters of a title made from a post's first words

/** The most embedded pictures that one synchronisation stores; further ones leave their words. */
const PICTURES_OF_FEED = 200;

/** `pictures`: stored files of the pictures that stand in the post's content. */
export type PreparedPosts = { position: number; prepared: PreparedPost; pictures: NewUpload[] }[];

type Take = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Sanitises new and changed posts (slow: outside any transaction), and stores their embedded pictures; with `sourceId`
 * null, in a request: all posts. `take` runs what needs the processor, for an event within `inTurn`.
 */
export async function preparePosts(
  hub: Hub, sourceId: number | null, items: IncomingPost[], take: Take = (work) => work(),
): Promise<PreparedPosts> {
  const wanted = items
    .map((post, position) => ({ post, position, contentHash: hashOf(post) }))
    .filter(({ post, contentHash }) => sourceId === null || !posts(hub).isSettled(sourceId, post.guid, contentHash));
  const ready: PreparedPosts = [];
  const pace = { unpaused: 0 };
  let left = PICTURES_OF_FEED;
  for (const { post, position, contentHash } of wanted) {
    const { prepared, embedded } = await take(async () => {
      const { clean, pictures } = await sanitized(post);
      return { prepared: await preparePost(clean, contentHash), embedded: pictures.slice(0, left) };
    });
    left -= embedded.length;
    ready.push({ position, prepared, pictures: await keepPictures(hub, sourceId, embedded) });
    if (isPauseDue(pace, MAX.title + post.contentHtml.length)) await nextRound();
  }
  return ready;
}

const WAITING = 40;

const slots = once((hub: Hub) => createSlots(1, WAITING,
  () => metLimit(hub, 'long-posts', 10,
    'The hub is busy with other long posts. Try again in a few seconds.')));

/**
 * Runs `work`, which processes a text of the given length. Long texts are processed one at a time, and accounts take
 * turns; throws 503 if too many long texts wait. For a short text, `work` runs at once, and `accountOf` is not called,
 * which saves a query.
 */
export async function inTurn<Result>(
  hub: Hub, { length, accountOf }: { length: number; accountOf: () => number | undefined }, work: () => Promise<Result>,
): Promise<Result> {
  if (length <= STEP) return work();
  const result = await slots(hub)(work, accountOf());
  await ownTurn(); // other requests may run before the request with the long text goes on
  return result;
}

export type Arrival = { id: number; prepared: PreparedPost };

/**
 * The kind of the source, and functions for the transactions that store new posts: `arrived` is called with the posts;
 * at the end `mutedFor` counts the posts that a follower's rules have muted, about which the follower is not notified.
 */
export type Storing = {
  kind: string; arrived: (sourceId: number, arrivals: Arrival[]) => void; mutedFor: (accountId: number) => number;
};

/** Stores prepared posts, and notifies the source's followers of new ones, in the caller's transaction. */
export function storePosts(
  hub: Hub, sourceId: number, storing: Storing, items: PreparedPosts, before: StoredPosts = NONE_STORED,
): StoredPosts {
  const stored = putPosts(hub, sourceId, storing, items);
  const added = before.added + stored.added;
  if (added > 0) notifyFollowers(hub, sourceId, (id) => added - storing.mutedFor(id));
  return { changed: before.changed + stored.changed, added };
}

type StoredPosts = { changed: number; added: number };

const NONE_STORED: StoredPosts = { changed: 0, added: 0 };

/** Maximum estimated milliseconds of one transaction that writes several posts: other writers wait meanwhile. */
const STEP_WORK = 10;

/** The estimated milliseconds of storing a post, besides the milliseconds for its files and for its content. */
const POST_WORK = 0.4;
const FILE_WORK = 1 / 40; // estimated ms of storing each file of a post, four times as many for an embedded picture
const CHARACTER_WORK = 1 / 50_000; // estimated ms of storing each character of a post's HTML content

/** `before` runs first in each transaction, with the number of posts left; an error of `before` ends storing. */
type Early = { before(isFirst: boolean, left: number): void; signal: AbortSignal };

/**
 * Stores a feed's posts, oldest first, in transactions of STEP_WORK. Returns counts of the stored posts, and the newest
 * posts, which the transaction that ends the job will store. If `signal` aborts, the posts stored so far stay.
 */
export async function storeMost(
  hub: Hub, sourceId: number, storing: Storing, items: PreparedPosts, { before, signal }: Early,
): Promise<{ rest: PreparedPosts; stored: StoredPosts }> {
  const stored = { ...NONE_STORED };
  let rest = items;
  for (let from = startOfStep(rest); from > 0; from = startOfStep(rest)) {
    const step = rest.slice(from);
    await throttled(hub)('store posts, one step', () => {
      before(rest === items, rest.length);
      const { changed, added } = putPosts(hub, sourceId, storing, step);
      stored.changed += changed;
      stored.added += added;
      return 1; // no count of posts: 1 tells `throttled` that this step has stored all, and to let others write
    }, () => signal.aborted);
    signal.throwIfAborted();
    rest = rest.slice(0, from);
  }
  return { rest, stored };
}

function startOfStep(items: PreparedPosts): number {
  let work = 0; // ms
  let start = items.length;
  for (const { prepared: { attachments, contentHtml }, pictures } of items.toReversed()) {
    work += POST_WORK + (attachments.length + 4 * pictures.length) * FILE_WORK + contentHtml.length * CHARACTER_WORK;
    if (work > STEP_WORK) return Math.min(start, items.length - 1);
    start--;
  }
  return 0;
}

function putPosts(hub: Hub, sourceId: number, { kind, arrived }: Storing, items: PreparedPosts): StoredPosts {
  const now = hub.clock();
  // Posts are stored oldest first, a millisecond apart, so that posts without a date keep the order of the feed.
  const stored = items.toReversed()
    .map(({ position, ...post }) => ({ ...post, ...posts(hub).put(sourceId, post.prepared, now - position) }))
    .filter(({ id }) => id !== undefined);
  for (const { id, isNew, pictures } of stored) {
    if (id !== undefined && (pictures.length > 0 || !isNew)) showPictures(hub, sourceId, id, pictures);
  }
  const arrivals = stored.flatMap(({ id, isNew, prepared }) => (id !== undefined && isNew ? [{ id, prepared }] : []));
  if (arrivals.length > 0) {
    counts(hub).add('posts_ingested_total', kind, arrivals.length);
    arrived(sourceId, arrivals);
  }
  return { changed: stored.length, added: arrivals.length };
}

/** Makes the stored form of a sanitised post, with limited lengths, and with its summary, search terms and files. */
export async function preparePost(post: IncomingPost, contentHash: string): Promise<PreparedPost> {
  const { contentHtml } = post;
  const content = await inSteps(extractingText(contentHtml));
  const imageless = withoutImages(contentHtml);
  const summary = post.summary ? post.summary.slice(0, MAX.content) : imageless.slice(0, MAX.summarized);
  const author = post.author && excerpt(post.author, MAX.author);
  const givenUrl = post.url !== null && post.url.length <= MAX.url ? post.url : null;
  const title = excerpt(post.title, MAX.title) || excerpt(content, FIRST_WORDS);
  const url = givenUrl === null ? null : safeLink(givenUrl, givenUrl) ?? null;
  return {
    ...post,
    title,
    url,
    givenUrl,
    link: linkKey(url),
    author,
    summary: excerpt(await inSteps(extractingText(summary)) || await inSteps(extractingText(imageless)), MAX.summary),
    searchTitle: searchTerms(title),
    searchText: await inSteps(makingTermsOf(content, author)),
    contentHash,
    attachments: remoteFiles({ ...post, attachments: post.attachments.slice(0, MAX.attachments) }),
  };
}

export async function searchableText(
  { title, author }: Pick<Post, 'title' | 'author'>, contentHtml: string,
): Promise<SearchTerms> {
  const content = await inSteps(extractingText(contentHtml));
  return { searchTitle: searchTerms(title), searchText: await inSteps(makingTermsOf(content, author)) };
}

function makingTermsOf(content: string, author: string | null): Resumable<string> {
  return makingTerms(`${author ?? ''}\n${content.slice(0, MAX.searchText)}`);
}

/** Recognises unchanged posts. If a further field is hashed also when null, every stored post counts as changed. */
function hashOf(post: IncomingPost): string {
  const { guid, title, url, author, language, contentHtml, baseUrl, summary, publishedAt, updatedAt } = post;
  const attachments = post.attachments.map((file) => {
    const { url, mediaType, bytes, title, durationSeconds } = file;
    return { url, mediaType, bytes, title, durationSeconds };
  });
  const hashed = {
    guid, title, url, author, language, contentHtml, baseUrl, summary, publishedAt, updatedAt, attachments,
  };
  return createHash('sha256').update(JSON.stringify(hashed)).digest('base64url');
}

async function sanitized(post: IncomingPost): Promise<{ clean: IncomingPost; pictures: EmbeddedPicture[] }> {
  const { baseUrl } = post;
  const { html, pictures } = await liftPictures(post.contentHtml);
  const byAddress = new Map(pictures.map((one) => [storedAddress({ ...one, remoteUrl: null }), one]));
  const clean = await inSteps(sanitizingHtml(html.slice(0, MAX.content), { baseUrl }));
  const contentHtml = withoutOwnLinks(clean, new Set(byAddress.keys()));
  const shown = byAddress.size > 0 ? imageAddresses(contentHtml) : [];
  return { clean: { ...post, contentHtml }, pictures: shown.flatMap((address) => byAddress.get(address) ?? []) };
}

function remoteFiles({ attachments: files, picture, contentHtml }: IncomingPost): RemoteFile[] {
  const beside = new Map<string, RemoteFile>(); // of several files with one address, only the first
  for (const file of files) if (!beside.has(file.url)) beside.set(file.url, named(file, false));
  const shown = new Set([...(picture ? [picture] : []), ...imageAddresses(contentHtml)]);
  const images = [...shown].filter((url) => !beside.has(url) && !url.startsWith(OWN_FILES)).slice(0, MAX.images);
  const nameless = { mediaType: null, bytes: null, title: null, durationSeconds: null };
  return [...beside.values(), ...images.map((url) => named({ url, ...nameless }, true))];
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

function wholeNumber(value: number | null): number | null {
  const rounded = value === null ? NaN : Math.round(value);
  return Number.isSafeInteger(rounded) && rounded >= 0 ? rounded : null;
}

/** The last segment of the URL's path without dangerous characters; "attachment" if only dots and spaces are left. */
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
