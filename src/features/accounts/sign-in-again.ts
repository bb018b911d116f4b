import type { IncomingHttpHeaders } from 'node:http';
import { cookieName, readCookie } from '../../platform/http/headers.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { Hub } from '../hub/hub.ts';
import { signInPage } from './account-views.ts';
import { SESSION_COOKIE } from './sign-in.ts';

/**
 * In the place of what somebody who is not signed in (any more) sent by a form: the form for signing in, which leads
 * back to where they were. `kept`: what became of that, and where it is found again.
 */
export function signInAgain(
  hub: Hub, headers: IncomingHttpHeaders, status: number, kept?: { next: string; note: string },
): Reply {
  const { pathname = '/', search = '' } = URL.parse(headers.referer ?? '') ?? {};
  const form = { next: localPath(pathname + search), isEnded: kept !== undefined || hasCookie(hub, headers), ...kept };
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
