import { formProblem, type HttpError } from '../../platform/http/problem.ts';
import { html } from '../../platform/http/html.ts';
import type { Page } from '../../platform/http/reply.ts';
import { PASSWORD_MIN } from './passwords.ts';

type FormState = { values?: Record<string, string>; problem?: HttpError };

/** The form by which somebody who was invited joins; the first one sets the hub up. */
export function joinPage({ isFirst, values = {}, problem }: FormState & { isFirst: boolean }): Page {
  const heading = isFirst ? 'Set up your hub' : 'Join the hub';
  const lead = isFirst
    ? 'You are the first here. Your account will be the administrator’s.'
    : 'You were invited. Choose a name and a password.';
  const main = html`
<section class="narrow">
  <h1>${heading}</h1>
  <p class="lead">${lead}</p>
  ${problem && formProblem(problem)}
  <form method="post" class="stack">
    <label>Name for signing in
      <input name="username" value="${values['username']}" required maxlength="32" autocomplete="username"
        autocapitalize="none" spellcheck="false" autofocus>
      <small>Letters, digits, and . _ - between them.</small></label>
    <label>Name that others see <span class="optional">optional</span>
      <input name="displayName" value="${values['displayName']}" maxlength="80" autocomplete="name"></label>
    <label>Password
      <input name="password" type="password" required minlength="${PASSWORD_MIN}" autocomplete="new-password">
      <small>At least ${PASSWORD_MIN} characters. A few words are easier to remember than a few signs.</small></label>
    <button>${isFirst ? 'Create the administrator’s account' : 'Join'}</button>
  </form>
</section>`;
  return { title: heading, main };
}

/** The form for signing in; `next` is the path to go to then. */
export function signInPage({ next, values = {}, problem }: FormState & { next: string }): Page {
  const main = html`
<section class="narrow">
  <h1>Sign in</h1>
  ${problem && formProblem(problem)}
  <form method="post" action="/sign-in" class="stack">
    <input type="hidden" name="next" value="${next}">
    <label>Name
      <input name="username" value="${values['username']}" required autocomplete="username" autocapitalize="none"
        spellcheck="false" autofocus></label>
    <label>Password
      <input name="password" type="password" required autocomplete="current-password"></label>
    <button>Sign in</button>
  </form>
</section>`;
  return { title: 'Sign in', main, section: 'sign-in' };
}

/** For a link that was used, has expired or never was. */
export function invitationGonePage(): Page {
  const main = html`
<section class="narrow">
  <h1>This invitation no longer works</h1>
  <p class="lead">It was used already or has expired. Ask whoever sent it for a new one.</p>
  <p>If you run this hub, <code>./scripts/hubctl invite</code> prints a fresh link.</p>
</section>`;
  return { title: 'Invitation gone', main };
}
