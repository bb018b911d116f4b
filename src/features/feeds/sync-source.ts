import { SECOND } from '../../platform/clock.ts';
import type { Job } from '../../platform/jobs/claim-jobs.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { RANKS } from '../../platform/jobs/job-queue.ts';
import type { JobProgress } from '../../platform/jobs/job-records.ts';
import { OutboundError } from '../../platform/net/outbound-fetch.ts';
import { raiseAlert } from '../alerts/raise-alerts.ts';
import { sourceIcons } from '../attachments/icon-store.ts';
import { audit, THE_HUB } from '../audit/audit.ts';
import { compareSamples } from '../full-text/ask-for-full-text.ts';
import { counts, enqueue, jobs, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { notifications } from '../notifications/notification-store.ts';
import { preparePosts, storeMost, storePosts, type PreparedPosts, type Storing } from '../posts/ingest-posts.ts';
import { feedPosts } from '../posts/feed-posts-store.ts';
import type { Moved } from '../posts/moved-posts.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { matchRules } from '../rules/apply-rules.ts';
import { isSourceFull, requireMayStore, stopAtQuota } from '../sources/content-quota.ts';
import { noteRuns } from '../sources/note-runs.ts';
import type { SourceRun } from '../sources/run-store.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { SYNC_SOURCE, syncState, type SyncState } from '../sources/sync-state-store.ts';
import { discoverFeed } from './discover-feed.ts';
import {
  FeedGoneError, fetchFeed, largeFeedTurns, NO_VALIDATORS, type FetchedFeed, type LargeFeedTurns,
} from './fetch-feed.ts';
import { authorizationFor } from './feed-passwords.ts';
import { planPictures } from './fetch-pictures.ts';
import { lastingItems, type ParsedFeed } from './feed-values.ts';
import { planAfterFailure, planNextSync } from './plan-sync.ts';

/** The timeout for a host that timed out at the previous attempt, so that hanging hosts do not occupy the workers. */
const SLOW_HOST_MS = 5 * SECOND;
const SLOWNESS = new Set(['timeout', 'idle']);
const RHYTHM = 10; // newest posts, by whose times the next synchronisation is planned

const GONE = 'The publisher reports that this feed is permanently gone (410).';

/** For each synchronisation in this process: when it began, by `performance.now()`. */
const started = new WeakMap<Job, number>();

/** A repeated job is harmless: posts are recognised by their ids, also those that a large feed has stored early. */
export const syncSource: JobKind<{ sourceId: number }> = {
  name: SYNC_SOURCE,
  key: ({ sourceId }) => String(sourceId),
  attempts: ({ syncMaxAttempts }) => syncMaxAttempts,
  concurrency: ({ syncConcurrency }) => syncConcurrency,
  afterRestore: 'run',
  stores: true,

  async run(hub, { sourceId }, signal, job) {
    const source = syncState(hub).find(sourceId);
    if (!source || source.state === 'paused') return; // the source was deleted or paused while the job waited
    if (isSourceFull(hub, sourceId)) return () => stopAtQuota(hub, sourceId);
    started.set(job, performance.now());
    const turns = largeFeedTurns(hub, signal);
    try {
      const fetched = await fetchUnlessGone(hub, source, job, signal, turns);
      if (!fetched) return () => {
        pauseGone(hub, sourceId);
        endRun(hub, sourceId, job, { failed: 1, note: GONE });
      };
      const store = await prepareSync(hub, source, fetched, { signal, job });
      return () => {
        requireMayStore(hub, sourceId);
        endRun(hub, sourceId, job, store(sourceId));
      };
    } finally {
      turns.end();
    }
  },

  failed(hub, { sourceId }, error, fate, job) {
    endRun(hub, sourceId, job, { failed: 1, note: error.message });
    const source = syncState(hub).find(sourceId);
    if (!source) return;
    const timedOut = error instanceof OutboundError && SLOWNESS.has(error.reason);
    syncState(hub).recordFailure(sourceId, error.message, { isFinal: fate === 'failed', timedOut });
    const retryAt = jobs(hub).find(job.id)?.runAt;
    if (fate === 'failed') failedForGood(hub, source, error);
    else if (retryAt !== undefined) syncState(hub).planNext(sourceId, retryAt); // unix ms, when the job is tried again
  },
};

async function fetchUnlessGone(
  hub: Hub, source: SyncState, job: Job, signal: AbortSignal, turns: LargeFeedTurns,
): Promise<FetchedFeed | undefined> {
  // A host that has timed out before gets less time, except in the last attempt, in which a slow host can succeed.
  const isShort = source.timedOut === 1 && job.attempts < job.maxAttempts;
  const turn = { large: turns.body, toRead: turns.read, authorization: authorizationFor(hub, source) };
  const within = { signal, ...turn, ...(isShort && { totalMs: SLOW_HOST_MS }) };
  try {
    return await (source.lastSuccessAt === null ? discoverFeed(hub, source.url, within)
      : fetchFeed(hub, source.url, source, within));
  } catch (error) {
    if (error instanceof FeedGoneError) return undefined;
    throw error;
  }
}

/** The source that is fetched; `sourceId` is null if the source does not exist yet. */
type FetchedSource = Pick<SyncState, 'url' | 'ttl' | 'guidPrefix'> & { sourceId: number | null };

/**
 * Sanitises the posts of a fetched feed; with `early`, also stores most posts of a large feed, which frees memory.
 * Returns a function that, in the caller's transaction, stores the posts that are not stored yet (none if the feed's
 * address has changed, or is a duplicate now) and returns the result of the synchronisation.
 */
async function prepareSync(
  hub: Hub, source: FetchedSource, fetched: FetchedFeed, early?: EarlySteps,
): Promise<(sourceId: number) => Partial<SourceRun>> {
  const { feed, url, validators, askedFor, bytes } = fetched; // `feed`: null if unchanged (a 304, or the same body)
  const since = hub.clock();
  const own = <Post extends { guid: string }>(all: Post[]): Post[] =>
    all.map((post) => ({ ...post, guid: source.guidPrefix + post.guid }));
  const items = own(feed ? lastingItems(feed) : []);
  const prepared = await preparePosts(hub, source.sourceId, items);
  const guids = items.map(({ guid }) => guid);
  const isCut = Boolean(feed?.cut) || fetched.isPartial === true;
  const moved = source.sourceId === null ? [] : feedPosts(hub).findMoved(source.sourceId, prepared, guids, isCut);
  const about = { id: source.sourceId, title: feed?.title ?? '' };
  const storing = { kind: 'feed', ...await matchRules(hub, about, prepared) };
  const { rest, stored } = early && source.sourceId !== null
    ? await storeEarly(hub, source.sourceId, source.guidPrefix, prepared, { ...early, storing, moved })
    : { rest: prepared, stored: undefined }; // a new source has few posts, so its posts need not be stored in steps
  const problem = feed && problemOf(feed, items.length, fetched.isPartial);
  const contained = feed && problem === null && !fetched.isPartial ? guids : null;
  const wait = Math.max(askedFor, (feed ? feed.ttl : source.ttl) ?? 0); // ms

  return (sourceId) => {
    if (syncState(hub).isElsewhere(sourceId, source.guidPrefix)) return { bytes };
    if (url !== source.url && !moveFeed(hub, sourceId, url)) return { bytes };
    if (rest.length === prepared.length) feedPosts(hub).followMoved(sourceId, moved);
    const arrived = storePosts(hub, sourceId, storing, rest, stored);
    if (arrived.added > 0) {
      planPictures(hub, { sourceId, since });
      compareSamples(hub, sourceId);
    }
    const changed = arrived.changed - arrived.added + feedPosts(hub).takeBack(sourceId, own(feed?.deleted ?? []));
    if (contained) feedPosts(hub).noteContained(sourceId, contained);
    if (feed) {
      syncState(hub).keepFacts(sourceId, feed);
      sourceIcons(hub).noteNamed(sourceId, feed.iconUrl);
    }
    // A later 304 must not confirm a document that was truncated on its way, or whose posts the hub could not read.
    syncState(hub).keepValidators(sourceId, problem === null || fetched.isPartial ? validators : NO_VALIDATORS);
    succeeded(hub, sourceId, wait, feed ? problem : undefined);
    return { added: arrived.added, changed, bytes, note: problem };
  };
}

/** Also plans the next one. `askedFor`: ms, as for `planNextSync`. `problem`: undefined if it stays. */
function succeeded(hub: Hub, sourceId: number, askedFor: number, problem: string | null | undefined): void {
  const publishedAt = sourcePosts(hub).newestTimes(sourceId, RHYTHM);
  const pause = planNextSync({ publishedAt, askedFor }, hub.clock(), hub.random);
  tellRecovered(hub, sourceId);
  syncState(hub).recordSuccess(sourceId, hub.clock() + pause, problem);
  settleFailedSyncs(hub, sourceId);
}

type EarlySteps = { signal: AbortSignal; job: Job };

/** Stops the early storing of a large feed's posts if the feed's address changed after the synchronisation began. */
const MOVED = new Error('the address of the feed has changed');

function storeEarly(
  hub: Hub, sourceId: number, guidPrefix: string, prepared: PreparedPosts,
  { signal, job, storing, moved }: EarlySteps & { storing: Storing; moved: Moved[] },
) {
  const before = (isFirst: boolean, left: number): void => {
    if (jobs(hub).leaseEnd(job) === null) throw new Error('another worker has taken over this synchronisation');
    if (syncState(hub).isElsewhere(sourceId, guidPrefix)) throw MOVED;
    requireMayStore(hub, sourceId);
    jobs(hub).noteProgress(job.id, prepared.length - left, prepared.length);
    if (isFirst) feedPosts(hub).followMoved(sourceId, moved);
  };
  return storeMost(hub, sourceId, storing, prepared, { before, signal }).catch((error: unknown) => {
    if (error === MOVED) return { rest: prepared, stored: undefined };
    throw error;
  });
}

/** What kept the hub from reading all posts of the feed, besides MAX_ITEMS; null if nothing did. */
function problemOf({ cut, hidesItems }: ParsedFeed, items: number, isTooLarge = false): string | null {
  if (cut && isTooLarge) return `The feed is larger than 10 MiB. The hub read ${items} posts of its first 10 MiB.`;
  if (cut) return `The publisher’s feed was cut off. The hub read the ${items} posts before that point.`;
  return hidesItems ? 'The feed has elements that look like posts, but the hub cannot read them.' : null;
}

/** If a feed with more posts is added, the worker stores them later, because so many would block other writers. */
const MANY_ITEMS = 150;

/** `store` runs in the caller's transaction, and does nothing for a large feed, which the worker stores later. */
export type OpenedFeed = { url: string; title: string; store(sourceId: number): void };

/** Fetches the feed at an address, or of the web page there. Errors are worded for the member who adds the feed. */
export async function openFeed(hub: Hub, address: string, authorization: string | undefined): Promise<OpenedFeed> {
  const began = performance.now();
  const fetched = await discoverFeed(hub, address, { guess: true, authorization });
  const { url, feed, isPartial } = fetched;
  const title = feed?.title ?? '';
  if (isPartial || (feed?.items.length ?? 0) > MANY_ITEMS) return { url, title, store: () => {} };
  const store = await prepareSync(hub, { sourceId: null, url, ttl: null, guidPrefix: '' }, fetched);
  const tookMs = Math.round(performance.now() - began);
  return { url, title, store: (sourceId) => noteRuns(hub, sourceId, [{ ...store(sourceId), tookMs }]) };
}

function pauseGone(hub: Hub, sourceId: number): void {
  pause(hub, sourceId, GONE, 'gone', 'has been paused: its publisher says that the feed is permanently gone');
}

/** Returns false and pauses the source if its owner already has a source with the new address. */
function moveFeed(hub: Hub, sourceId: number, url: string): boolean {
  if (syncState(hub).move(sourceId, url)) return true;
  const { host } = new URL(url);
  const reason = `This feed moved to ${host}, where you already follow it.`;
  pause(hub, sourceId, reason, 'duplicate', `has been paused: it moved to ${host}, where you already follow it`);
  return false;
}

function pause(hub: Hub, sourceId: number, reason: string, event: OwnerEvent, what: string): void {
  const source = sources(hub).find(sourceId);
  if (!source) return;
  sources(hub).pause(sourceId, reason);
  settleFailedSyncs(hub, sourceId);
  audit(hub, 'source.paused', THE_HUB, { kind: 'source', id: sourceId, name: source.title }, { reason });
  notifyOwner(hub, source, event, what);
}

/** Notifies the owner that a failing source works again; called before `recordSuccess` sets the failures to 0. */
function tellRecovered(hub: Hub, sourceId: number): void {
  if (!syncState(hub).find(sourceId)?.failures) return;
  const source = sources(hub).find(sourceId);
  if (source) notifyOwner(hub, source, 'recovered', 'can be synchronised again');
}

function failedForGood(hub: Hub, { sourceId, failures }: SyncState, error: Error): void {
  const notBefore = error instanceof RetryLaterError ? error.at : 0;
  syncState(hub).planNext(sourceId, Math.max(hub.clock() + planAfterFailure(failures, hub.random), notBefore));
  const source = sources(hub).find(sourceId);
  if (!source) return;
  if (failures === 0) notifyOwner(hub, source, 'failing', 'cannot be synchronised; the hub keeps trying');
  raiseAlert(hub, { event: 'sync-failed', source, problem: error.message });
}

type OwnerEvent = 'failing' | 'recovered' | 'gone' | 'duplicate';

function notifyOwner(hub: Hub, { id, ownerId: accountId, title }: Source, event: OwnerEvent, what: string): void {
  notifications(hub).add({ accountId, kind: `source.${event}`, title: `“${title}” ${what}`, path: `/sources/${id}` });
}

/** Counts a synchronisation and stores its result, without a duration if another process began it. */
function endRun(hub: Hub, sourceId: number, job: Job, run: Partial<SourceRun>): void {
  const startedAt = started.get(job);
  const took = startedAt === undefined ? undefined : performance.now() - startedAt;
  const { failed, added = 0, changed = 0 } = run;
  counts(hub).add('sync_runs_total', failed ? 'error' : added + changed > 0 ? 'changed' : 'unchanged', 1);
  if (took !== undefined) counts(hub).observe('sync_duration_seconds', took / SECOND);
  noteRuns(hub, sourceId, [{ ...run, tookMs: took === undefined ? null : Math.round(took) }]);
}

/** Enqueues a synchronisation of every due source, unless the hub may not store posts now (`mayRecord`). */
export async function planDueSyncs(hub: Hub, stopping: AbortSignal): Promise<void> {
  if (!mayRecord(hub)) return;
  await throttled(hub)('plan due syncs', (limit) => planSomeSyncs(hub, limit), () => stopping.aborted);
}

/** Returns how many sources were due, at most `limit`, even if their jobs were waiting already. */
export function planSomeSyncs(hub: Hub, limit: number): number {
  return syncState(hub).takeDue(limit, ({ sourceId, ownerId, host, isWell }) => {
    const rank = isWell === 1 ? RANKS.usual : RANKS.doubtful;
    enqueue(hub, syncSource, { sourceId }, { lane: host, owner: ownerId, rank });
  });
}

/** Enqueues a synchronisation of the feed, or makes an already waiting job due now. */
export function syncSoon(hub: Hub, { id: sourceId, ownerId, feedUrl }: Source): void {
  const turn = { lane: new URL(feedUrl ?? '').host, owner: ownerId, rank: RANKS.asked };
  if (!enqueue(hub, syncSource, { sourceId }, turn)) jobs(hub).hurry(syncSource.name, keyOf(sourceId));
}

/** Undefined unless a large feed is being synchronised. */
export function syncProgress(hub: Hub, sourceId: number): JobProgress | undefined {
  return jobs(hub).progressOf(syncSource.name, keyOf(sourceId));
}

/** Whether a synchronisation of the source is waiting or running. */
export function isSyncing(hub: Hub, sourceId: number): boolean {
  return jobs(hub).isUnderWay(syncSource.name, keyOf(sourceId));
}

/** Marks the failed synchronisation jobs of a source as settled, so that they no longer count as failures. */
export function settleFailedSyncs(hub: Hub, sourceId: number): void {
  jobs(hub).settleFailed(syncSource.name, keyOf(sourceId));
}

function keyOf(sourceId: number): string {
  return syncSource.key({ sourceId });
}
