import type { IncomingMessage } from 'node:http';
import { readBody } from '../../platform/http/body.ts';
import { essenceOf } from '../../platform/http/headers.ts';
import { MULTIPART_SHAPE, readMultipart } from '../../platform/http/read-multipart.ts';
import { HttpError, text, type Reply, type ReplyHeaders } from '../../platform/http/reply.ts';
import type { Caller, HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { authenticateApp, viewerOfApp } from '../accounts/authenticate.ts';
import type { Hub } from '../hub/hub.ts';

/** A request of an app. `values`: the parameters of the request's query and body together. */
export type AppRequest = Omit<MemberRequest, 'query'> & { values: URLSearchParams };

export type AppHandler = (hub: Hub, request: AppRequest) => Reply | Promise<Reply>;

/** The most bytes in the body of an app's request (10,000 ids take 610 kB), with and without Authorization header. */
const BODY_BYTES = 1024 * 1024;
const UNKNOWN_BODY_BYTES = 64 * 1024;

/** Before parsing a request body longer than this, the hub lets other requests run. */
const LONG_BODY = 64 * 1024;

/** The most parameters of a body, which are parsed in about 10 ms. RSS Guard sends the ids of 9,999 posts at once. */
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

/** The options of a route for apps: who may call the route, and how the route refuses a request. */
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
  const requireViewer = (): Viewer => {
    const viewer = viewerOfToken(hub, values, request.stream);
    if (!viewer) throw notSignedIn();
    return viewer;
  };
  return handler(hub, { ...request, viewer: requireViewer(), values, recheck: requireViewer });
}

function viewerOfToken(hub: Hub, values: URLSearchParams, req: IncomingMessage): Viewer | null {
  const token = (values.get('T') ?? '').trim();
  return token === '' ? null : viewerOfApp(hub, token, req);
}

export function notSignedIn(): HttpError {
  const headers = { 'www-authenticate': 'GoogleLogin realm="Content Hub"' };
  return new HttpError(401, 'Sign in with an app password.', { headers });
}

/** The parameters of query and body. The body may have any media type: some apps send no type or a wrong type. */
export async function readValues(request: HubRequest, limit: number): Promise<URLSearchParams> {
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
