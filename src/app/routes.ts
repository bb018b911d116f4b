import {
  changeAccountJson, createAccount, createInvitation, createSession, createToken, deleteInvitation, deleteSession,
  deleteToken, listTokens, showAccount, showJoin, showSettings, showSignIn, submitJoin, submitName,
  submitPassword, submitSignIn, submitSignOut, submitToken,
} from '../features/accounts/account-routes.ts';
import { endOtherSessions } from '../features/accounts/change-account.ts';
import { submitInvitation } from '../features/accounts/join-hub.ts';
import { deleteJob, retryJobJson } from '../features/admin/job-list.ts';
import { showOverview } from '../features/admin/overview-routes.ts';
import {
  changeSourceJson, createSource, deleteSourceJson, downloadOpml, followSource, importOpmlJson, listSources,
  showDeleteSource, showSource, showSourceJson, showSources, showTransfer, submitOpml, pauseSource, resumeSource,
  submitSource, submitSourceChange, submitTransfer, syncSourceJson, transferSourceJson, unfollowSource,
} from '../features/manage-sources/source-routes.ts';
import {
  clearHistory, listHistory, markPostRead, markPostUnread, showHistory, submitPostUnread,
} from '../features/history/history-list.ts';
import { showHealth, showMetrics } from '../features/health/health-routes.ts';
import type { Hub } from '../features/hub/hub.ts';
import {
  deleteAccount, downloadAccount, showGoodbye, showLeave, submitLeave,
} from '../features/leaving/leaving-routes.ts';
import {
  listNotifications, markNotificationsRead, showNotifications, markAllRead,
} from '../features/notifications/notification-store.ts';
import { receiveWebhookEvent, rotateWebhookSecret, submitRotateSecret } from '../features/webhooks/webhook-routes.ts';
import {
  changePost, confirmDeletePost, createAttachments, createPost, deleteAttachment, deletePost, listPosts, showAttachment,
  showChangePost, showPost, showPostJson, showPosts, showWritePost, submitDeleteAttachment, submitDeletePost,
  submitPost, submitPostChange,
} from '../features/posts/post-routes.ts';
import { showAtomFeed, showJsonFeed } from '../features/posts/output-feed-routes.ts';
import { seeOther, type Reply } from '../platform/http/reply.ts';
import { route, type Access, type HubRequest, type MemberRequest, type Route } from '../platform/http/router.ts';
import { ADMIN_LISTS } from './frame/admin-lists.ts';
import { assets } from './frame/page-frame.ts';
import { withOpenApi } from './openapi.ts';

type RequestFor<A extends Access> = A extends 'public' ? HubRequest : MemberRequest;
type Handler<A extends Access> = (hub: Hub, request: RequestFor<A>) => Reply | Promise<Reply>;

