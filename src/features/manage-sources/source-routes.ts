import { isoTime } from '../../platform/clock.ts';
import { readBody, readForm, readJson } from '../../platform/http/body.ts';
import type { Html } from '../../platform/http/html.ts';
import { nextLink, pathId, readLimit, readPage } from '../../platform/http/input.ts';
import {
  HttpError, json, noContent, notFound, page, seeOther, text, type Page, type Reply,
} from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { isSyncing } from '../feeds/sync-source.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { sourcePostList } from '../posts/post-routes.ts';
import {
  manageableSource, mayManage, maySee, maySeeSource, sources, visibleSource, type Source,
} from '../sources/source-store.ts';
import { webhookUrl } from '../webhooks/manage-webhooks.ts';
import { newWebhookPage, webhookPanel } from '../webhooks/webhook-routes.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import { addSource } from './add-source.ts';
import { changeSource, deleteSource, syncNow, transferSource } from './change-source.ts';
import { exportOpml, importOpml, OPML_LIMIT } from './opml.ts';
import {
  confirmDeletePage, importedPage, sourcePage, sourcesPage, transferPage, type AddForm,
} from './source-views.ts';

const OPML_TYPES = /^(text\/x-opml(\+xml)?|application\/xml|text\/xml|application\/octet-stream)\b/i;

export function listSources(hub: Hub, req: HubRequest): Reply {
  const { items, next } = sourcesAfter(hub, req.viewer, req.query, readLimit(req.query));
  const followed = followedAmong(hub, req.viewer, items);
  const body = { items: items.map((source) => asJson(hub, source, req.viewer, followed)), next };
  return json(body, 200, nextLink(req.path, req.query, next));
}

function sourcesAfter(hub: Hub, viewer: Viewer | null, query: URLSearchParams, limit: number) {
  return readPage<Source, 'id'>(query, ['id'], (after, most) => sources(hub).list(viewer, after?.id ?? 0, most), limit);
}

export function showSourceJson(hub: Hub, req: HubRequest): Reply {
  return json(asJson(hub, visibleSource(hub, pathId(req.params), req.viewer), req.viewer));
}

export async function createSource(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { source, webhook } = await addSource(hub, await readJson(req), req);
  const shown = asJson(hub, source, req.viewer);
  const body = webhook ? { ...shown, webhook: { ...shown.webhook, ...webhook } } : shown;
  const noStore = webhook ? { 'cache-control': 'no-store' } : {};
  return json(body, 201, { location: `${hub.config.baseUrl}/api/sources/${source.id}`, ...noStore });
}

export async function changeSourceJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  return json(asJson(hub, changeSource(hub, id, await readJson(req), req), req.viewer));
}

export function deleteSourceJson(hub: Hub, req: MemberRequest): Reply {
  deleteSource(hub, pathId(req.params), req);
  return noContent();
}

export function syncSourceJson(hub: Hub, req: MemberRequest): Reply {
  return json(asJson(hub, syncNow(hub, pathId(req.params), req.viewer), req.viewer), 202);
}

export async function transferSourceJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  return json(asJson(hub, transferSource(hub, id, await readJson(req), req), req.viewer));
}

export function downloadOpml(hub: Hub, { viewer }: MemberRequest): Reply {
  // Addresses of feeds may hold secrets.
  const headers = { 'content-disposition': 'attachment; filename="content-hub.opml"', 'cache-control': 'no-store' };
  return text(exportOpml(hub, viewer.id), 'text/x-opml; charset=utf-8', headers);
}

export async function importOpmlJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const contentType = req.headers['content-type'] ?? '';
  if (!OPML_TYPES.test(contentType)) {
    throw new HttpError(415, 'The body must be an OPML document, as text/x-opml or application/xml.');
  }
  const document = decodeText(await readBody(req, OPML_LIMIT), contentType);
  return json(await importOpml(hub, document, req));
}

function asJson(hub: Hub, source: Source, viewer: Viewer | null, followed = followedAmong(hub, viewer, [source])) {
  const isFollowed = followed && followed.has(source.id);
  return sourceJson(hub, source, { isOwner: mayManage(source, viewer), isFollowed });
}

/** Those of the sources that the viewer follows; null for anonymous readers. */
function followedAmong(hub: Hub, viewer: Viewer | null, all: Source[]): Set<number> | null {
  return viewer && follows(hub).followedAmong(viewer.id, all.map(({ id }) => id));
}

/** Who asks: an owner (or administrator) sees more; `isFollowed` is null where that is nobody's question. */
type Asking = { isOwner: boolean; isFollowed: boolean | null };

/** A source as the API shows it; the owner also sees how its synchronisation goes, or whether its webhook is heard. */
export function sourceJson(hub: Hub, source: Source, { isOwner, isFollowed }: Asking) {
  const { id, kind, title, visibility, owner, feedUrl, siteUrl, description } = source;
  const webhook = isOwner && kind === 'webhook' ? webhooks(hub).find(id) : undefined;
  return {
    id, kind, title, visibility,
    owner: { id: source.ownerId, displayName: owner },
    ...(kind === 'feed' ? { siteUrl, description } : {}),
    state: source.state,
    paused: source.state === 'paused',
    ...(isFollowed === null ? {} : { followed: isFollowed }),
    ...(isOwner && kind === 'feed' ? { hasPassword: source.hasPassword === 1 } : {}),
    // The address of a feed may hold a secret in its query.
    ...(isOwner ? { url: feedUrl, stateReason: source.stateReason, nextSyncAt: isoTime(source.nextSyncAt) } : {}),
    ...(webhook ? { webhook: { state: webhook.state, lastEventAt: isoTime(webhook.lastEventAt) } } : {}),
    lastSyncAt: isoTime(source.lastSyncAt),
    lastSuccessAt: isoTime(source.lastSuccessAt),
    createdAt: isoTime(source.createdAt),
    updatedAt: isoTime(source.updatedAt),
  };
}

