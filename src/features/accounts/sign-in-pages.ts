import type { IncomingHttpHeaders } from 'node:http';
import { cookieName, readCookie } from '../../platform/http/headers.ts';
import { faultOf, faulty } from '../../platform/http/form-faults.ts';
import { html } from '../../platform/http/html.ts';
import { localPath } from '../../platform/http/input.ts';
import { page, type HttpError, type Page, type Reply } from '../../platform/http/reply.ts';
import type { Hub } from '../hub/hub.ts';
import { SESSION_COOKIE } from './authenticate.ts';

/** `next`: the path to go to then. `isEnded`: a session was there before. */
type SignIn = {
  next: string; isEnded: boolean; values?: Record<string, string>; problem?: HttpError; note?: string | undefined;
};

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

/** The form for signing in. */
export function signInPage({ next, isEnded, values = {}, problem, note }: SignIn): Page {
  const main = html`
<section class="narrow">
  <h1>${isEnded ? 'Your session has ended' : 'Sign in'}</h1>
  ${isEnded && html`<p class="lead">Sign in again to continue where you left off.</p>`}
  ${note && html`<div class="done" role="status"><p>${note}</p></div>`}
  <form method="post" action="/sign-in" class="stack">
    <input type="hidden" name="next" value="${next}">
    <label>Name
      <input name="username" value="${values['username']}" required autocomplete="username" autocapitalize="none"
        spellcheck="false" ${faulty(problem, 'username', { isFirst: true })}>${faultOf(problem, 'username')}</label>
    <label>Password
      <input name="password" type="password" required autocomplete="current-password"
        ${faulty(problem, 'password', { whole: true })}>${faultOf(problem, 'password', { whole: true })}</label>
    <button>Sign in</button>
    <p class="hint">Accounts are by invitation. Lost your password? Ask an administrator for a new link, or
      <a href="/public">read without signing in</a>.</p>
  </form>
</section>`;
  return { title: isEnded ? 'Your session has ended' : 'Sign in', main, shape: 'door' };
}
