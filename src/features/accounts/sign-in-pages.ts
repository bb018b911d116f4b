import type { IncomingHttpHeaders } from 'node:http';
import { html } from '../../platform/http/html.ts';
import { localPath } from '../../platform/http/input.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import { hiddenInput, inputField, narrowPage, passwordInput, postForm } from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { Hub } from '../hub/hub.ts';
import { sessionOf } from './authenticate.ts';

/** `next`: the path to which the browser goes after signing in. `isEnded`: the browser had a session that has ended. */
type SignIn = {
  next: string; isEnded: boolean; values?: Record<string, string>; problem?: HttpError; note?: string | undefined;
};

/**
 * Answers a form that came without a valid session; signing in leads back to the page with the form. `kept`: a note
 * about the saved draft, and the page on which to go on with it.
 */
export function signInAgain(
  hub: Hub, headers: IncomingHttpHeaders, status: number, kept?: { next: string; note: string },
): Reply {
  const { pathname = '/', search = '' } = URL.parse(headers.referer ?? '') ?? {};
  const form = { next: localPath(pathname + search), isEnded: kept !== undefined || hasCookie(hub, headers), ...kept };
  return page(signInPage(form), status, { 'cache-control': 'no-store' });
}

/** The session of a request with a session cookie but no viewer has ended. */
export function hasCookie(hub: Hub, headers: IncomingHttpHeaders): boolean {
  return sessionOf(hub, headers) !== undefined;
}

export function signInPage({ next, isEnded, values = {}, problem, note }: SignIn): Page {
  const [heading, lead] = isEnded ? ['Your session has ended', 'Sign in again to continue where you left off.']
    : ['Sign in', ''];
  const fields = html`${hiddenInput('next', next)}
    ${inputField({ values, problem }, 'username', 'Name',
      html`required autocomplete="username" autocapitalize="none" spellcheck="false"`, { isFirst: true })}
    ${passwordInput(problem, 'password', 'Password', html`required autocomplete="current-password"`, { whole: true })}`;
  return narrowPage(heading, lead, html`
  ${note && html`<div class="done" role="status"><p>${note}</p></div>`}
  ${postForm('/sign-in', fields, html`<button>Sign in</button>
    <p class="hint">New here? You need an invitation. Lost your password? Ask an administrator for a link. You can also
      <a href="/public">read without signing in</a>.</p>`)}`, { shape: 'door' });
}
