import { hash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HOUR, MINUTE } from '../../platform/clock.ts';
import { createFile } from '../../platform/files/durable-file.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { createLanes, createSlots } from '../../platform/limit-concurrency.ts';
import { OutboundError } from '../../platform/net/outbound-fetch.ts';
import { recordReading, requireRoomForFile } from '../hub/disk-reserve.ts';
import { bufferedCounts, metLimit, once, type Hub } from '../hub/hub.ts';
import { requireNoTrial } from '../hub/trial.ts';
import { RefusedFile } from './arriving-file.ts';
import { cachedFiles, FAILURE_KEPT, GIVEN_UP_KEPT } from './cached-file-store.ts';
import { recogniseContent, type RecognisedFile } from './recognise-file.ts';

/** After a timeout, the hub fetches the file again sooner than after other failures (FAILURE_KEPT). */
const SLOWNESS_KEPT = MINUTE;
const SLOW_REASONS = new Set(['timeout', 'idle']);

/** Limits of readers' fetches at the same time (`fetchAhead` has none). Each holds its file in memory. */
const FETCHED_AT_ONCE = 6;
const OF_OWNER_AT_ONCE = FETCHED_AT_ONCE / 2;
const OF_SOURCE_AT_ONCE = 2;

/** Limits of fetches that run or wait: of the whole hub, for one owner's sources, for one owner from one host. */
const MAX_UNDER_WAY = 200;
const MAX_OF_OWNER = MAX_UNDER_WAY / 2;
const MAX_OF_HOST = 40;

const FOREVER = new AbortController().signal;

/** A cached file of this age without a row in the database was left by a crash, and may be removed. */
const STRAY_AGE = HOUR;

const ROWS_AT_ONCE = 200;

const NO_COPY = 'The publisher’s file is not available: the hub’s disk is full.';

type CachedContent = { path: string; bytes: number; mediaType: string; sha256: string };

type FetchLimits = { maxBytes: number; totalMs: number; signal: AbortSignal };

type Naming = { sourceId: number; ownerId: number };

type UnderWay = { ownerId: number; host: string; fetching: Promise<CachedContent> };

const fetches = once((hub: Hub) => ({
  underWay: new Map<string, UnderWay>(),
  atHost: createLanes(),
  ofSource: createLanes(OF_SOURCE_AT_ONCE),
  ofOwner: createLanes(OF_OWNER_AT_ONCE),
  ofHost: createLanes(),
  inSlot: createSlots(FETCHED_AT_ONCE, MAX_UNDER_WAY, () => tooMany(hub)),
}));

/**
 * The first request for a file makes the hub fetch it, so that readers' browsers need not contact publishers. After a
 * failed fetch, or a type that is not accepted, the hub does not try again for a while.
 */
export async function openRemoteFile(hub: Hub, url: string, naming: Naming): Promise<CachedContent> {
  if (hub.config.attachmentCacheMaxBytes === 0) {
    throw new HttpError(404, 'The hub keeps no copies of publishers’ files.');
  }
  const urlHash = hash('sha256', url);
  try {
    const kept = await findKept(hub, urlHash);
    const content = kept ?? await fetchOnce(hub, urlHash, url, naming);
    countRequest(hub, kept ? 'hit' : 'miss');
    return content;
  } catch (error) {
    countRequest(hub, 'error');
    throw error;
  }
}

/** Returns 'kept', or why the fetch failed: the reason of an OutboundError, or 'refused'. */
export async function fetchAhead(hub: Hub, url: string, limits: FetchLimits): Promise<string> {
  const urlHash = hash('sha256', url);
  try {
    await fetchAndKeep(hub, urlHash, url, limits);
    return 'kept';
  } catch (error) {
    limits.signal.throwIfAborted();
    const reason = error instanceof OutboundError ? error.reason : 'refused';
    if (reason === 'too-large') cachedFiles(hub).fail(urlHash, hub.clock() + GIVEN_UP_KEPT, null);
    else if (!(error instanceof HttpError)) noteFailure(hub, urlHash, error); // HttpError: no room, or a trial
    return reason;
  }
}

