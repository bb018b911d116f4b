import * as accountPages from '../features/accounts/account-pages.ts';
import * as accounts from '../features/accounts/account-routes.ts';
import * as apps from '../features/accounts/app-pages.ts';
import { revokeToken } from '../features/accounts/change-account.ts';
import * as inviting from '../features/accounts/invitation-list.ts';
import { withdrawInvitation } from '../features/accounts/join-hub.ts';
import * as governing from '../features/admin/account-list.ts';
import * as look from '../features/admin/hub-look-pages.ts';
import * as jobs from '../features/admin/job-list.ts';
import { stepsAboveList } from '../features/admin/next-steps.ts';
import * as overview from '../features/admin/overview-pages.ts';
import * as alerts from '../features/alerts/alert-list.ts';
import { ICON_ROUTES } from '../features/attachments/icon-acts.ts';
import * as icons from '../features/attachments/icon-routes.ts';
import { showIconSet } from '../features/attachments/icon-set.ts';
import * as fullText from '../features/full-text/full-text-routes.ts';
import * as leavingPages from '../features/leaving/leaving-pages.ts';
import * as importing from '../features/manage-sources/import-pages.ts';
import * as manySources from '../features/manage-sources/many-sources-pages.ts';
import { OFFER_ROUTES } from '../features/manage-sources/offer-acts.ts';
import * as offers from '../features/manage-sources/offer-pages.ts';
import { OPML_ROUTES } from '../features/manage-sources/opml-routes.ts';
import { SOURCE_ROUTES } from '../features/manage-sources/source-acts.ts';
import * as sourcePages from '../features/manage-sources/source-pages.ts';
import * as notifications from '../features/notifications/notification-list.ts';
import * as files from '../features/posts/attachment-routes.ts';
import * as expressions from '../features/posts/expression-views.ts';
import * as deletion from '../features/posts/delete-post-pages.ts';
import * as feeds from '../features/posts/output-feed-routes.ts';
import * as publicPages from '../features/posts/public-pages.ts';
import * as history from '../features/reading/history-list.ts';
import * as listPages from '../features/reading/list-pages.ts';
import * as marking from '../features/reading/mark-pages.ts';
import * as readPosts from '../features/reading/post-in-list-pages.ts';
import * as posts from '../features/reading/post-routes.ts';
import * as reading from '../features/reading/reading-routes.ts';
import * as searches from '../features/reading/saved-searches.ts';
import * as rulePages from '../features/rules/rule-pages.ts';
import { RULE_ROUTES } from '../features/rules/rule-acts.ts';
import * as readerEdits from '../features/reader-api/edit-tags.ts';
import { showItemFeed } from '../features/reader-api/item-feed.ts';
import * as readerItems from '../features/reader-api/item-lists.ts';
import { WEBHOOK_ROUTES } from '../features/webhooks/webhook-acts.ts';
import * as writePages from '../features/writing/write-pages.ts';
import * as writing from '../features/writing/write-post.ts';
import * as scheduling from '../features/writing/scheduled-posts.ts';
import * as readerSubscriptions from '../features/reader-api/subscriptions.ts';
import {
  answerApp, appAccess, appHeaderAccess, checkCompatibility, clientLogin, plain, refuseApp, showPreferences, showToken,
  showUser, type AppHandler,
} from '../features/reader-api/reader-request.ts';
import { showHealth, showMetrics } from '../features/health/health-routes.ts';
import type { Endpoint } from '../features/hub/acts.ts';
import type { Hub } from '../features/hub/hub.ts';
import { pathId } from '../platform/http/input.ts';
import { notFound } from '../platform/http/http-error.ts';
import { json, noContent, seeOther, type Reply } from '../platform/http/reply.ts';
import { route, type Access, type HubRequest, type MemberRequest, type Route } from '../platform/http/router.ts';
import { API } from './api-operations.ts';
import { SCHEMAS } from './api-schemas.ts';
import { ADMIN_LISTS } from './frame/admin-lists.ts';
import { assets, showManifest } from './frame/assets.ts';
import { guardOf } from './id-guards.ts';
import { openApi, type Info } from './openapi.ts';

