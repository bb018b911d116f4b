import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { createSlots } from '../../platform/limit-concurrency.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { ownTurn } from '../../platform/turns.ts';
import { audit, type By } from '../audit/audit.ts';
import { discoverFeed } from '../feeds/discover-feed.ts';
import { basicAuthorization, keepPassword, type FeedPassword } from '../feeds/feed-passwords.ts';
import type { FetchedFeed } from '../feeds/fetch-feed.ts';
import type { FeedLink } from '../feeds/page-links.ts';
import { openFeed, type OpenedFeed } from '../feeds/sync-source.ts';
import { follows } from '../follows/follow-store.ts';
import { metLimit, once, takeTurn, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { followSource } from '../reading/follow-source.ts';
import { contentFull, isContentFull } from '../sources/content-quota.ts';
import { contentUsage } from '../sources/content-usage-store.ts';
import { sources, TITLE_MAX, type Source } from '../sources/source-store.ts';
import { createWebhook, type WebhookAccess } from '../webhooks/manage-webhooks.ts';
import type { NewSource } from './source-fields.ts';
import { asSentence } from './source-state.ts';

const ADD_LIMIT: NamedLimit = { name: 'add-source', burst: 30, everyMs: 20 * SECOND };

/** New feeds fetched at the same time; each may take 10 MiB of memory. */
const OPENED_AT_ONCE = 2;
const WAITING = 50;

export type AddedSource = { source: Source; webhook: WebhookAccess | null; isNew: boolean };

const slots = once((hub: Hub) => createSlots(OPENED_AT_ONCE, WAITING,
  () => metLimit(hub, 'add-source-at-once', 10, 'Too many feeds are being added at once.')));

/**
 * Adds a source to the hub and to the viewer's reading list; without a password, if the hub has the feed as a public
 * source of somebody else, only follows that source. Fetches a feed before storing it.
 */
export async function addSource(hub: Hub, wanted: NewSource, by: By): Promise<AddedSource> {
  const { url, password, folder } = wanted;
  const known = url === undefined || password ? undefined : followKnown(hub, url, folder, by.viewer);
  if (known) return known;
  if (sourcesLeft(hub, by.viewer.id) === 0) throw tooManySources(hub); // no feed is fetched for a full account
  const isFull = url !== undefined && isContentFull(hub, contentUsage(hub).of(by.viewer.id));
  if (isFull) throw contentFull(hub);
  const opened = url === undefined ? null : await openWanted(hub, url, by.viewer.id, password);
  return hub.db.write('add source', () => storeSource(hub, wanted, opened, by));
}

export function sourcesLeft(hub: Hub, ownerId: number): number {
  return Math.max(0, hub.config.sourcesMax - (sources(hub).countOwned([ownerId]).get(ownerId) ?? 0));
}

/** The 422 error for an account that has reached `SOURCES_MAX`. */
export function tooManySources(hub: Hub): HttpError {
  const reason = `An account may have at most ${hub.config.sourcesMax} sources on this hub. Delete a source first.`;
  return metLimit(hub, 'sources-max', 0, reason);
}

async function openWanted(
  hub: Hub, url: string, ownerId: number, password: FeedPassword | null | undefined,
): Promise<OpenedFeed> {
  refuseDuplicate(hub, url, ownerId);
  const authorization = password ? basicAuthorization(password) : undefined;
  const opened = await lookOnce(hub, ownerId, () => openFeed(hub, url, authorization));
  return { ...opened, title: excerpt(opened.title, TITLE_MAX) || new URL(url).host };
}

/** Calls `look`, which fetches a feed, within the limits on adding feeds. Throws 422 for an unreadable feed. */
export async function lookOnce<Seen>(hub: Hub, accountId: number, look: () => Promise<Seen>): Promise<Seen> {
  takeTurn(hub, ADD_LIMIT, String(accountId));
  const seen = await slots(hub)(() => look().catch(refuseUnreadable), accountId);
  await ownTurn();
  return seen;
}

function storeSource(hub: Hub, wanted: NewSource, opened: OpenedFeed | null, by: By): AddedSource {
  const { kind, password, folder } = wanted;
  const ownerId = by.viewer.id;
  const known = opened && !password ? followKnown(hub, opened.url, folder, by.viewer) : undefined;
  if (known) return known;
  if (opened) refuseDuplicate(hub, opened.url, ownerId);
  if (sourcesLeft(hub, ownerId) === 0) throw tooManySources(hub);
  const title = wanted.title ?? opened?.title ?? '';
  const visibility = password ? 'private' : wanted.visibility ?? 'public';
  const source = { ownerId, kind, visibility, title, titleIsOwn: wanted.title !== undefined } as const;
  const id = sources(hub).create(source, opened && { url: opened.url, nextSyncAt: hub.clock() });
  if (password) keepPassword(hub, id, password);
  follows(hub).follow(ownerId, id, 0);
  follows(hub).change(ownerId, id, { folder });
  opened?.store(id); // stores posts after the follow, because rules act on posts of followed sources
  const webhook = kind === 'webhook' ? createWebhook(hub, id) : null;
  audit(hub, 'source.created', by, { kind: 'source', id, name: title });
  const created = sources(hub).find(id);
  if (!created) throw new Error('source was not created');
  return { source: created, webhook, isNew: true };
}

function followKnown(
  hub: Hub, url: string, folder: string | undefined, viewer: Viewer,
): AddedSource | undefined {
  const known = sources(hub).idOfFeed(url, viewer.id) === undefined ? sources(hub).publicFeed(url) : undefined;
  if (!known) return undefined;
  followSource(hub, viewer, known.id, { folder });
  return { source: known, webhook: null, isNew: false };
}

/** Throws status 409 if the account has a source of the feed. */
export function refuseDuplicate(hub: Hub, url: string, ownerId: number): void {
  const known = sources(hub).idOfFeed(url, ownerId);
  if (known === undefined) return;
  const detail = 'You already follow this feed.';
  throw new HttpError(409, detail, { errors: [{ pointer: '/url', detail }], members: { sourceId: known } });
}

function refuseUnreadable(error: unknown): never {
  const isOurs = [TypeError, RangeError, HttpError].some((kind) => error instanceof kind);
  if (!(error instanceof Error) || isOurs || codeOf(error) !== undefined) throw error;
  throw invalid([{ pointer: '/url', detail: asSentence(error.message) }]);
}

const NEWEST = 5;
const OTHERS_SHOWN = 20;

type FoundItem = { title: string; publishedAt: number | null };

export type FoundFeed = {
  url: string;
  title: string;
  description: string | null;
  items: FoundItem[];
  others: FeedLink[];
  known: { id: number; isOwn: boolean } | undefined;
};

/** Fetches a feed without storing it. */
export async function lookAtFeed(hub: Hub, { url, password }: NewSource, by: By): Promise<FoundFeed> {
  const authorization = password ? basicAuthorization(password) : undefined;
  const options = { guess: true, authorization };
  const fetched = await lookOnce(hub, by.viewer.id, () => discoverFeed(hub, url ?? '', options));
  return { ...shown(fetched), known: password ? undefined : knownSource(hub, fetched.url, by.viewer.id) };
}

function shown({ url, feed, advertised = [] }: FetchedFeed): Omit<FoundFeed, 'known'> {
  const newest = (feed?.items ?? []).toSorted((a, b) => (b.publishedAt ?? 0) - (a.publishedAt ?? 0)).slice(0, NEWEST);
  return {
    url,
    title: excerpt(feed?.title ?? '', TITLE_MAX) || new URL(url).host,
    description: feed?.description ? excerpt(feed.description, TITLE_MAX) : null,
    items: newest.map(({ title, publishedAt }) =>
      ({ title: excerpt(singleLine(title), TITLE_MAX) || 'A post without a title', publishedAt })),
    others: advertised.filter((link) => link.url !== url).slice(0, OTHERS_SHOWN),
  };
}

/** Finds the viewer's own source of a feed, else a public source; never reveals another account's private source. */
function knownSource(hub: Hub, url: string, viewerId: number): FoundFeed['known'] {
  const own = sources(hub).idOfFeed(url, viewerId);
  if (own !== undefined) return { id: own, isOwn: true };
  const known = sources(hub).publicFeed(url);
  return known && { id: known.id, isOwn: false };
}