/** Fetches nothing; throws 404 if the hub has no copy. */
export async function openKeptFile(hub: Hub, url: string): Promise<CachedContent> {
  const kept = await findKept(hub, hash('sha256', url));
  if (!kept) throw unavailable('the hub has no copy of this file.');
  countRequest(hub, 'hit');
  return kept;
}

/** Removes old failures, rows without a file, files over the limit, and leftovers of crashes. */
export async function tidyCache(hub: Hub): Promise<void> {
  cachedFiles(hub).forgetFailures();
  await forgetMissing(hub);
  await evict(hub);
  await removeStrays(hub);
}

/** Undefined if there is no copy. Throws 404 if the hub could not fetch the file lately. */
async function findKept(hub: Hub, urlHash: string): Promise<CachedContent | undefined> {
  const failure = cachedFiles(hub).failureOf(urlHash);
  if (failure !== undefined) throw unavailable(failure);
  const known = cachedFiles(hub).find(urlHash);
  if (!known || (await cachedSize(hub, urlHash)) !== known.bytes) return undefined;
  recordReading(hub, () => cachedFiles(hub).noteUse(known));
  return { ...known, path: pathOf(hub, urlHash) };
}

function fetchOnce(hub: Hub, urlHash: string, url: string, naming: Naming): Promise<CachedContent> {
  const { underWay } = fetches(hub);
  const key = `${naming.sourceId} ${urlHash}`; // one source must not wait for another source's limits
  const found = underWay.get(key);
  if (found) return found.fetching;
  const { host } = new URL(url);
  const { ownerId } = naming;
  const ofOwner = [...underWay.values()].filter((one) => one.ownerId === ownerId);
  const ofHost = ofOwner.filter((one) => one.host === host);
  const isFull = underWay.size >= MAX_UNDER_WAY || ofOwner.length >= MAX_OF_OWNER || ofHost.length >= MAX_OF_HOST;
  if (isFull) return Promise.reject(tooMany(hub));
  const fetching = inTurn(hub, host, naming, () => fetchForReader(hub, urlHash, url))
    .finally(() => underWay.delete(key));
  underWay.set(key, { ownerId, host, fetching });
  return fetching;
}

/** Waits for the host before it takes a slot of the hub, so that a slow host never holds more than one. */
function inTurn(
  hub: Hub, host: string, { sourceId, ownerId }: Naming, work: () => Promise<CachedContent>,
): Promise<CachedContent> {
  const { atHost, ofSource, ofOwner, ofHost, inSlot } = fetches(hub);
  return atHost(`${sourceId} ${host}`, FOREVER, () => ofSource(sourceId, FOREVER, () =>
    ofOwner(ownerId, FOREVER, () => ofHost(host, FOREVER, () => inSlot(work)))));
}

async function fetchForReader(hub: Hub, urlHash: string, url: string): Promise<CachedContent> {
  const kept = await findKept(hub, urlHash); // the hub may have stored the file at `url` meanwhile, for another source
  return kept ?? await fetchAndKeep(hub, urlHash, url).catch((error: unknown) => {
    throw unavailable(noteFailure(hub, urlHash, error));
  });
}

async function fetchAndKeep(hub: Hub, urlHash: string, url: string, limits?: FetchLimits): Promise<CachedContent> {
  requireNoTrial(hub);
  requireRoomForFile(hub, 0, NO_COPY);
  const found = await fetchContent(hub, url, limits);
  const { body, mediaType, width = null, height = null } = found;
  const content = { bytes: body.length, mediaType, sha256: hash('sha256', body) };
  requireRoomForFile(hub, body.length, NO_COPY);
  await writeCachedFile(hub, urlHash, body);
  cachedFiles(hub).keep({ urlHash, ...content, width, height });
  await evict(hub, urlHash);
  return { ...content, path: pathOf(hub, urlHash) };
}