type RequestFor<A extends Access> = A extends 'public' ? HubRequest : MemberRequest;
type RouteOptions = Omit<NonNullable<Parameters<typeof route>[4]>, 'signedOut' | 'guard'>;
type Options = RouteOptions & { signedOut?: Handler<'public'> };
type Handler<A extends Access> = (hub: Hub, request: RequestFor<A>) => Reply | Promise<Reply>;

const LATE_WORDS = { signedOut: writePages.submitSignedOut };

/** The result of authentication for a route that reads neither cookies nor the Authorization header. */
const NOBODY = { viewer: null, hasCookie: false };

/** For acts that stay possible while the disk is down to its reserve, such as signing in or out and deleting. */
const REPAIRS = { usesReserve: true };

const ROUTES: ((hub: Hub) => Route)[] = [
  // Routes of feeds stand before routes of pages, because the page `/sources/:id` also matches the paths of feeds.
  at('GET /posts.atom', 'public', 'Newest posts as Atom', feeds.showAtomFeed, { cached: [] }),
  at('GET /posts.json', 'public', 'Newest posts as JSON Feed', feeds.showJsonFeed, { cached: [] }),
  at('GET /sources/:id.atom', 'public', 'Posts of a source as Atom', feeds.showAtomFeed, { cached: [] }),
  at('GET /sources/:id.json', 'public', 'Posts of a source as JSON Feed', feeds.showJsonFeed, { cached: [] }),

  at('POST /api/accounts', 'public', 'Join by an invitation', accounts.createAccount),
  at('POST /api/session', 'public', 'Sign in', accounts.createSession, REPAIRS),
  at('DELETE /api/session', 'member', 'Sign out', accounts.deleteSession),
  at('GET /join/:token', 'public', 'Page: join by an invitation', accountPages.showJoin),
  at('POST /join/:token', 'public', 'Form: join', accountPages.submitJoin),
  at('GET /new-password/:token', 'public', 'Page: choose a new password by a link', accountPages.showNewPassword),
  at('POST /new-password/:token', 'public', 'Form: choose a new password', accountPages.submitNewPassword, REPAIRS),
  at('GET /sign-in', 'public', 'Page: sign in', accountPages.showSignIn),
  at('POST /sign-in', 'public', 'Form: sign in', accountPages.submitSignIn, REPAIRS),
  at('POST /sign-out', 'member', 'Form: sign out', accountPages.submitSignOut, REPAIRS),

  at('GET /api/account', 'member', 'Your own account', accounts.showAccount),
  at(
    'PATCH /api/account', 'member',
    'Change your display name or password; a new password ends other sessions, API tokens keep working',
    accounts.changeAccountJson,
  ),
  at('GET /api/tokens', 'member', 'Your API tokens, without their values', accounts.listTokens),
  at('POST /api/tokens', 'member', 'Create an API token; its value is shown only once', accounts.createToken),
  at('DELETE /api/tokens/:id', 'member', 'Revoke an API token', byId(revokeToken)),
  at('GET /settings', 'member', 'Page: account settings', accountPages.showSettings),
  at('POST /settings/name', 'member', 'Form: change the display name', accountPages.submitName),
  at('POST /settings/preferences', 'member', 'Form: change preferences', accountPages.submitPreferences),
  at('POST /settings/time-zone', 'member', 'Form: store the time zone of the browser', accountPages.submitZone),
  at('POST /settings/next-steps', 'member', 'Form: hide the getting-started list', accountPages.submitStepsAway),
  at('POST /settings/password', 'member', 'Form: change the password', accountPages.submitPassword),
  at('GET /api/sessions', 'member', 'Your sessions: made, last used, address', accounts.listSessions),
  at('DELETE /api/sessions', 'member', 'End all your other sessions', accounts.deleteOtherSessions),
  at('GET /api/sessions/:id', 'member', 'One of your sessions', accounts.showSession),
  at('DELETE /api/sessions/:id', 'member', 'End one of your sessions', accounts.deleteSessionById),
  at('POST /settings/sessions', 'member', 'Form: end other sessions', accountPages.submitEndSessions, REPAIRS),
  at('POST /settings/tokens', 'member', 'Form: create an API token', accountPages.submitToken),
  at(
    'POST /settings/tokens/:id/revoke', 'member', 'Form: revoke an API token',
    thenSee(byId(revokeToken), '/settings?said=token-revoked#tokens'), REPAIRS,
  ),

  at('GET /settings/apps', 'member', 'Page: app passwords, and how to connect apps', apps.showApps),
  at('POST /settings/apps', 'member', 'Form: create an app password', apps.submitApp),
  at(
    'POST /settings/apps/:id/end', 'member', 'Form: end an app password',
    thenSee(byId(revokeToken), '/settings/apps?said=app-password-ended'), REPAIRS,
  ),
  at('GET /settings/apps/check', 'member', 'Page: whether the Authorization header arrives', apps.showHeaderCheck),

  at('DELETE /api/account', 'member', 'Delete your account', leavingPages.deleteAccount),
  at('GET /api/account/export', 'member', 'All your personal data as one JSON document', leavingPages.downloadAccount),
  at('GET /settings/delete', 'member', 'Page: confirm deleting the account', leavingPages.showLeave),
  at('POST /settings/delete', 'member', 'Form: delete the account', leavingPages.submitLeave, REPAIRS),
  at('GET /goodbye', 'public', 'Page: the account is deleted', leavingPages.showGoodbye),

  at('POST /api/invitations', 'admin', 'Create an invitation link', accounts.createInvitation),
  at('DELETE /api/invitations/:id', 'admin', 'Withdraw an invitation', byId(withdrawInvitation)),
  at('POST /admin/invitations', 'admin', 'Form: create an invitation', inviting.submitInvitation),
  at(
    'POST /admin/invitations/:id/withdraw', 'admin', 'Form: withdraw an invitation',
    thenSee(byId(withdrawInvitation), '/admin/invitations?said=invitation-withdrawn'),
  ),

  at(
    'GET /api/notifications', 'member', 'Notifications, newest first; unread=1: only unread notifications',
    notifications.listNotifications,
  ),
  at('POST /api/notifications/read', 'member', 'Mark notifications as read', notifications.markNotificationsRead),
  at('GET /notifications', 'member', 'Page: notifications', notifications.showNotifications),
  at(
    'POST /notifications/read', 'member', 'Form: mark all notifications as read',
    thenSee(notifications.markAllRead, '/notifications?said=notifications-read'),
  ),

  ...endpoints(SOURCE_ROUTES),
  ...endpoints(OPML_ROUTES),
  ...endpoints(OFFER_ROUTES),
  at('GET /offers', 'member', 'Page: offers of sources', offers.showOffers),
  ...endpoints(ICON_ROUTES),
  at('GET /icons/:key', 'public', 'File: the icon of a source', icons.showIcon),
  at('GET /icon-sets/:set', 'member', 'File: the small icons of several sources', showIconSet),
  at('GET /sources', 'public', 'Page: find sources, and change several at once', manySources.showSources),
  at('GET /sources/add', 'member', 'Page: add a source', sourcePages.showAddSource),
  at('POST /sources/several', 'member', 'Form: change several sources at once', manySources.submitSeveral, REPAIRS),
  at('GET /sources/import', 'member', 'Page: import an OPML document', importing.showImportForm),
  at('POST /sources/import', 'member', 'Form: import an OPML document', importing.submitOpml),
  at('GET /sources/imports/:id', 'member', 'Page: progress of an import, line by line', importing.showImport),
  at('GET /sources/:id', 'public', 'Page: one source with its posts', sourcePages.showSource),
  at('GET /sources/:id/settings', 'member', 'Page: settings of a source', sourcePages.showSettings),
  at('GET /sources/:id/delete', 'member', 'Page: confirm deleting a source', sourcePages.showDeleteSource),
  at('GET /sources/:id/transfer', 'member', 'Page: transfer a source', sourcePages.showTransfer),

  at(
    'PUT /api/sources/:id/follow', 'member',
    'Put a source into your reading list: {title?, folder?, notify?, hideGlobally?}; with notify its new posts make '
      + 'notifications, with hideGlobally they are in no list of all sources',
    reading.follow,
  ),
  at('DELETE /api/sources/:id/follow', 'member', 'Take a source out of your reading list', reading.unfollow),
  at('POST /sources/:id/follow', 'member', 'Form: put a source into the reading list', sourcePages.submitFollow),
  at(
    'POST /sources/:id/unfollow', 'member', 'Form: unfollow a source',
    thenSee(reading.unfollow, '/sources?said=source-unfollowed'), REPAIRS,
  ),
  at('GET /api/reading', 'member', 'How many posts are unread and starred, by folder and source', reading.showReading),
  at(
    'POST /api/reading/mark-read', 'member',
    'Mark posts as read: all, folder, source or posts, and before, upTo, below, above', reading.markReadJson,
  ),
  at('POST /api/reading/undo', 'member', 'Undo marking posts as read, within two minutes', reading.undoJson),
  at('GET /reading/now', 'member', 'For the script hub.js: state of posts, and counts', reading.showNow),
  at('GET /reading/fresh', 'member', 'For the script hub.js: number of new posts', reading.showFresh),
  at('POST /reading/mark-read', 'member', 'Form: mark posts as read', marking.submitMarkRead),
  at('POST /reading/choice', 'member', 'Form: choose the order and the posts of a list', listPages.submitChoice),
  at('POST /reading/undo', 'member', 'Form: undo marking posts as read', marking.submitUndo),
  at('PUT /api/posts/:id/star', 'member', 'Star a post, so that the hub keeps the post', posts.star),
  at('DELETE /api/posts/:id/star', 'member', 'Take the star off a post', posts.unstar),
  at('POST /posts/:id/star', 'member', 'Form: star a post, or take the star off', marking.submitStar),
  at('POST /posts/:id/read', 'member', 'Form: mark a post as read or unread', marking.submitRead),

  at(
    'GET /api/posts', 'public', 'Posts, newest first; q searches their words, view names a reading list',
    posts.listPosts, { cached: ['view', 'source', 'q', 'cursor', 'limit', 'folder'] },
  ),
  at('GET /api/posts/:id', 'public', 'One post', posts.showPostJson, { cached: [] }),
  at('POST /api/posts', 'member', 'Write a post (JSON, or multipart/form-data with files)', scheduling.createPost),
  at('PATCH /api/posts/:id', 'member', 'Change a post of a native source', scheduling.changePost),
  at(
    'DELETE /api/posts/:id', 'member', 'Delete a post for good: no synchronisation brings it back',
    byId(deletion.deletePost),
  ),
  at('GET /', 'public', 'Page: unread posts; public posts for visitors', showHome, {
    cached: ['q', 'cursor', 'limit', 'said'],
  }),
  at('GET /manifest.webmanifest', 'public', 'Web app manifest, for home screens', showManifest, { cached: [] }),
  at('GET /public', 'public', 'Page: read and search the public posts', publicPages.showPublic, {
    cached: ['q', 'cursor', 'limit'],
  }),
  ...['all', 'starred', 'muted', 'folders/:name'].map((list) =>
    at(`GET /${list}`, 'member', 'Page: posts of a reading list', listPages.showList)),
  ...['unread', 'all', 'starred', 'muted', 'folders/:name', 'sources/:source'].map((list) =>
    at(`GET /${list}/posts/:id`, 'member', 'Page: one post within a reading list', readPosts.showPostInList)),
  at('GET /posts/:id', 'public', 'Page: one post', readPosts.showPost, { cached: [] }),
  at('GET /help/search', 'public', 'Page: how searches and rules are written', expressions.showHelp, { cached: [] }),
  at('POST /api/posts/:id/full-text', 'member', 'Fetch the full text of a post', fullText.askForFullTextJson),
  at(
    'POST /posts/:id/full-text', 'member', 'Form: switch between the full text of a post and the text from its feed',
    fullText.submitTextSwitch,
  ),
  at(
    'GET /full-texts/:id/:picture', 'public', 'File: a picture in the full text of a post',
    fullText.showPictureOfFullText,
  ),
  at('POST /api/preview', 'member', 'A text as a post would show it', writing.previewText),
  at('GET /write', 'member', 'Page: write a post', writePages.showWrite),
  at('POST /write', 'member', 'Form: write a post, with files', writePages.submitPost, LATE_WORDS),
  at('POST /write/source', 'member', 'Form: make a source for the member’s own posts', writePages.submitOwnSource),
  at('GET /write/:draft', 'member', 'Page: go on with the draft of a post', writePages.showWrite),
  at('POST /write/:draft', 'member', 'Form: write a post, with files', writePages.submitPost, LATE_WORDS),
  at('POST /write/:draft/draft', 'member', 'Save the draft of a post while its author types', writePages.submitDraft),
  at('POST /drafts/:id/discard', 'member', 'Form: discard a draft', writePages.submitDiscardDraft, REPAIRS),
  at('POST /drafts/:id/restore', 'member', 'Form: restore a discarded draft', writePages.submitRestoreDraft),
  at('GET /posts/:id/edit', 'member', 'Page: change a post', writePages.showChangePost),
  at('POST /posts/:id/edit', 'member', 'Form: change a post and add files', writePages.submitPostChange, LATE_WORDS),
  at('POST /posts/:id/edit/draft', 'member', 'Save the draft of a change of a post', writePages.submitDraft),
  at('POST /api/posts/:id/withdraw', 'member', 'Take a post back into a draft', writePages.withdrawPostJson),
  at('POST /posts/:id/withdraw', 'member', 'Form: take a post back into a draft', writePages.submitWithdraw),
  at('GET /posts/:id/delete', 'member', 'Page: confirm deleting a post', deletion.confirmDeletePost),
  at('POST /posts/:id/delete', 'member', 'Form: delete a post', deletion.submitDeletePost, REPAIRS),

  at('GET /attachments/:key/:filename', 'public', 'File: an attachment', files.showAttachment),
  at('POST /api/posts/:id/attachments', 'member', 'Add files to a post of a native source', writing.createAttachments),
  at('DELETE /api/attachments/:id', 'member', 'Remove an uploaded file from its post', writing.deleteAttachment),
  at('POST /attachments/:id/delete', 'member', 'Form: remove a file', writePages.submitDeleteAttachment, REPAIRS),

  at('PUT /api/posts/:id/read', 'member', 'Mark a post as read', posts.markPostRead),
  at('DELETE /api/posts/:id/read', 'member', 'Mark a post as unread', posts.markPostUnread, { usesReserve: false }),
  at('GET /api/history', 'member', 'Posts you have read, last read first', history.listHistory),
  at('DELETE /api/history', 'member', 'Clear your reading history', history.clearHistory),
  at('GET /api/searches', 'member', 'Your saved searches', searches.listSearches),
  at('POST /api/searches', 'member', 'Save a search: {q, name?}', searches.createSearch),
  at('DELETE /api/searches/:id', 'member', 'Remove a saved search', searches.deleteSearch),
  at('POST /searches', 'member', 'Form: save a search', searches.submitSearch),
  at('POST /searches/:id/remove', 'member', 'Form: remove a saved search', searches.submitRemoveSearch, REPAIRS),

  ...endpoints(RULE_ROUTES),
  at('GET /settings/rules', 'member', 'Page: rules', rulePages.showRules),
  at(
    'GET /settings/rules/new', 'member', 'Page: add a rule; ?post=ID suggests a rule that mutes posts like the post ID',
    rulePages.showNewRule,
  ),
  at('GET /settings/rules/:id', 'member', 'Page: change a rule', rulePages.showRule),

  at('GET /history', 'member', 'Page: reading history', history.showHistory),
  at('POST /history/clear', 'member', 'Form: clear the history', thenSee(history.clearHistory, '/history'), REPAIRS),
  at('POST /history/:id/forget', 'member', 'Form: remove a post from your history', history.submitForget, REPAIRS),

  ...endpoints(WEBHOOK_ROUTES),

  // Routes of the Google Reader API. `canonicalReaderPath` maps other spellings of a path to the path of a route.
  at('GET /reader', 'public', 'Reader API: test whether the hub has the Google Reader API', () => plain()),
  at(
    'POST /accounts/ClientLogin', 'public', 'Reader API: sign in with an app password', clientLogin,
    { ...REPAIRS, authenticate: () => NOBODY, refusal: refuseApp },
  ),
  at(
    'GET /check/compatibility', 'public', 'Reader API: whether the Authorization header arrives', checkCompatibility,
  ),
  ...readsForApps('api/0/token', 'the token for POST requests', showToken),
  ...readsForApps('api/0/user-info', 'id and name of the account', showUser),
  ...readsForApps('api/0/preference/list', 'preferences of apps: none', showPreferences),
  ...readsForApps('api/0/preference/stream/list', 'preferences of apps: none', showPreferences),
  ...readsForApps('api/0/tag/list', 'folders', readerSubscriptions.listTags),
  ...readsForApps('api/0/subscription/list', 'followed sources', readerSubscriptions.listSubscriptions),
  ...readsForApps('api/0/subscription/export', 'OPML', readerSubscriptions.exportSubscriptions),
  ...readsForApps('api/0/unread-count', 'unread counts', readerSubscriptions.showUnreadCounts),
  ...readsForApps('api/0/stream/items/ids', 'post ids of a stream', readerItems.listItemIds),
  ...readsForApps('api/0/stream/items/count', 'number of posts of a stream', readerItems.countItems),
  ...readsForApps('api/0/stream/items/contents', 'posts by their ids', readerItems.showItems),
  ...readsForApps('api/0/stream/contents', 'posts of a feed or list (stream)', readerItems.listItems),
  ...readsForApps('api/0/stream/contents/:stream*', 'posts of a feed or list (stream)', readerItems.listItems),
  ...readsForApps('atom/:stream*', 'posts of a feed or list (stream) as Atom', showItemFeed),
  forApps('POST /reader/api/0/edit-tag', 'Reader API: mark and star posts', readerEdits.editTags),
  forApps('POST /reader/api/0/mark-all-as-read', 'Reader API: mark a stream as read', readerEdits.markAllAsRead),
  forApps('POST /reader/api/0/subscription/quickadd', 'Reader API: add a feed', readerSubscriptions.quickAdd),
  forApps('POST /reader/api/0/subscription/edit', 'Reader API: change follows', readerSubscriptions.editSubscriptions),
  forApps('POST /reader/api/0/rename-tag', 'Reader API: rename a folder', readerSubscriptions.renameTag),
  forApps('POST /reader/api/0/disable-tag', 'Reader API: delete a folder', readerSubscriptions.disableTags),
  (hub) => route(
    'POST /reader/api/0/subscription/import', 'member', 'Reader API: add the feeds of an OPML document',
    (request) => readerSubscriptions.importSubscriptions(hub, request), appHeaderAccess(hub),
  ),
  at('GET /accounts/:rest*', 'public', 'Reader API: refuse an unknown call', unknownCall, { refusal: refuseApp }),
  at('POST /accounts/:rest*', 'public', 'Reader API: refuse an unknown call', unknownCall, { refusal: refuseApp }),
  forApps('GET /reader/:rest*', 'Reader API: refuse an unknown call', unknownCall),
  forApps('POST /reader/:rest*', 'Reader API: refuse an unknown call', unknownCall),

  at('GET /api/health', 'public', 'Readiness of the hub, or liveness: ?probe=live', showHealth, { anyHost: true }),
  at(
    'GET /api/metrics', 'public', 'Metrics in the Prometheus or OpenMetrics text format', showMetrics,
    { checksBearer: true, anyHost: true },
  ),

  at('GET /api/admin/accounts/:id', 'admin', 'One account', governing.showAccountOf),
  at('PATCH /api/admin/accounts/:id', 'admin', 'Give an account another role or state', governing.changeAccountOf),
  at(
    'POST /api/admin/accounts/:id/reset-password', 'admin',
    'Make a link for a new password, which is shown only once', governing.createPasswordLink,
  ),
  at('GET /admin/accounts/:id', 'admin', 'Page: one account', governing.showAccountPage),
  at('POST /admin/accounts/:id', 'admin', 'Form: change an account, or make a password link', governing.submitAccount),
  at('GET /admin', 'admin', 'Page: overview', overview.showOverview),
  at('PATCH /api/admin/hub', 'admin', 'Change name, front-page text or accent of the hub', look.changeHub),
  at('POST /admin/alerts/test', 'admin', 'Form: send a test alert', alerts.submitTestAlert),
  at('GET /admin/hub', 'admin', 'Page: name, text and accent of the hub', look.showLook),
  at('POST /admin/hub', 'admin', 'Form: name, text and accent of the hub', look.submitLook),
  at('POST /api/admin/jobs/:id/retry', 'admin', 'Run a failed job again', jobs.retryJobJson),
  at('DELETE /api/admin/jobs/:id', 'admin', 'Discard a failed or waiting job', jobs.deleteJob),
  at('POST /admin/jobs/:id/retry', 'admin', 'Form: run a failed job again', thenSee(jobs.retryJobJson, '/admin/jobs')),
  at('POST /admin/jobs/:id/discard', 'admin', 'Form: discard a job', thenSee(jobs.deleteJob, '/admin/jobs')),
  ...ADMIN_LISTS.flatMap(listRoutes),
];

