import type { IncomingMessage } from 'node:http';
import { SECOND } from '../../platform/clock.ts';
import { clientAddress, type Caller } from '../../platform/http/call-handler.ts';
import { cookieName, readCookie, setCookie } from '../../platform/http/headers.ts';
import { HttpError } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { TOKEN_PREFIX } from '../hub/setting-values.ts';
import { apiTokens, SESSION_MAX, sessions } from './credential-store.ts';

export const SESSION_COOKIE = 'hub_session';

/**
 * Who sent a request: by API token (401 when it is unknown, so that a program learns of it at once) or by session
 * cookie (an ended session is nobody). A bearer that is no API token belongs to another surface, such as metrics.
 */
export function authenticate(hub: Hub, { headers, socket }: IncomingMessage): Caller {
  const bearer = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer?.startsWith(TOKEN_PREFIX)) return { viewer: requireToken(hub, bearer), hasCookie: false };
  const from = (): string | undefined =>
    mayRecord(hub) ? clientAddress(socket.remoteAddress, headers, hub.config.trustedProxies) : undefined;
  const secret = readCookie(headers.cookie, cookieName(SESSION_COOKIE, hub.config.secure));
  return { viewer: secret ? sessions(hub).viewerOf(secret, from) : null, hasCookie: secret !== undefined };
}

function requireToken(hub: Hub, token: string): Viewer {
  const viewer = apiTokens(hub).viewerOf(token, () => mayRecord(hub));
  if (!viewer) {
    const headers = { 'www-authenticate': 'Bearer realm="Content Hub", error="invalid_token"' };
    throw new HttpError(401, 'This API token is unknown, has expired or was revoked.', { headers });
  }
  return viewer;
}

/** The header that keeps a browser signed in; when the session ends is up to the hub, which tells the browser then. */
export function sessionCookie({ config: { secure } }: Hub, session: string): { 'set-cookie': string } {
  return { 'set-cookie': setCookie(SESSION_COOKIE, session, { secure, maxAge: SESSION_MAX / SECOND }) };
}

/** The headers that make a browser forget its session, and the pages that "back" would show (over https). */
export function endedSession({ config: { secure } }: Hub): { 'set-cookie': string; 'clear-site-data': string } {
  return { 'set-cookie': setCookie(SESSION_COOKIE, '', { secure, maxAge: 0 }), 'clear-site-data': '"cache"' };
}
