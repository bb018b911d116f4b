import { isoTime } from '../../platform/clock.ts';
import { readBody, readJson } from '../../platform/http/body.ts';
import { nextLink, pathId, readLimit, readPage } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { decodingText } from '../../platform/markup/decode-text.ts';
import { inSteps } from '../../platform/markup/in-steps.ts';
import { iconUrl } from '../attachments/icon-views.ts';
import { follows } from '../follows/follow-store.ts';
import { sourceFullTexts } from '../full-text/source-full-text-store.ts';
import type { Hub } from '../hub/hub.ts';
import { mayManage, sources, VISIBILITIES, visibleSource, type Source } from '../sources/source-store.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import { addSource } from './add-source.ts';
import { changeSource, syncNow } from './change-source.ts';
import { exportOpml } from './opml.ts';
import { handOverSource, transferSource, type Transferred } from './give-source.ts';
import { importOpml, OPML_LIMIT } from './import-opml.ts';
import { sentOfferJson } from './offer-pages.ts';

const OPML_TYPES = /^(text\/x-opml(\+xml)?|application\/xml|text\/xml|application\/octet-stream)\b/i;

/** GET /api/sources: the public sources and the viewer's own, by pages. */
export function listSources(hub: Hub, req: HubRequest): Reply {
  const { items, next } = sourcesAfter(hub, req.viewer, req.query, readLimit(req.query));
  const followed = followedAmong(hub, req.viewer, items);
  const body = { items: items.map((source) => asJson(hub, source, req.viewer, followed)), next };
  return json(body, 200, nextLink(req.path, req.query, next));
}

/** Returns up to `limit` public sources and own sources of the viewer, after the source in `?cursor=`. */
export function sourcesAfter(hub: Hub, viewer: Viewer | null, query: URLSearchParams, limit: number) {
  return readPage<Source, 'id'>(query, ['id'], (after, most) => sources(hub).list(viewer, after?.id ?? 0, most), limit);
}

/** GET /api/sources/:id. */
export function showSourceJson(hub: Hub, req: HubRequest): Reply {
  return json(asJson(hub, visibleSource(hub, pathId(req.params), req.viewer), req.viewer));
}

/** POST /api/sources: answers 201 with a new source, 200 with a source that already exists. */
export async function createSource(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { source, webhook, isNew } = await addSource(hub, await readJson(req), req);
  const shown = asJson(hub, source, req.viewer);
  if (!isNew) return json(shown);
  const body = webhook ? { ...shown, webhook: { ...shown.webhook, ...webhook } } : shown;
  const noStore = webhook ? { 'cache-control': 'no-store' } : {};
  return json(body, 201, { location: `${hub.config.baseUrl}/api/sources/${source.id}`, ...noStore });
}

/** PATCH /api/sources/:id: changes the given fields of a source; answers with the changed source. */
export async function changeSourceJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  return json(asJson(hub, await changeSource(hub, id, await readJson(req), req), req.viewer));
}

/** POST /api/sources/:id/sync: makes a feed due now; answers 202 with the source. */
export function syncSourceJson(hub: Hub, req: MemberRequest): Reply {
  return json(asJson(hub, syncNow(hub, pathId(req.params), req.viewer), req.viewer), 202);
}

/** POST /api/sources/:id/transfer: answers with the transferred source, or 202 with the offer that was made. */
export async function transferSourceJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  return transferredJson(hub, await transferSource(hub, id, await readJson(req), req), req.viewer);
}

/** POST /api/sources/:id/hand-over: answers with the transferred source, or 202 with the offer that was made. */
export async function handOverJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  return transferredJson(hub, await handOverSource(hub, pathId(req.params), req), req.viewer);
}

function transferredJson(hub: Hub, { source, offer }: Transferred, viewer: Viewer): Reply {
  return offer ? json({ offer: sentOfferJson(offer) }, 202) : json(asJson(hub, source, viewer));
}

/** GET /api/sources.opml: the viewer's feeds as OPML 2.0. */
export function downloadOpml(hub: Hub, { viewer }: MemberRequest): Reply {
  const headers = {
    'content-type': 'text/x-opml; charset=utf-8', 'content-disposition': 'attachment; filename="content-hub.opml"',
    'cache-control': 'no-store', // the addresses of feeds may contain secrets
  };
  return { status: 200, headers, body: exportOpml(hub, viewer.id) };
}

/** POST /api/sources/import: adds feeds of an OPML document. Throws 400 for a bad visibility, 415 for another type. */
export async function importOpmlJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const wanted = req.query.get('visibility') ?? 'public';
  const visibility = VISIBILITIES.find((one) => one === wanted);
  if (!visibility) throw new HttpError(400, `visibility must be one of ${VISIBILITIES.join(', ')}.`);
  const contentType = req.headers['content-type'] ?? '';
  if (!OPML_TYPES.test(contentType)) {
    throw new HttpError(415, 'The body must be an OPML document, as text/x-opml or application/xml.');
  }
  const document = await inSteps(decodingText(await readBody(req, OPML_LIMIT), contentType));
  return json(await importOpml(hub, document, visibility, req));
}

function asJson(hub: Hub, source: Source, viewer: Viewer | null, followed = followedAmong(hub, viewer, [source])) {
  const isFollowed = followed && followed.has(source.id);
  return sourceJson(hub, source, { isOwner: mayManage(source, viewer), isFollowed });
}

function followedAmong(hub: Hub, viewer: Viewer | null, all: Source[]): Set<number> | null {
  return viewer && follows(hub).followedAmong(viewer.id, all.map(({ id }) => id));
}

type Asking = { isOwner: boolean; isFollowed: boolean | null };

/** A source in the API and in the export; with `isOwner`, also what only its managers may see. */
export function sourceJson(hub: Hub, source: Source, { isOwner, isFollowed }: Asking) {
  const { id, kind, title, visibility, owner, feedUrl, siteUrl, description } = source;
  const webhook = isOwner && kind === 'webhook' ? webhooks(hub).find(id) : undefined;
  return {
    id, kind, title, visibility,
    owner: { id: source.ownerId, displayName: owner },
    ...(kind === 'feed' ? { siteUrl, description } : {}),
    state: source.state,
    paused: source.state === 'paused',
    iconUrl: iconUrl(hub, id),
    ...(isFollowed === null ? {} : { followed: isFollowed }),
    ...(isOwner && kind === 'native' ? { showsAuthors: source.showsAuthors === 1 } : {}),
    ...(isOwner && kind === 'feed' ? { hasPassword: source.hasPassword === 1 } : {}),
    ...(isOwner && kind !== 'native' ? { fullText: sourceFullTexts(hub).find(id).isAlways ? 'always' : 'asked' } : {}),
    // The address of a feed may contain a secret.
    ...(isOwner ? { url: feedUrl, stateReason: source.stateReason, nextSyncAt: isoTime(source.nextSyncAt) } : {}),
    ...(webhook ? { webhook: { state: webhook.state, lastEventAt: isoTime(webhook.lastEventAt) } } : {}),
    lastSyncAt: isoTime(source.lastSyncAt),
    lastSuccessAt: isoTime(source.lastSuccessAt),
    createdAt: isoTime(source.createdAt),
    updatedAt: isoTime(source.updatedAt),
  };
}
