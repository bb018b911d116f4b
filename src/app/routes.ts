import { anything } from '../platform/http/fields.ts';
import { notFound } from '../platform/http/http-error.ts';
import { json, type Reply } from '../platform/http/reply.ts';
import {
  route, type Access, type HubRequest, type Operation, type Pattern, type RequestFor, type Route, type RouteSettings,
} from '../platform/http/router.ts';
import * as accountPages from '../features/accounts/account-pages.ts';
import { ACCOUNT_ROUTES } from '../features/accounts/account-acts.ts';
import * as apps from '../features/accounts/app-pages.ts';
import { INVITATION_ROUTES } from '../features/accounts/invitation-list.ts';
import { PREFERENCE_ROUTES } from '../features/accounts/preference-acts.ts';
import { SIGN_IN_ROUTES } from '../features/accounts/sign-in-routes.ts';
import { TOKEN_ROUTES } from '../features/accounts/token-acts.ts';
import * as governing from '../features/admin/account-list.ts';
import { GOVERNING_ROUTES } from '../features/admin/govern-acts.ts';
import { LOOK_ROUTES, showLook } from '../features/admin/hub-look-pages.ts';
import { JOB_ROUTES } from '../features/admin/job-list.ts';
import { stepsAboveList } from '../features/admin/next-steps.ts';
import * as overview from '../features/admin/overview-pages.ts';
import { ALERT_ROUTES } from '../features/alerts/alert-list.ts';
import * as icons from '../features/attachments/icon-routes.ts';
import { showIconSet } from '../features/attachments/icon-set.ts';
import * as fullText from '../features/full-text/full-text-routes.ts';
import * as leavingPages from '../features/leaving/leaving-pages.ts';
import { FOLLOW_ROUTES } from '../features/manage-sources/follow-acts.ts';
import * as importing from '../features/manage-sources/import-pages.ts';
import * as manySources from '../features/manage-sources/many-sources-pages.ts';
import { OFFER_ROUTES } from '../features/manage-sources/offer-acts.ts';
import { OPML_ROUTES } from '../features/manage-sources/opml-routes.ts';
import { SOURCE_ROUTES } from '../features/manage-sources/source-acts.ts';
import * as sourcePages from '../features/manage-sources/source-pages.ts';
import { NOTIFICATION_ROUTES } from '../features/notifications/notification-acts.ts';
import { showNotifications } from '../features/notifications/notification-list.ts';
import * as files from '../features/posts/attachment-routes.ts';
import * as expressions from '../features/posts/expression-views.ts';
import * as deletion from '../features/posts/delete-post-pages.ts';
import * as feeds from '../features/posts/output-feed-routes.ts';
import * as publicPages from '../features/posts/public-pages.ts';
import * as history from '../features/reading/history-list.ts';
import { LIST_ROUTES } from '../features/reading/list-acts.ts';
import * as listPages from '../features/reading/list-pages.ts';
import { MARK_ROUTES } from '../features/reading/mark-acts.ts';
import * as readPosts from '../features/reading/post-in-list-pages.ts';
import * as reading from '../features/reading/reading-routes.ts';
import { SEARCH_ROUTES } from '../features/reading/saved-searches.ts';
import * as rulePages from '../features/rules/rule-pages.ts';
import { RULE_ROUTES } from '../features/rules/rule-acts.ts';
import * as readerEdits from '../features/reader-api/edit-tags.ts';
import { showItemFeed } from '../features/reader-api/item-feed.ts';
import * as readerItems from '../features/reader-api/item-lists.ts';
import { WEBHOOK_ROUTES } from '../features/webhooks/webhook-acts.ts';
import { WRITING_ROUTES } from '../features/writing/write-acts.ts';
import * as writePages from '../features/writing/write-pages.ts';
import * as readerSubscriptions from '../features/reader-api/subscriptions.ts';
import {
  answerApp, appAccess, appHeaderAccess, checkCompatibility, clientLogin, plain, refuseApp, showPreferences, showToken,
  showUser, type AppHandler,
} from '../features/reader-api/reader-request.ts';
import { HEALTH_ROUTES } from '../features/health/health-routes.ts';
import type { Endpoint } from '../features/hub/acts.ts';
import type { Hub } from '../features/hub/hub.ts';
import { ADMIN_LISTS } from './frame/admin-lists.ts';
import { assets, showManifest } from './frame/assets.ts';
import { guardOf } from './id-guards.ts';
import { openApi, type Info } from './openapi.ts';

