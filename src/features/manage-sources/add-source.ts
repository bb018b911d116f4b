import { unescape } from 'node:querystring';
import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import { createInput, type Input } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { createSlots } from '../../platform/limit-concurrency.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { ownTurn } from '../../platform/turns.ts';
import { audit, type By } from '../audit/audit.ts';
import { discoverFeed } from '../feeds/discover-feed.ts';
import { basicAuthorization, keepPassword, type FeedPassword } from '../feeds/feed-passwords.ts';
import { withoutFeedScheme } from '../feeds/feed-address.ts';
import type { FetchedFeed } from '../feeds/fetch-feed.ts';
import type { FeedLink } from '../feeds/page-links.ts';
import { openFeed, type OpenedFeed } from '../feeds/sync-source.ts';
import { FOLDER_MAX, follows } from '../follows/follow-store.ts';
import { metLimit, once, takeTurn, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { followSource } from '../reading/follow-source.ts';
import { contentFull, isContentFull } from '../sources/content-quota.ts';
import { contentUsage } from '../sources/content-usage-store.ts';
import {
  SOURCE_KINDS, sources, TITLE_MAX, VISIBILITIES, type Source, type SourceKind, type Visibility,
} from '../sources/source-store.ts';
import { createWebhook, type WebhookAccess } from '../webhooks/manage-webhooks.ts';
import { asSentence } from './source-state.ts';

const ADD_LIMIT: NamedLimit = { name: 'add-source', burst: 30, everyMs: 20 * SECOND };

/** New feeds fetched at the same time; each may take 10 MiB of memory. */
const OPENED_AT_ONCE = 2;
const WAITING = 50;

type AddedSource = { source: Source; webhook: WebhookAccess | null; isNew: boolean };

const slots = once((hub: Hub) => createSlots(OPENED_AT_ONCE, WAITING,
  () => metLimit(hub, 'add-source-at-once', 10, 'Too many feeds are being added at once.')));

/**
 * Adds a source to the hub and to the viewer's reading list; without a password, if the hub has the feed as a public
 * source of somebody else, only follows that source. Fetches a feed before storing it.
 */
export async function addSource(hub: Hub, values: Record<string, unknown>, by: By): Promise<AddedSource> {
  const wanted = readNewSource(values);
  const { url, password, folder } = wanted;
  const known = url === null || password ? undefined : followKnown(hub, url, folder, by.viewer);
  if (known) return known;
  if (sourcesLeft(hub, by.viewer.id) === 0) throw tooManySources(hub); // no feed is fetched for a full account
  const isFull = url !== null && isContentFull(hub, contentUsage(hub).of(by.viewer.id));
  if (isFull) throw contentFull(hub);
  const opened = url === null ? null : await openWanted(hub, url, by.viewer.id, password);
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
  hub: Hub, url: string, ownerId: number, password: FeedPassword | null,
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

function storeSource(hub: Hub, wanted: WantedSource, opened: OpenedFeed | null, by: By): AddedSource {
  const { kind, visibility, password, folder } = wanted;
  const ownerId = by.viewer.id;
  const known = opened && !password ? followKnown(hub, opened.url, folder, by.viewer) : undefined;
  if (known) return known;
  if (opened) refuseDuplicate(hub, opened.url, ownerId);
  if (sourcesLeft(hub, ownerId) === 0) throw tooManySources(hub);
  const title = wanted.title ?? opened?.title ?? '';
  const source = { ownerId, kind, visibility, title, titleIsOwn: wanted.title !== undefined };
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

const PASSWORD_MAX = 1_024; // bytes

/** Characters; checked before any regular expression or parser reads an address. */
export const ADDRESS_MAX = 2_000;

type WantedSource = {
  kind: SourceKind;
  url: string | null;
  title: string | undefined;
  visibility: Visibility;
  password: FeedPassword | null;
  folder: string | undefined;
};

function readNewSource(values: Record<string, unknown>): WantedSource {
  const input = createInput(fillPassword(values));
  const kind = input.optionalChoice('kind', SOURCE_KINDS) ?? 'feed';
  if (!input.has('kind')) input.refuse('kind', 'is required.');
  input.done(); // refuses an unknown kind first, because each kind of source has other required fields
  const url = kind === 'feed' ? readAddress(input) : null;
  const rule = { max: TITLE_MAX };
  const title = kind === 'feed' ? input.optionalText('title', rule) : input.text('title', rule);
  const password = readPassword(input) ?? null;
  if (password && kind !== 'feed') input.refuse('username', 'applies only to feeds.');
  const visibility = readVisibility(input, password !== null);
  const folder = input.optionalText('folder', { max: FOLDER_MAX });
  input.done();
  return { kind, url, title, visibility: visibility ?? 'public', password, folder };
}

/** Moves a user name and password in the typed address to their own fields; drops them if either field is filled. */
export function fillPassword<Values extends Record<string, unknown>>(values: Values): Values {
  const { url: typed, username, password } = values;
  const found = typeof typed === 'string' ? feedAddress(typed) : undefined;
  if (!found?.password) return values;
  const { username: name, password: secret } = found.password;
  return { ...values, url: found.url, ...(username || password ? {} : { username: name, password: secret || null }) };
}

/** Returns a feed's user name and password; null if both fields are empty, undefined if both fields are missing. */
export function readPassword(input: Input): FeedPassword | null | undefined {
  const given = ['username', 'password'].map((name) => input.value(name));
  if (given.every((value) => value === undefined || value === '')) return input.has('username') ? null : undefined;
  const username = input.secret('username', 1, PASSWORD_MAX);
  const isAlone = input.has('password') && input.value('password') === undefined; // null: only a name, such as a token
  const password = isAlone ? '' : input.secret('password', 1, PASSWORD_MAX);
  if (/[:\p{Cc}]/u.test(username)) input.refuse('username', 'must not contain colons or control characters.');
  if (/\p{Cc}/u.test(password)) input.refuse('password', 'must not contain control characters.');
  return { username, password };
}

/** A source that has or had a password is always private. */
export function readVisibility(input: Input, hadPassword: boolean): Visibility | undefined {
  const visibility = input.optionalChoice('visibility', VISIBILITIES);
  const isOpen = hadPassword && visibility === 'public';
  if (isOpen) input.refuse('visibility', 'must be private: the feed requires, or once required, a password.');
  return hadPassword ? 'private' : visibility;
}

/** Returns '' beside an error in `input`. */
export function readAddress(input: Input): string {
  const typed = input.text('url', { max: ADDRESS_MAX });
  const { url } = feedAddress(typed) ?? {};
  if (typed && !url) input.refuse('url', 'must be the http or https address of a feed or web page.');
  return url ?? '';
}

/** An address without user name and password, which stand beside it. */
type TypedAddress = { url: string; password: FeedPassword | null };

/** Adds a missing `https://` and drops the fragment; undefined if the address is not a fetchable http(s) address. */
export function feedAddress(typed: string): TypedAddress | undefined {
  if (typed.length > ADDRESS_MAX) return undefined;
  const trimmed = withoutFeedScheme(typed);
  const isHostAndPort = /^[^/?#:.]*\.[^/?#:]*:\d/.test(trimmed);
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !isHostAndPort;
  const written = hasScheme ? trimmed : `https://${trimmed}`;
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const [username, password] = [unescape(url.username), unescape(url.password)];
  if (!isWeb || url.hostname === '' || /[:\p{Cc}]/u.test(username) || /\p{Cc}/u.test(password)) return undefined;
  [url.username, url.password, url.hash] = ['', '', ''];
  return { url: url.href, password: username || password ? { username, password } : null };
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
export async function lookAtFeed(hub: Hub, values: Record<string, unknown>, by: By): Promise<FoundFeed> {
  const { url, password } = readNewSource({ ...values, kind: 'feed' });
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
