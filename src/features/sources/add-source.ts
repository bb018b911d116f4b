import { SECOND, type Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError, invalid, tooMany } from '../../platform/http/problem.ts';
import type { Limit, RateLimits } from '../../platform/db/rate-limit-store.ts';
import type { Actor, RecordAct } from '../audit/audit.ts';
import { excerpt } from '../../platform/markup/plain-text.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { createSlots } from '../../platform/limit-concurrency.ts';
import { ADDRESS_MAX, feedAddress } from './feed-address.ts';
import { TITLE_MAX, type NewSource, type Source, type SourceStore, type Visibility } from './source-store.ts';

/** Each look at an address is a request to somebody else's server. */
const ADD_LIMIT: Limit = { name: 'add-source', burst: 30, everyMs: 20 * SECOND };

/**
 * A feed that was just fetched and read, found by autodiscovery where a page was named; `store` leaves its posts with
 * a source, in the caller's transaction. Given by app.
 */
export type OpenedFeed = { url: string; title: string; store(sourceId: number): void };
export type OpenFeed = (url: string) => Promise<OpenedFeed>;

/** Reading a large feed takes the processor for up to a second: others are served in between. */
const OPENED_AT_ONCE = 2;
const WAITING = 50;

/** What the sender of a webhook needs. The secret is told this once. */
export type WebhookAccess = { url: string; secret: string };

/** `webhook` is null for sources of other kinds. */
export type AddedSource = { source: Source; webhook: WebhookAccess | null };

export type AddSourceDeps = {
  db: Db;
  sources: SourceStore;
  openFeed: OpenFeed;
  /** Makes the webhook of a source in the caller's transaction, and says what its sender needs; given by app. */
  createWebhook(sourceId: number): WebhookAccess;
  limits: RateLimits;
  recordAct: RecordAct;
  clock: Clock;
};

export type AddingSources = ReturnType<typeof addingSources>;

/** Adds sources. A feed is fetched first: what cannot be read is refused, and its posts are there at once. */
export function addingSources(deps: AddSourceDeps) {
  const { db, sources, openFeed, createWebhook, limits, recordAct, clock } = deps;
  const slots = createSlots(OPENED_AT_ONCE, WAITING, tooManyAtOnce);
  const store = db.transaction('add source', (
    source: NewSource, opened: OpenedFeed | null, actor: Actor,
  ): AddedSource => {
    if (opened) refuseDuplicate(opened.url, source.ownerId);
    const id = sources.create(source, opened && { url: opened.url, nextSyncAt: clock() });
    opened?.store(id);
    const webhook = source.kind === 'webhook' ? createWebhook(id) : null;
    recordAct('source.created', actor, { kind: 'source', id, name: source.title });
    const created = sources.find(id);
    if (!created) throw new Error('source was not created');
    return { source: created, webhook };
  });

  function refuseDuplicate(url: string, ownerId: number): void {
    const known = sources.idOfFeed(url, ownerId);
    if (known === undefined) return;
    const detail = 'You follow this feed already.';
    throw new HttpError(409, detail, { errors: [{ pointer: '/url', detail }], members: { sourceId: known } });
  }

  async function addFeed(values: Record<string, unknown>, viewer: Viewer, actor: Actor): Promise<AddedSource> {
    const { url, title, visibility } = readFeed(values);
    refuseDuplicate(url, viewer.id);
    const wait = limits.take(ADD_LIMIT, String(viewer.id));
    if (wait > 0) throw tooMany(wait / SECOND);
    const opened = await slots(() => openFeed(url).catch(refuseUnreadable));
    const named = title ?? (excerpt(opened.title, TITLE_MAX) || new URL(url).host);
    const given = { title: named, titleIsOwn: title !== undefined };
    return store({ ownerId: viewer.id, kind: 'feed', visibility, ...given }, opened, actor);
  }

  return {
    /** 409 for a feed that this owner follows already, 422 for what is no readable feed, 429. */
    async add(values: Record<string, unknown>, viewer: Viewer, actor: Actor): Promise<AddedSource> {
      const input = createInput(values);
      const kind = input.optionalChoice('kind', ['feed', 'webhook', 'native']);
      if (values['kind'] === undefined) input.refuse('kind', 'is required.');
      input.done();
      if (kind === undefined || kind === 'feed') return addFeed(values, viewer, actor);
      const { title, visibility } = readTitled(values);
      return store({ ownerId: viewer.id, kind, title, titleIsOwn: true, visibility }, null, actor);
    },
  };
}

function tooManyAtOnce(): HttpError {
  return new HttpError(503, 'Too many feeds are being added at once.', { headers: { 'retry-after': '10' } });
}

function readFeed(values: Record<string, unknown>): { url: string; title: string | undefined; visibility: Visibility } {
  const input = createInput(values);
  const typed = input.text('url', { max: ADDRESS_MAX });
  const url = feedAddress(typed);
  if (typed && !url) input.refuse('url', 'must be the http or https address of a feed or web page.');
  const title = input.optionalText('title', { max: TITLE_MAX });
  const visibility = input.optionalChoice('visibility', ['public', 'private']) ?? 'public';
  input.done();
  return { url: url ?? '', title, visibility };
}

function readTitled(values: Record<string, unknown>): { title: string; visibility: Visibility } {
  const input = createInput(values);
  const title = input.text('title', { max: TITLE_MAX });
  const visibility = input.optionalChoice('visibility', ['public', 'private']) ?? 'public';
  input.done();
  return { title, visibility };
}

/** What went wrong on the way to the feed is for the person who named it. Faults of the hub's own stay faults. */
function refuseUnreadable(error: unknown): never {
  const isOurs = error instanceof TypeError || error instanceof RangeError;
  if (!(error instanceof Error) || isOurs || codeOf(error) !== undefined) throw error;
  throw invalid([{ pointer: '/url', detail: sentence(error.message) }]);
}

function sentence(message: string): string {
  const capital = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}