/** API; may be repeated. */
export function followSource(hub: Hub, req: MemberRequest): Reply {
  follows(hub).follow(req.viewer.id, knownSource(hub, req));
  return noContent();
}

/** API; may be repeated. */
export function unfollowSource(hub: Hub, req: MemberRequest): Reply {
  follows(hub).unfollow(req.viewer.id, knownSource(hub, req));
  return noContent();
}

/** The id of a source that the viewer may see, or follows: a follower can let go of one that is hidden by now. */
function knownSource(hub: Hub, { params, viewer }: MemberRequest): number {
  const id = pathId(params);
  if (!maySeeSource(hub, id, viewer) && !follows(hub).isFollowed(viewer.id, id)) throw notFound('source');
  return id;
}

const SOURCES_PER_PAGE = 100;

/** Bytes; what the API takes, with room for the percent signs that a form puts in. */
const OPML_FORM_LIMIT = 3 * OPML_LIMIT;

export function showSources(hub: Hub, req: HubRequest): Reply {
  return page(listing(hub, req.viewer, req.query, {}));
}

function listing(hub: Hub, viewer: Viewer | null, query: URLSearchParams, form: AddForm): Page {
  return sourcesPage({ ...sourcesAfter(hub, viewer, query, SOURCES_PER_PAGE), viewer, form });
}

export async function submitSource(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  try {
    const { source, webhook } = await addSource(hub, { kind: 'feed', ...withPassword(values) }, req);
    if (webhook) return page(newWebhookPage(source, webhook), 201, { 'cache-control': 'no-store' });
    return seeOther(`/sources/${source.id}`);
  } catch (problem) {
    return listingAgain(hub, req, problem, { values });
  }
}

/** What a form says of a feed's password: nothing where its fields are empty. With one a feed is private. */
function withPassword({ username, password, ...values }: Record<string, string>): Record<string, string> {
  return username || password ? { ...values, username: username ?? '', password: password ?? '', visibility: 'private' }
    : values;
}

export async function submitOpml(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { opml = '' } = await readForm(req, OPML_FORM_LIMIT);
  try {
    return page(importedPage(await importOpml(hub, opml, req)));
  } catch (problem) {
    return listingAgain(hub, req, problem, { opml });
  }
}

function listingAgain(hub: Hub, req: MemberRequest, problem: unknown, form: AddForm): Reply {
  if (!(problem instanceof HttpError) || problem.status === 401) throw problem;
  return page(listing(hub, req.viewer, new URLSearchParams(), { ...form, problem }), problem.status, problem.headers);
}

export function showSource(hub: Hub, req: HubRequest): Reply {
  return page(detail(hub, visibleSource(hub, pathId(req.params), req.viewer), req));
}

function detail(hub: Hub, source: Source, req: HubRequest, problem?: HttpError): Page {
  const mayChange = mayManage(source, req.viewer);
  return sourcePage({
    source, mayChange, problem,
    ...sourcePostList(hub, req, source.id),
    isFollowed: req.viewer && follows(hub).isFollowed(req.viewer.id, source.id),
    isSyncing: mayChange && isSyncing(hub, source.id),
    webhook: mayChange ? webhookOf(hub, source) : null,
  });
}

function webhookOf(hub: Hub, { id, kind }: Source): Html | null {
  const webhook = kind === 'webhook' ? webhooks(hub).find(id) : undefined;
  return webhook ? webhookPanel(webhook, webhookUrl(hub, id)) : null;
}

export async function submitSourceChange(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  const { title, visibility, username, password, forget } = withPassword(await readForm(req));
  const forgotten = forget ? { username: null, password: null } : {};
  try {
    changeSource(hub, id, { title, visibility, username, password, ...forgotten }, req);
    return seeOther(`/sources/${id}`);
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.status !== 422) throw problem;
    return page(detail(hub, visibleSource(hub, id, req.viewer), req, problem), problem.status);
  }
}

export function pauseSource(hub: Hub, req: MemberRequest): void {
  changeSource(hub, pathId(req.params), { paused: true }, req);
}

export function resumeSource(hub: Hub, req: MemberRequest): void {
  changeSource(hub, pathId(req.params), { paused: false }, req);
}

export function showDeleteSource(hub: Hub, req: MemberRequest): Reply {
  return page(confirmDeletePage(manageableSource(hub, pathId(req.params), req.viewer)));
}

export function showTransfer(hub: Hub, req: MemberRequest): Reply {
  return page(transferPage(manageableSource(hub, pathId(req.params), req.viewer), {}));
}

export async function submitTransfer(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  const id = pathId(req.params);
  try {
    const source = transferSource(hub, id, values, req);
    return seeOther(maySee(source, req.viewer) ? `/sources/${id}` : '/sources');
  } catch (problem) {
    if (!(problem instanceof HttpError) || ![409, 422].includes(problem.status)) throw problem;
    return page(transferPage(manageableSource(hub, id, req.viewer), { values, problem }), problem.status);
  }
}
