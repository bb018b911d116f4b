import { hash } from 'node:crypto';
import { DAY, MINUTE, SECOND } from '../../platform/clock.ts';
import { RANKS } from '../../platform/jobs/job-queue.ts';
import { cachedFiles } from '../attachments/cached-file-store.ts';
import { leadPictures, THUMBNAIL_BYTES } from '../attachments/post-pictures.ts';
import { fetchAhead } from '../attachments/remote-cache.ts';
import { follows } from '../follows/follow-store.ts';
import { counts, enqueue, jobs, limits, type Hub, type JobKind } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { sources } from '../sources/source-store.ts';
import { HOPELESS } from './fetch-icon.ts';

/** Pictures are fetched ahead for only so many of a source's newest posts, looked up again before each picture. */
const POSTS_OF_SYNC = 20;

/** The worker fetches at most 50 pictures of a source's new posts at once, and then 50 a day. */
const BUDGET = { name: 'list-pictures', burst: 50, everyMs: DAY / 50 };

const TIMEOUT_MS = 5 * SECOND; // of one picture

/** If pictures of an owner's sources have waited for this long, no more are enqueued for the owner's new posts. */
const LONGEST_WAIT = 5 * MINUTE;

export const PICTURE_RESULTS = ['kept', 'too-large', 'failed', 'over-budget'] as const;

/** The row of `counts` whose value renews the cached public pages when the value changes. */
const CONTENT_VERSION = 'content_version';

/** A source, and the time of its synchronisation (unix ms): posts that arrived earlier are left out. */
type NewPosts = { sourceId: number; since: number };

/** Fetches pictures of new posts before anybody opens the posts. A missing picture does not fail the job. */
export const fetchPictures: JobKind<NewPosts> = {
  name: 'fetch-pictures',
  key: ({ sourceId }) => String(sourceId),
  attempts: 2,
  concurrency: 4,
  afterRestore: 'discard',
  stores: true,

  async run(hub, wanted, signal) {
    const results = follows(hub).hasFollowers(wanted.sourceId) ? await fetchInTurn(hub, wanted, signal) : [];
    return () => {
      for (const result of results) counts(hub).add('list_pictures_total', result, 1);
      if (results.includes('kept')) counts(hub).add(CONTENT_VERSION, '', 1);
    };
  },
};

/** Enqueues the job that fetches the pictures of a feed's new posts, if there are any, in the caller's transaction. */
export function planPictures(hub: Hub, wanted: NewPosts): void {
  const source = sources(hub).find(wanted.sourceId);
  if (!source || source.feedUrl === null) return;
  const { ownerId: owner, feedUrl } = source;
  const isLate = jobs(hub).waitOfOwner(fetchPictures.name, RANKS.usual, owner) > LONGEST_WAIT;
  if (isLate || picturesOf(hub, wanted).length === 0) return;
  const lane = `pictures of ${new URL(feedUrl).host}`; // jobs of the feed's host do not wait for pictures
  enqueue(hub, fetchPictures, wanted, { lane, owner, rank: RANKS.usual });
}

function picturesOf(hub: Hub, { sourceId, since }: NewPosts): string[] {
  const { listPictures, attachmentCacheMaxBytes } = hub.config;
  const source = sources(hub).find(sourceId);
  if (!listPictures || attachmentCacheMaxBytes === 0 || !source || source.state === 'paused') return [];
  const arrived = posts(hub).newest({ viewerId: null, sourceId, limit: POSTS_OF_SYNC })
    .filter(({ createdAt }) => createdAt >= since);
  const pictures = leadPictures(hub, arrived);
  return arrived.flatMap(({ id }) => pictures.get(id) ?? []);
}

async function fetchInTurn(hub: Hub, wanted: NewPosts, signal: AbortSignal): Promise<string[]> {
  const results: string[] = [];
  const [seen, hopeless] = [new Set<string>(), new Set<string>()];
  // Looks for new posts before each picture, because posts that arrive during this job enqueue no job of their own.
  const next = (): string | undefined => picturesOf(hub, wanted).find((url) => !seen.has(url));
  for (let url = next(); url !== undefined; url = next()) {
    const { host } = new URL(url);
    seen.add(url);
    if (hopeless.has(host) || cachedFiles(hub).isKnown(hash('sha256', url))) continue;
    const within = { maxBytes: THUMBNAIL_BYTES, totalMs: TIMEOUT_MS, signal };
    const isOver = limits(hub).take(BUDGET, String(wanted.sourceId)) > 0;
    const outcome = isOver ? 'over-budget' : await fetchAhead(hub, url, within);
    if (HOPELESS.has(outcome)) hopeless.add(host);
    results.push(PICTURE_RESULTS.find((result) => result === outcome) ?? 'failed');
  }
  return results;
}
