import type { IncomingMessage } from 'node:http';
import { readBody } from '../../platform/http/body.ts';
import { essenceOf } from '../../platform/http/headers.ts';
import { MULTIPART_SHAPE, readMultipart } from '../../platform/http/read-multipart.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, text, type Reply, type ReplyHeaders } from '../../platform/http/reply.ts';
import type { Caller, HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { accounts } from '../accounts/account-store.ts';
import { appPasswordOf, authenticateApp, viewerOfApp } from '../accounts/authenticate.ts';
import { signInLimitsOf } from '../accounts/passwords.ts';
import { takeTurns, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';

/** A request of an app. `values`: the parameters of the request's query and body together. */
export type AppRequest = Omit<MemberRequest, 'query'> & { values: URLSearchParams };
export type AppHandler = (hub: Hub, request: AppRequest) => Reply | Promise<Reply>;

/** The most bytes in the body of an app's request (10,000 ids take 610 kB), with and without Authorization header. */
const BODY_BYTES = 1024 * 1024;
const UNKNOWN_BODY_BYTES = 64 * 1024;
const LONG_BODY = 64 * 1024;

/** The most parameters of a form body, parsed in about 10 ms. RSS Guard sends the ids of 9,999 posts at once. */
const MAX_VALUES = 20_000;
const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** A 200 reply with plain text, by default `OK`; apps check that the whole body is `OK`. */
export function plain(body = 'OK', headers: ReplyHeaders = {}): Reply {
  return text(body, PLAIN_TEXT, headers);
}

/** The reply to an app's refused request: one line of text, because apps parse neither pages nor problem details. */
export function refuseApp({ status, message, headers }: HttpError): Reply {
  const line = status === 401 ? 'Error=BadAuthentication' : message;
  return { status, headers: { 'content-type': PLAIN_TEXT, ...headers }, body: `${line}\n` };
}

/** The options of a route for apps: who may call it, and how it refuses a request. */
export function appAccess(hub: Hub, handler: AppHandler) {
  const signedOut = (request: HubRequest): Promise<Reply> => answerByToken(hub, request, handler);
  return { ...appHeaderAccess(hub), signedOut };
}

/** The options of a route whose body, such as OPML, cannot contain a token: apps must send the Authorization header. */
export function appHeaderAccess(hub: Hub) {
  const authenticate = (req: IncomingMessage): Caller => authenticateApp(hub, req);
  return { authenticate, refusal: refuseApp };
}

/** Answers the request of an app that has sent its app password in the Authorization header. */
export async function answerApp(hub: Hub, request: MemberRequest, handler: AppHandler): Promise<Reply> {
  return handler(hub, { ...request, values: await readValues(request, BODY_BYTES) });
}

/** Answers a POST whose parameter `T` is an app password, because Liferea sends no Authorization header. Throws 401. */
async function answerByToken(hub: Hub, request: HubRequest, handler: AppHandler): Promise<Reply> {
  if (request.method !== 'POST' || request.headers.authorization !== undefined) throw notSignedIn();
  const values = await readValues({ ...request, recheck: () => {} }, UNKNOWN_BODY_BYTES);
  const token = (values.get('T') ?? '').trim();
  const requireViewer = (): Viewer => {
    const viewer = token === '' ? null : viewerOfApp(hub, token, request.stream);
    if (!viewer) throw notSignedIn();
    return viewer;
  };
  return handler(hub, { ...request, viewer: requireViewer(), values, recheck: requireViewer });
}

function notSignedIn(): HttpError {
  const headers = { 'www-authenticate': 'GoogleLogin realm="Content Hub"' };
  return new HttpError(401, 'Sign in with an app password.', { headers });
}

/** The parameters of query and body. The body may have any media type: some apps send no type or a wrong type. */
async function readValues(request: HubRequest, limit: number): Promise<URLSearchParams> {
  const { query, method, stream } = request;
  if (method !== 'POST') return query;
  if (essenceOf(stream.headers['content-type']) === 'multipart/form-data') {
    const limits = { ...MULTIPART_SHAPE, bytes: limit, files: 0, fileBytes: 0 };
    const fields = await readMultipart(request, limits, async () => {});
    const pairs = [...fields].flatMap(([name, all]) => all.map((value): [string, string] => [name, value]));
    return withQuery(new URLSearchParams(pairs), query);
  }
  const body = await readBody(request, limit);
  if (body.length > LONG_BODY) await nextTurn();
  if (countSeparators(body) >= MAX_VALUES) {
    throw new HttpError(413, `A request may have at most ${MAX_VALUES} parameters.`);
  }
  return withQuery(new URLSearchParams(body.toString('utf8')), query);
}

function countSeparators(form: Buffer): number {
  let separators = 0;
  for (let at = form.indexOf('&'); at >= 0; at = form.indexOf('&', at + 1)) separators++;
  return separators;
}

function withQuery(values: URLSearchParams, query: URLSearchParams): URLSearchParams {
  for (const [name, value] of query) values.append(name, value);
  return values;
}

const SIGN_IN_BYTES = 16 * 1024;

/**
 * Signs in an app; its token is the app password. Throws 401 for a wrong name or password, 429 after many failures. The
 * right app password needs no wait, as nobody guesses its 24 random characters.
 */
export async function clientLogin(hub: Hub, request: HubRequest): Promise<Reply> {
  const values = await readValues(request, SIGN_IN_BYTES);
  const [username, password] = ['Email', 'Passwd'].map((name) => (values.get(name) ?? '').trim());
  if (!username || !password) throw notSignedIn();
  const viewer = viewerOfApp(hub, password, request.stream);
  if (!viewer || accounts(hub).findByName(username)?.id !== viewer.id) {
    takeTurns(hub, appLimitsOf(hub, { username, address: request.address }));
    throw notSignedIn();
  }
  const tokens = { SID: password, LSID: 'null', Auth: password };
  if (values.get('output') === 'json') return json(tokens);
  return plain(Object.entries(tokens).map(([name, value]) => `${name}=${value}\n`).join(''));
}

/** The limits of an app’s sign-in. An app with an old app password uses up no attempt to sign in on a page. */
function appLimitsOf(hub: Hub, attempt: { username: string; address: string }): [NamedLimit, string][] {
  return signInLimitsOf(hub, attempt).taken.map(([limit, who]) => [{ ...limit, name: 'sign-in-app' }, who]);
}

/** GET token: the token that apps send with each POST (as `T`), which may replace the POST's Authorization header. */
export function showToken(_hub: Hub, request: AppRequest): Reply {
  return plain(appPasswordOf(request) ?? '', { 'cache-control': 'no-store' });
}

/** GET check/compatibility: whether the Authorization header arrives, which some proxies drop. */
export function checkCompatibility(_hub: Hub, { headers }: HubRequest): Reply {
  const fault = 'no Authorization header arrived, so the proxy before the hub drops it';
  return plain(headers.authorization ? 'PASS' : `FAIL: ${fault}.`);
}

/** GET preference/list and preference/stream/list: the hub stores no preferences of apps. */
export function showPreferences(): Reply {
  return json({ prefs: [], streamprefs: {} });
}

/** GET user-info: the id and the name of the viewer's account. */
export function showUser(_hub: Hub, { viewer: { id, username } }: AppRequest): Reply {
  return json({ userId: String(id), userName: username, userProfileId: String(id), userEmail: username });
}

const CALL = /^\/+(?:api\/+greader\.php\/*)*(accounts|check|reader\/+(?:api\/+0|atom))\/+(.*)$/;
const OTHER = /^\/+api\/+greader\.php(?:\/+api\/+greader\.php)*(?:\/+(.*))?$/;

/**
 * Maps a path of the Google Reader API to the path of the hub's route. People type the base address with or without
 * `/api/greader.php`, and apps append a call, also a second `/api/greader.php`, with doubled or missing slashes. Paths
 * outside the Google Reader API stay as they are.
 */
export function canonicalReaderPath(path: string): string {
  const [, start, call] = CALL.exec(path) ?? [];
  if (start !== undefined) return `/${start.replaceAll(/\/+/g, '/')}/${call}`;
  const other = OTHER.exec(path);
  return other ? `/reader/${other[1] ?? ''}`.replace(/\/$/, '') : path;
}