/** Every address of the hub: method and path, who may call it, what it does, and the function that answers. */
export const ROUTES: ((hub: Hub) => Route)[] = [
  // Before the pages: `/sources/:id` fits these addresses too.
  at('GET /posts.atom', 'public', 'Newest posts as Atom', showAtomFeed, { cached: true }),
  at('GET /posts.json', 'public', 'Newest posts as JSON Feed', showJsonFeed, { cached: true }),
  at('GET /sources/:id.atom', 'public', 'Posts of a source as Atom', showAtomFeed, { cached: true }),
  at('GET /sources/:id.json', 'public', 'Posts of a source as JSON Feed', showJsonFeed, { cached: true }),

  at('POST /api/accounts', 'public', 'Join by an invitation', createAccount),
  at('POST /api/session', 'public', 'Sign in', createSession),
  at('DELETE /api/session', 'member', 'Sign out', deleteSession),
  at('GET /join/:token', 'public', 'Page: join by an invitation', showJoin),
  at('POST /join/:token', 'public', 'Form: join', submitJoin),
  at('GET /sign-in', 'public', 'Page: sign in', showSignIn),
  at('POST /sign-in', 'public', 'Form: sign in', submitSignIn),
  at('POST /sign-out', 'member', 'Form: sign out', submitSignOut),

  at('GET /api/account', 'member', 'Your own account', showAccount),
  at(
    'PATCH /api/account', 'member',
    'Change your display name or password; a new password ends other sessions, API tokens keep working',
    changeAccountJson,
  ),
  at('GET /api/tokens', 'member', 'Your API tokens, without their values', listTokens),
  at('POST /api/tokens', 'member', 'Create an API token; its value is shown only once', createToken),
  at('DELETE /api/tokens/:id', 'member', 'Revoke an API token', deleteToken),
  at('GET /settings', 'member', 'Page: account settings', showSettings),
  at('POST /settings/name', 'member', 'Form: change the display name', submitName),
  at('POST /settings/password', 'member', 'Form: change the password', submitPassword),
  at('POST /settings/sessions', 'member', 'Form: end all other sessions', thenSee(endOtherSessions, '/settings')),
  at('POST /settings/tokens', 'member', 'Form: create an API token', submitToken),
  at(
    'POST /settings/tokens/:id/revoke', 'member', 'Form: revoke an API token', thenSee(deleteToken, '/settings#tokens'),
  ),

  at('DELETE /api/account', 'member', 'Delete your account: {password, confirmation: "DELETE"}', deleteAccount),
  at('GET /api/account/export', 'member', 'All your personal data as one JSON document', downloadAccount),
  at('GET /settings/delete', 'member', 'Page: confirm deleting the account', showLeave),
  at('POST /settings/delete', 'member', 'Form: delete the account', submitLeave),
  at('GET /goodbye', 'public', 'Page: the account is deleted', showGoodbye),

  at('POST /api/invitations', 'admin', 'Create an invitation link', createInvitation),
  at('DELETE /api/invitations/:id', 'admin', 'Withdraw an invitation', deleteInvitation),
  at('POST /admin/invitations', 'admin', 'Form: create an invitation', submitInvitation),
  at(
    'POST /admin/invitations/:id/withdraw', 'admin', 'Form: withdraw an invitation',
    thenSee(deleteInvitation, '/admin/invitations'),
  ),

  at('GET /api/notifications', 'member', 'Notifications, newest first; unread=1: unread ones', listNotifications),
  at(
    'POST /api/notifications/read', 'member', 'Mark notifications as read: {ids} or {all: true}', markNotificationsRead,
  ),
  at('GET /notifications', 'member', 'Page: notifications', showNotifications),
  at(
    'POST /notifications/read', 'member', 'Form: mark all notifications as read',
    thenSee(markAllRead, '/notifications'),
  ),

  at('GET /api/sources', 'public', 'Public sources, and your own; with whether you follow each', listSources),
  at('POST /api/sources', 'member', 'Add a source', createSource),
  at('GET /api/sources.opml', 'member', 'Your feeds as OPML 2.0', downloadOpml),
  at('POST /api/sources/import', 'member', 'Add the feeds of an OPML document', importOpmlJson),
  at(
    'GET /api/sources/:id', 'public', 'One source; its owner also sees the state of its feed or webhook',
    showSourceJson,
  ),
  at('PATCH /api/sources/:id', 'member', 'Change title, visibility or paused', changeSourceJson),
  at('DELETE /api/sources/:id', 'member', 'Delete a source with its posts', deleteSourceJson),
  at('POST /api/sources/:id/sync', 'member', 'Synchronise now', syncSourceJson),
  at(
    'POST /api/sources/:id/transfer', 'member', 'Transfer a source to another account: {username}', transferSourceJson,
  ),
  at('GET /sources', 'public', 'Page: sources, and adding one', showSources),
  at('POST /sources', 'member', 'Form: add a source', submitSource),
  at('POST /sources/import', 'member', 'Form: add the feeds of an OPML document', submitOpml),
  at('GET /sources/:id', 'public', 'Page: one source with its posts', showSource),
  at('POST /sources/:id', 'member', 'Form: change title and visibility', submitSourceChange),
  at('POST /sources/:id/pause', 'member', 'Form: pause', thenSee(pauseSource, '/sources/:id')),
  at('POST /sources/:id/resume', 'member', 'Form: resume', thenSee(resumeSource, '/sources/:id')),
  at('POST /sources/:id/sync', 'member', 'Form: synchronise now', thenSee(syncSourceJson, '/sources/:id')),
  at('GET /sources/:id/delete', 'member', 'Page: confirm deleting a source', showDeleteSource),
  at('POST /sources/:id/delete', 'member', 'Form: delete a source', thenSee(deleteSourceJson, '/sources')),
  at('GET /sources/:id/transfer', 'member', 'Page: transfer a source', showTransfer),
  at('POST /sources/:id/transfer', 'member', 'Form: transfer a source', submitTransfer),

  at('PUT /api/sources/:id/follow', 'member', 'Get notifications of new posts of a source', followSource),
  at('DELETE /api/sources/:id/follow', 'member', 'Stop notifications of new posts of a source', unfollowSource),
  at(
    'POST /sources/:id/follow', 'member', 'Form: get notifications of new posts', thenSee(followSource, '/sources/:id'),
  ),
  at(
    'POST /sources/:id/unfollow', 'member', 'Form: stop notifications of new posts',
    thenSee(unfollowSource, '/sources/:id'),
  ),

  at('GET /api/posts', 'public', 'Posts, newest first; q searches their words', listPosts, { cached: true }),
  at('GET /api/posts/:id', 'public', 'One post', showPostJson, { cached: true }),
  at('POST /api/posts', 'member', 'Write a post (JSON, or multipart/form-data with files)', createPost),
  at('PATCH /api/posts/:id', 'member', 'Change a post of a native source', changePost),
  at('DELETE /api/posts/:id', 'member', 'Delete a post permanently: no synchronisation brings it back', deletePost),
  at('GET /', 'public', 'Page: the timeline, and searching it', showPosts, { cached: true }),
  at('GET /posts/:id', 'public', 'Page: one post', showPost, { cached: true }),
  at('GET /sources/:id/write', 'member', 'Page: write a post', showWritePost),
  at('POST /sources/:id/posts', 'member', 'Form: write a post, with files', submitPost),
  at('GET /posts/:id/edit', 'member', 'Page: change a post', showChangePost),
  at('POST /posts/:id/edit', 'member', 'Form: change a post and add files', submitPostChange),
  at('GET /posts/:id/delete', 'member', 'Page: confirm deleting a post', confirmDeletePost),
  at('POST /posts/:id/delete', 'member', 'Form: delete a post', submitDeletePost),

  at('GET /attachments/:key/:filename', 'public', 'File: an attachment', showAttachment),
  at('POST /api/posts/:id/attachments', 'member', 'Add files to a post of a native source', createAttachments),
  at('DELETE /api/attachments/:id', 'member', 'Remove an uploaded file from its post', deleteAttachment),
  at('POST /attachments/:id/delete', 'member', 'Form: remove an uploaded file from its post', submitDeleteAttachment),

  at('PUT /api/posts/:id/read', 'member', 'Mark a post as read', markPostRead),
  at('DELETE /api/posts/:id/read', 'member', 'Mark a post as unread', markPostUnread),
  at('GET /api/history', 'member', 'Posts you have read, last read first', listHistory),
  at('DELETE /api/history', 'member', 'Clear your reading history', clearHistory),
  at('GET /history', 'member', 'Page: reading history', showHistory),
  at('POST /history/clear', 'member', 'Form: clear the reading history', thenSee(clearHistory, '/history')),
  at('POST /posts/:id/unread', 'member', 'Form: mark a post as unread', submitPostUnread),

  at(
    'POST /api/webhooks/:id', 'public', 'A signed event (Standard Webhooks 1.0, or GitHub’s form)',
    receiveWebhookEvent, { checksBearer: true }, // the signature says who sends, and nothing else does
  ),
  at('POST /api/sources/:id/webhook/rotate', 'member', 'A new webhook secret', rotateWebhookSecret),
  at('POST /sources/:id/webhook/rotate', 'member', 'Form: a new webhook secret', submitRotateSecret),

  at('GET /api/health', 'public', 'Readiness, or liveness with ?probe=live', showHealth, { anyHost: true }),
  at(
    'GET /api/metrics', 'public', 'Metrics in the Prometheus or OpenMetrics text format', showMetrics,
    { checksBearer: true, anyHost: true },
  ),

  at('GET /admin', 'admin', 'Page: overview', showOverview),
  at('POST /api/admin/jobs/:id/retry', 'admin', 'Run a failed job again', retryJobJson),
  at('DELETE /api/admin/jobs/:id', 'admin', 'Discard a failed or waiting job', deleteJob),
  at('POST /admin/jobs/:id/retry', 'admin', 'Form: run a failed job again', thenSee(retryJobJson, '/admin/jobs')),
  at('POST /admin/jobs/:id/discard', 'admin', 'Form: discard a job', thenSee(deleteJob, '/admin/jobs')),
];

/** The routes of a hub, with those of the lists for administrators. The first that fits a path wins. */
export function hubRoutes(hub: Hub): Route[] {
  return withOpenApi([
    ...ROUTES.map((bind) => bind(hub)),
    ...ADMIN_LISTS.flatMap((list) => list.routes(hub)),
    ...assets(hub).routes,
  ], hub.config);
}

/** One line of the list. Its handler is given the hub that `hubRoutes` binds. */
function at<A extends Access>(
  pattern: Parameters<typeof route>[0], access: A, summary: string, handler: Handler<A>,
  options?: Parameters<typeof route>[4],
): (hub: Hub) => Route {
  return (hub) => route(pattern, access, summary, (request) => handler(hub, request as RequestFor<A>), options);
}

/** A form that does what an act or the API does, and leads to a page then; `:id` in its path is the request's. */
function thenSee(act: (hub: Hub, request: MemberRequest) => unknown, path: string): Handler<'member'> {
  return async (hub, req) => {
    await act(hub, req);
    return seeOther(path.replace(':id', req.params['id'] ?? ''));
  };
}
