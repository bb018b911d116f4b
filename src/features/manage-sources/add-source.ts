import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import { createInput, type Input } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { createSlots } from '../../platform/limit-concurrency.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { audit, type By } from '../audit/audit.ts';
import { basicAuthorization, keepPassword, type FeedPassword } from '../feeds/feed-passwords.ts';
import { openFeed, type OpenedFeed } from '../feeds/sync-source.ts';
import { FOLDER_MAX, follows } from '../follows/follow-store.ts';
import { metLimit, once, takeTurn, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { followSource } from '../reading/follow-source.ts';
import {
  SOURCE_KINDS, sources, TITLE_MAX, VISIBILITIES, type NewSource, type Source, type SourceKind, type Visibility,
} from '../sources/source-store.ts';
import { createWebhook, type WebhookAccess } from '../webhooks/manage-webhooks.ts';
import { asSentence } from './source-state.ts';

/** Each look at an address is a request to somebody else's server. */
const ADD_LIMIT: NamedLimit = { name: 'add-source', burst: 30, everyMs: 20 * SECOND };

/** Each may be of 10 MiB, in memory until it is recognised. */
const OPENED_AT_ONCE = 2;
const WAITING = 50;

/**
 * `webhook` is what its sender needs, with the secret, which is told this once; null for sources of other kinds.
 * `isNew`: false where the hub had the feed.
 */
type AddedSource = { source: Source; webhook: WebhookAccess | null; isNew: boolean };

const slots = once((hub: Hub) => createSlots(OPENED_AT_ONCE, WAITING,
  () => metLimit(hub, 'add-source-at-once', 10, 'Too many feeds are being added at once.')));

/**
 * Adds a source to the hub and to its adder's reading list. A feed is fetched first: what cannot be read is refused,
 * and its posts are there at once. One that the hub has publicly is followed as it is. 409 for a feed of which this
 * owner has a source, 422 for what is no readable feed, 429 when asked too often.
 */
export async function addSource(hub: Hub, values: Record<string, unknown>, by: By): Promise<AddedSource> {
  const { kind, url, title, visibility, password, folder } = readNewSource(values);
  const known = url === null || password ? undefined : followKnown(hub, url, folder, by.viewer);
  if (known) return known;
  if (sourcesLeft(hub, by.viewer.id) === 0) throw tooManySources(hub); // before anything is fetched
  const opened = url === null ? null : await openWanted(hub, url, by.viewer.id, password);
  const named = { title: title ?? opened?.title ?? '', titleIsOwn: title !== undefined };
  const source = { ownerId: by.viewer.id, kind, visibility, ...named };
  return hub.db.write('add source', () => storeSource(hub, { source, folder, opened, password }, by));
}

/** How many sources an account may still add. */
export function sourcesLeft(hub: Hub, ownerId: number): number {
  return Math.max(0, hub.config.sourcesMax - (sources(hub).countOwned([ownerId]).get(ownerId) ?? 0));
}

/** 422: the account has as many sources as it may have. */
export function tooManySources(hub: Hub): HttpError {
  const reason = `An account may have at most ${hub.config.sourcesMax} sources on this hub. Delete some first.`;
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

/** One look at what somebody names: as often as one may, and only so many at once. 422 for what cannot be read. */
export function lookOnce<Seen>(hub: Hub, accountId: number, look: () => Promise<Seen>): Promise<Seen> {
  takeTurn(hub, ADD_LIMIT, String(accountId));
  return slots(hub)(() => look().catch(refuseUnreadable), accountId);
}

type SourceToStore = {
  source: NewSource;
  folder: string | undefined;
  opened: OpenedFeed | null; // null: not a feed
  password: FeedPassword | null;
};

/** In a transaction. */
function storeSource(hub: Hub, { source, folder, opened, password }: SourceToStore, by: By): AddedSource {
  const known = opened && !password ? followKnown(hub, opened.url, folder, by.viewer) : undefined;
  if (known) return known;
  if (opened) refuseDuplicate(hub, opened.url, source.ownerId);
  if (sourcesLeft(hub, source.ownerId) === 0) throw tooManySources(hub);
  const id = sources(hub).create(source, opened && { url: opened.url, nextSyncAt: hub.clock() });
  if (password) keepPassword(hub, id, password);
  opened?.store(id);
  const webhook = source.kind === 'webhook' ? createWebhook(hub, id) : null;
  audit(hub, 'source.created', by, { kind: 'source', id, name: source.title });
  const created = sources(hub).find(id);
  if (!created) throw new Error('source was not created');
  follows(hub).follow(source.ownerId, id, 0);
  follows(hub).change(source.ownerId, id, { folder });
  return { source: created, webhook, isNew: true };
}

/** Follows somebody else's public source of the feed, where there is one and the viewer has none. */
function followKnown(
  hub: Hub, url: string, folder: string | undefined, viewer: Viewer,
): AddedSource | undefined {
  const known = sources(hub).idOfFeed(url, viewer.id) === undefined ? sources(hub).publicFeed(url) : undefined;
  if (!known) return undefined;
  followSource(hub, viewer, known.id, { folder });
  return { source: known, webhook: null, isNew: false };
}

function refuseDuplicate(hub: Hub, url: string, ownerId: number): void {
  const known = sources(hub).idOfFeed(url, ownerId);
  if (known === undefined) return;
  const detail = 'You already follow this feed.';
  throw new HttpError(409, detail, { errors: [{ pointer: '/url', detail }], members: { sourceId: known } });
}

/** What went wrong on the way to the feed is for the person who named it. Faults of the hub's own stay faults. */
function refuseUnreadable(error: unknown): never {
  const isOurs = error instanceof TypeError || error instanceof RangeError;
  if (!(error instanceof Error) || isOurs || codeOf(error) !== undefined) throw error;
  throw invalid([{ pointer: '/url', detail: asSentence(error.message) }]);
}

/** Bytes, of the user name of a feed too. */
const PASSWORD_MAX = 1_024;

/** Characters. What is longer is refused before any expression or parser looks at it. */
export const ADDRESS_MAX = 2_000;

/** A source as somebody asks for it. `url` is null for kinds that are not fetched; they have a title. */
type WantedSource = {
  kind: SourceKind;
  url: string | null;
  title: string | undefined;
  visibility: Visibility;
  password: FeedPassword | null;
  /** Of the reading list. */
  folder: string | undefined;
};

/** A source to be added, out of a JSON object or form; 422 with all that is wrong with it. */
export function readNewSource(values: Record<string, unknown>): WantedSource {
  const kind = readKind(values);
  const input = createInput(values);
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

/** User name and password of a feed; null where both are empty or null, undefined where there is nothing of them. */
export function readPassword(input: Input): FeedPassword | null | undefined {
  const given = ['username', 'password'].map((name) => input.value(name));
  if (given.every((value) => value === undefined || value === '')) return input.has('username') ? null : undefined;
  const [username, password] = ['username', 'password'].map((name) => input.secret(name, 1, PASSWORD_MAX));
  if (/[:\p{Cc}]/u.test(username ?? '')) input.refuse('username', 'must not contain colons or control characters.');
  if (/\p{Cc}/u.test(password ?? '')) input.refuse('password', 'must not contain control characters.');
  return { username: username ?? '', password: password ?? '' };
}

/** Who may see it; what is, or came, from behind a password never is for everyone. */
export function readVisibility(input: Input, hadPassword: boolean): Visibility | undefined {
  const visibility = input.optionalChoice('visibility', VISIBILITIES);
  const isOpen = hadPassword && visibility === 'public';
  if (isOpen) input.refuse('visibility', 'must be private: the feed is, or was, behind a password.');
  return hadPassword ? 'private' : visibility;
}

function readKind(values: Record<string, unknown>): SourceKind {
  const input = createInput(values);
  const kind = input.optionalChoice('kind', SOURCE_KINDS);
  if (values['kind'] === undefined) input.refuse('kind', 'is required.');
  input.done();
  return kind ?? 'feed';
}

function readAddress(input: Input): string {
  const typed = input.text('url', { max: ADDRESS_MAX });
  const url = feedAddress(typed);
  if (typed && !url) input.refuse('url', 'must be the http or https address of a feed or web page.');
  return url ?? '';
}

/**
 * A feed's address as people type it: `https://` may be left out, the fragment does not count. Undefined for what
 * cannot be fetched: another scheme, a user name in it, no host, more than ADDRESS_MAX characters.
 */
export function feedAddress(typed: string): string | undefined {
  if (typed.length > ADDRESS_MAX) return undefined;
  const trimmed = typed.trim().replace(/^feed:(\/\/)?/i, '');
  const isHostAndPort = /^[^/?#:.]*\.[^/?#:]*:\d/.test(trimmed);
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !isHostAndPort;
  const written = hasScheme ? trimmed : `https://${trimmed}`;
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const isFetchable = isWeb && url.username === '' && url.password === '' && url.hostname !== '';
  url.hash = '';
  return isFetchable ? url.href : undefined;
}
