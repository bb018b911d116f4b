import type { IncomingHttpHeaders } from 'node:http';
import { cookieName, readCookie } from '../../platform/http/headers.ts';
import { page, type HttpError, type Reply } from '../../platform/http/reply.ts';
import type { Hub } from '../hub/hub.ts';
import { signInPage } from './account-views.ts';
import { SESSION_COOKIE } from './sign-in.ts';

/**
 * In the place of what somebody who is not signed in (any more) sent by a form: the form for signing in, which leads
 * back to where they were, or to `next`.
 */
export function signInAgain(hub: Hub, headers: IncomingHttpHeaders, { status }: HttpError, next?: string): Reply {
  const { pathname = '/', search = '' } = URL.parse(headers.referer ?? '') ?? {};
  const form = { next: localPath(next ?? pathname + search), isEnded: hasCookie(hub, headers) };
  return page(signInPage(form), status, { 'cache-control': 'no-store' });
}

/** Whether a browser sends a session's cookie. Where nobody is signed in by it, the session has ended. */
export function hasCookie({ config: { secure } }: Hub, { cookie }: IncomingHttpHeaders): boolean {
  return readCookie(cookie, cookieName(SESSION_COOKIE, secure)) !== undefined;
}

/** Only paths of the hub itself: `//host` and `/\host` would lead elsewhere. In ASCII, as headers have to be. */
export function localPath(next: string | null | undefined): string {
  if (!next || !/^\/(?![/\\])[^\u0000-\u001f]*$/.test(next)) return '/';
  return next.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent);
}