type Options = RouteSettings & { operation?: Operation; signedOut?: Handler<'public'> };
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

  ...endpoints(SIGN_IN_ROUTES),
  at('GET /join/:token', 'public', 'Page: join by an invitation', accountPages.showJoin),
  at('POST /join/:token', 'public', 'Form: join', accountPages.submitJoin),
  at('GET /new-password/:token', 'public', 'Page: choose a new password by a link', accountPages.showNewPassword),
  at('POST /new-password/:token', 'public', 'Form: choose a new password', accountPages.submitNewPassword, REPAIRS),
  at('GET /sign-in', 'public', 'Page: sign in', accountPages.showSignIn),
  at('POST /sign-in', 'public', 'Form: sign in', accountPages.submitSignIn, REPAIRS),
  at('POST /sign-out', 'member', 'Form: sign out', accountPages.submitSignOut, REPAIRS),

  ...endpoints([...ACCOUNT_ROUTES, ...PREFERENCE_ROUTES, ...TOKEN_ROUTES]),
  at('GET /settings', 'member', 'Page: account settings', accountPages.showSettings),
  at('GET /settings/apps', 'member', 'Page: app passwords, and how to connect apps', apps.showApps),
  at('GET /settings/apps/check', 'member', 'Page: whether the Authorization header arrives', apps.showHeaderCheck),

  ...endpoints(leavingPages.LEAVING_ROUTES),
  at('GET /settings/delete', 'member', 'Page: confirm deleting the account', leavingPages.showLeave),
  at('GET /goodbye', 'public', 'Page: the account is deleted', leavingPages.showGoodbye),

  ...endpoints(INVITATION_ROUTES),

  ...endpoints(NOTIFICATION_ROUTES),
  at('GET /notifications', 'member', 'Page: notifications', showNotifications),

  ...endpoints(SOURCE_ROUTES),
  ...endpoints(OPML_ROUTES),
  ...endpoints(OFFER_ROUTES),
  ...endpoints(icons.ICON_ROUTES),
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

  ...endpoints(FOLLOW_ROUTES),
  ...endpoints(MARK_ROUTES),
  ...endpoints(LIST_ROUTES),
  at('GET /reading/now', 'member', 'For the script hub.js: state of posts, and counts', reading.showNow),
  at('GET /reading/fresh', 'member', 'For the script hub.js: number of new posts', reading.showFresh),
  ...endpoints(deletion.DELETE_POST_ROUTES),
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
  ...endpoints(fullText.FULL_TEXT_ROUTES),
  at(
    'GET /full-texts/:id/:picture', 'public', 'File: a picture in the full text of a post',
    fullText.showPictureOfFullText,
  ),
  ...endpoints(WRITING_ROUTES),
  at('GET /write', 'member', 'Page: write a post', writePages.showWrite),
  at('POST /write', 'member', 'Form: write a post, with files', writePages.submitPost, LATE_WORDS),
  at('GET /write/:draft', 'member', 'Page: go on with the draft of a post', writePages.showWrite),
  at('POST /write/:draft', 'member', 'Form: write a post, with files', writePages.submitPost, LATE_WORDS),
  at('POST /write/:draft/draft', 'member', 'Save the draft of a post while its author types', writePages.submitDraft),
  at('GET /posts/:id/edit', 'member', 'Page: change a post', writePages.showChangePost),
  at('POST /posts/:id/edit', 'member', 'Form: change a post and add files', writePages.submitPostChange, LATE_WORDS),
  at('POST /posts/:id/edit/draft', 'member', 'Save the draft of a change of a post', writePages.submitDraft),
  at('GET /posts/:id/delete', 'member', 'Page: confirm deleting a post', deletion.confirmDeletePost),

  at('GET /attachments/:key/:filename', 'public', 'File: an attachment', files.showAttachment),
  at('POST /attachments/:id/delete', 'member', 'Form: remove a file', writePages.submitDeleteAttachment, REPAIRS),

  ...endpoints(history.HISTORY_ROUTES),
  ...endpoints(SEARCH_ROUTES),

  ...endpoints(RULE_ROUTES),
  at('GET /settings/rules', 'member', 'Page: rules', rulePages.showRules),
  at(
    'GET /settings/rules/new', 'member', 'Page: add a rule; ?post=ID suggests a rule that mutes posts like the post ID',
    rulePages.showNewRule,
  ),
  at('GET /settings/rules/:id', 'member', 'Page: change a rule', rulePages.showRule),

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

  ...endpoints(HEALTH_ROUTES),

  ...endpoints(GOVERNING_ROUTES),
  at('GET /admin/accounts/:id', 'admin', 'Page: one account', governing.showAccountPage),
  at('GET /admin', 'admin', 'Page: overview', overview.showOverview),
  ...endpoints([...LOOK_ROUTES, ...ALERT_ROUTES]),
  at('GET /admin/hub', 'admin', 'Page: name, text and accent of the hub', showLook),
  ...endpoints(JOB_ROUTES),
  ...endpoints(ADMIN_LISTS.flatMap(({ routes }) => routes)),
];

/** A path without parameters wins; otherwise the first fitting route answers (`createRouter`). */
export function hubRoutes(hub: Hub): Route[] {
  return withOpenApi([...ROUTES.map((bind) => bind(hub)), ...assets(hub).routes], hub.config);
}

/** Adds the route that describes all routes under /api as OpenAPI 3.1. */
export function withOpenApi(routes: Route[], info: Info): Route[] {
  let reply: Reply | undefined;
  const describe = (): Reply => (reply ??= json(openApi(all, info)));
  const own = route('GET /api/openapi.json', 'public', 'This API as OpenAPI 3.1', describe, {
    cached: [],
    operation: { answers: { 200: { 'application/json': anything.schema }, 304: null }, proof: 'none' },
  });
  const all = [...routes, own];
  return all;
}

function at<A extends Access>(
  pattern: Pattern, access: A, summary: string, handler: Handler<A>,
  { signedOut, ...options }: Options = {},
): (hub: Hub) => Route {
  const guard = guardOf(pattern);
  return (hub) => route(pattern, access, summary, (request) => handler(hub, request as RequestFor<A>), {
    ...options, ...(signedOut && { signedOut: (request: HubRequest) => signedOut(hub, request) }),
    ...(guard && { guard: (request: HubRequest) => guard(hub, request) }),
  });
}

function endpoints(all: Endpoint[]): ((hub: Hub) => Route)[] {
  return all.map(({ pattern, summary, settings, operation, ...one }) => {
    const options = { ...settings, ...(operation && { operation }) };
    if (one.access === 'public') return at(pattern, one.access, summary, one.handler, options);
    return at(pattern, one.access, summary, one.handler, options);
  });
}

function forApps(pattern: Pattern, summary: string, handler: AppHandler, options: Options = {}) {
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