/** A path without parameters wins; otherwise the first fitting route answers (`createRouter`). */
export function hubRoutes(hub: Hub): Route[] {
  return withOpenApi([...ROUTES.map((bind) => bind(hub)), ...assets(hub).routes], hub.config);
}

/** Adds the route that describes all routes under /api as OpenAPI 3.1. */
export function withOpenApi(routes: Route[], info: Info): Route[] {
  let reply: Reply | undefined;
  const describe = (): Reply => (reply ??= json(openApi(all, { operations: API, schemas: SCHEMAS }, info)));
  const own = route('GET /api/openapi.json', 'public', 'This API as OpenAPI 3.1', describe, { cached: [] });
  const all = [...routes, own];
  return all;
}

function at<A extends Access>(
  pattern: Parameters<typeof route>[0], access: A, summary: string, handler: Handler<A>,
  { signedOut, ...options }: Options = {},
): (hub: Hub) => Route {
  const guard = guardOf(pattern);
  return (hub) => route(pattern, access, summary, (request) => handler(hub, request as RequestFor<A>), {
    ...options, ...(signedOut && { signedOut: (request: HubRequest) => signedOut(hub, request) }),
    ...(guard && { guard: (request: HubRequest) => guard(hub, request) }),
  });
}

function endpoints(all: Endpoint[]): ((hub: Hub) => Route)[] {
  return all.map(({ pattern, access, summary, handler, settings, operation }) =>
    at(pattern, access, summary, handler as Handler<Access>, { ...settings, ...(operation && { operation }) }));
}

