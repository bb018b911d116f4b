import { apiTokens, sessions } from '../features/accounts/credential-store.ts';
import { requireAccount } from '../features/accounts/govern-account.ts';
import { attachments } from '../features/attachments/attachment-store.ts';
import { requestedIconSet } from '../features/attachments/icon-set.ts';
import { requestedIcon } from '../features/attachments/icon-routes.ts';
import { requestedPicture } from '../features/full-text/full-text-routes.ts';
import type { Hub } from '../features/hub/hub.ts';
import { isOfferOf } from '../features/manage-sources/answer-offer.ts';
import { imports } from '../features/manage-sources/import-store.ts';
import { requestedFile } from '../features/posts/attachment-routes.ts';
import { maySeeId, requireVisible, visibleFile } from '../features/posts/post-access.ts';
import { isKnownSource } from '../features/reading/follow-source.ts';
import { readingHistory } from '../features/reading/reading-history-store.ts';
import { savedSearches } from '../features/reading/saved-search-store.ts';
import { ownRule } from '../features/rules/change-rule.ts';
import { visibleSource } from '../features/sources/source-store.ts';
import { drafts } from '../features/writing/draft-store.ts';
import { formPath } from '../features/writing/keep-draft.ts';
import { pathId } from '../platform/http/input.ts';
import { notFound } from '../platform/http/http-error.ts';
import type { HubRequest, Viewer } from '../platform/http/router.ts';

/** Throws status 404, the same for what is missing and for what is hidden from the viewer. */
type Guard = (hub: Hub, request: HubRequest) => unknown;

/** What a parameter names, and who may name it. The first part in a route that has the parameter counts. */
const GUARDS: [part: string, guard: Guard | null][] = [
  ['/posts/:id/withdraw', own('post', (hub, id, viewer) => // the form's button may be pressed twice
    maySeeId(hub, id, viewer) || drafts(hub).formOfWithdrawn(viewer.id, id))],
  ['PATCH /api/posts/:id', own('post', (hub, id, viewer) => // or a draft, whose schedule ends
    maySeeId(hub, id, viewer) || drafts(hub).findById(viewer.id, id))],
  ['/posts/:id', (hub, { params, viewer }) => requireVisible(hub, pathId(params), viewer)],
  ['/history/:id', own('post', (hub, id, viewer) =>
    maySeeId(hub, id, viewer) || readingHistory(hub).has(viewer.id, id))],
  ['/full-texts/:id', requestedPicture],
  ['/sources/:id/follow', own('source', isKnownSource)],
  ['/sources/:id/unfollow', own('source', isKnownSource)],
  ['/sources/:id', (hub, { params, viewer }) => visibleSource(hub, pathId(params), viewer)],
  ['/sources/:source', (hub, { params, viewer }) => visibleSource(hub, pathId(params, 'source'), viewer)],
  ['/icons/:key', requestedIcon],
  ['/icon-sets/:set', requestedIconSet],
  ['/attachments/:key', requestedFile],
  ['/attachments/:id', (hub, { params, viewer }) => visibleFile(hub, attachments(hub).find(pathId(params)), viewer)],
  ['/drafts/:id', own('draft', (hub, id, viewer) => drafts(hub).list(viewer.id).some((draft) => draft.id === id))],
  ['/write/:draft', (_hub, request) => formPath(request)],
  ['/offers/:id', own('offer', isOfferOf)],
  ['/imports/:id', own('import', (hub, id, viewer) => imports(hub).find(id)?.accountId === viewer.id)],
  ['/rules/:id', own('rule', (hub, id, viewer) => ownRule(hub, viewer, id))],
  ['/searches/:id', own('saved search', (hub, id, viewer) =>
    savedSearches(hub).listOf(viewer.id).some((search) => search.id === id))],
  ['DELETE /api/sessions/:id', own('session', (hub, id, viewer) => // a token is refused, whatever the id
    viewer.via !== 'session' || isOwnSession(hub, id, viewer))],
  ['/sessions/:id', own('session', isOwnSession)],
  ['/tokens/:id', own('token', isOwnToken)],
  ['/apps/:id', own('token', isOwnToken)],
  ['/admin/accounts/:id', (hub, { params }) => requireAccount(hub, pathId(params))],
  ['/webhooks/:id', null], // its sender proves to know the secret
  // For administrators only, from whom none of these is hidden.
  ['/admin/jobs/:id', null], ['/invitations/:id', null],
  // No ids: names, secrets, and what follows an id.
  ['/:name', null], ['/:token', null], ['/:filename', null], ['/:picture', null],
  ['/:stream*', null], ['/:rest*', null],
];

/** The check of all parameters in a route's path. A parameter without a row in `GUARDS` stops the hub's start. */
export function guardOf(path: string): Guard | undefined {
  const guards = Array.from(path.matchAll(/:(\w+)/g), ([param]) => {
    const row = GUARDS.find(([part]) => path.includes(part) && part.includes(param));
    if (!row) throw new Error(`no guard knows ${param} in ${path}`);
    return row[1];
  }).filter((guard) => guard !== null);
  return guards.length === 0 ? undefined : (hub, request) => guards.forEach((guard) => guard(hub, request));
}

function own(what: string, isOwn: (hub: Hub, id: number, viewer: Viewer) => unknown): Guard {
  return (hub, { params, viewer }) => {
    if (!viewer || !isOwn(hub, pathId(params), viewer)) throw notFound(what);
  };
}

function isOwnSession(hub: Hub, id: number, viewer: Viewer): boolean {
  return sessions(hub).listOf(viewer.id).some((session) => session.id === id);
}

function isOwnToken(hub: Hub, id: number, viewer: Viewer): boolean {
  return apiTokens(hub).nameOf(id, viewer.id) !== undefined;
}