async function fetchContent(
  { config, outbound }: Hub, url: string, limits?: FetchLimits,
): Promise<RecognisedFile & { body: Buffer }> {
  const maxBytes = Math.min(limits?.maxBytes ?? config.uploadMaxBytes, config.attachmentCacheMaxBytes);
  const headers = { accept: 'image/avif, image/webp, image/*, application/pdf' };
  const { status, body } = await outbound({ url, headers, ...limits, maxBytes });
  if (status !== 200) throw new OutboundError('bad-response', `the publisher’s server answered with status ${status}`);
  return { body, ...recogniseContent(body) };
}

/** Records a failed fetch and returns the message of `error`. Throws any error but OutboundError and RefusedFile. */
function noteFailure(hub: Hub, urlHash: string, error: unknown): string {
  if (!(error instanceof OutboundError || error instanceof RefusedFile)) throw error;
  const isSlow = error instanceof OutboundError && SLOW_REASONS.has(error.reason);
  cachedFiles(hub).fail(urlHash, hub.clock() + (isSlow ? SLOWNESS_KEPT : FAILURE_KEPT), error.message);
  return error.message;
}

/** Spares the file that was just fetched: after the clock was set back, this file would look least recently used. */
async function evict(hub: Hub, spared?: string): Promise<void> {
  for (;;) {
    const next = cachedFiles(hub).nextToEvict(hub.config.attachmentCacheMaxBytes, spared);
    if (next === undefined) return;
    cachedFiles(hub).forget(next);
    await removeCachedFile(hub, next);
  }
}

/** Removes the rows of cached files that are not whole on the disk: a restored backup contains no cached files. */
async function forgetMissing(hub: Hub): Promise<void> {
  const { list, forget } = cachedFiles(hub);
  for (let rows = list('', ROWS_AT_ONCE); rows.length > 0; rows = list(rows.at(-1)?.urlHash ?? '', ROWS_AT_ONCE)) {
    for (const { urlHash, bytes } of rows) {
      if ((await cachedSize(hub, urlHash)) !== bytes) forget(urlHash);
    }
  }
}

async function removeStrays(hub: Hub): Promise<void> {
  for await (const { urlHash, modifiedAt } of listFiles(hub)) {
    const isOld = modifiedAt < hub.clock() - STRAY_AGE;
    if (isOld && cachedFiles(hub).find(urlHash) === undefined) await removeCachedFile(hub, urlHash);
  }
}

/** Path of a cached file: cache/<first two digits>/<sha256 of the URL>. The hub fetches a lost cached file again. */
function pathOf({ config }: Hub, urlHash: string): string {
  return join(config.dataDir, 'cache', urlHash.slice(0, 2), urlHash);
}

function cachedSize(hub: Hub, urlHash: string): Promise<number | undefined> {
  return stat(pathOf(hub, urlHash)).then(({ size }) => size, () => undefined);
}

async function writeCachedFile(hub: Hub, urlHash: string, body: Buffer): Promise<void> {
  const temporary = join(hub.config.dataDir, 'tmp', `cache-${randomUUID()}`);
  const path = pathOf(hub, urlHash);
  const handle = await createFile(temporary);
  try {
    await handle.writeFile(body);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

function removeCachedFile(hub: Hub, urlHash: string): Promise<void> {
  return rm(pathOf(hub, urlHash), { force: true });
}

async function* listFiles({ config }: Hub): AsyncGenerator<{ urlHash: string; modifiedAt: number }> {
  const cache = join(config.dataDir, 'cache');
  for (const folder of await readdir(cache)) {
    if (!/^[0-9a-f]{2}$/.test(folder)) continue;
    for (const urlHash of await readdir(join(cache, folder))) {
      const found = await stat(join(cache, folder, urlHash)).catch(() => undefined);
      if (found && /^[0-9a-f]{64}$/.test(urlHash)) yield { urlHash, modifiedAt: found.mtimeMs };
    }
  }
}

function countRequest(hub: Hub, result: 'hit' | 'miss' | 'error'): void {
  bufferedCounts(hub).add('attachment_cache_requests_total', result);
}

function unavailable(reason: string): HttpError {
  return new HttpError(404, `The publisher’s file is not available: ${reason}`);
}

function tooMany(hub: Hub): HttpError {
  return metLimit(hub, 'cache-fetches', 10, 'The hub is fetching too many files from publishers at the same time.');
}