function forApps(pattern: Parameters<typeof route>[0], summary: string, handler: AppHandler, options: Options = {}) {
  return (hub: Hub): Route => route(pattern, 'member', summary, (request) => answerApp(hub, request, handler),
    { ...options, ...appAccess(hub, handler) });
}

/** Calls that change nothing, which some apps send as POST. */
function readsForApps(call: string, summary: string, handler: AppHandler): ((hub: Hub) => Route)[] {
  const path = `/reader/${call}` as const;
  return [
    forApps(`GET ${path}`, `Reader API: ${summary}`, handler),
    forApps(`POST ${path}`, `Reader API: ${summary}`, handler, REPAIRS),
  ];
}

/** Answers `/`: members get their reading list, visitors the public page. */
function showHome(hub: Hub, req: HubRequest): Reply | Promise<Reply> {
  const { viewer, query } = req;
  if (!viewer) return publicPages.showPublic(hub, req);
  const isFirstPage = !query.has('q') && !query.has('cursor');
  return listPages.showList(hub, { ...req, viewer }, isFirstPage && stepsAboveList(hub, viewer));
}

function unknownCall(): never {
  throw notFound('call of the Google Reader API');
}

function listRoutes({ name, title, api, summary, answerApi, showPage }: (typeof ADMIN_LISTS)[number]) {
  return [
    at(`GET ${api}`, 'admin', summary, answerApi),
    at(`GET /admin/${name}`, 'admin', `Page: ${title.toLowerCase()}`, showPage),
  ];
}

function byId(act: (hub: Hub, id: number, request: MemberRequest) => unknown): Handler<'member'> {
  return async (hub, req) => {
    await act(hub, pathId(req.params), req);
    return noContent();
  };
}

function thenSee(act: (hub: Hub, request: MemberRequest) => unknown, path: string): Handler<'member'> {
  return async (hub, req) => {
    await act(hub, req);
    return seeOther(path.replace(':id', req.params['id'] ?? ''));
  };
}
