import { html, type Html } from '../../platform/http/html.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import {
  formProblem, inputField, narrowPage, passwordInput, postForm, type FormState,
} from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import { PASSWORD_MIN } from './passwords.ts';

/** Besides its own error, shows that of a form refused with 403 (a wrong password), if it names no input. */
export function passwordField(problem?: HttpError, label = 'Your password'): Html {
  const whole = { whole: problem?.status === 403 };
  return passwordInput(problem, 'currentPassword', label, html`required autocomplete="current-password"`, whole);
}

/** The error above a form with a password field, if it names no input and `passwordField` does not show it. */
export function problemAbove(problem: HttpError | undefined): Html | false {
  return problem?.errors.length === 0 && problem.status !== 403 && formProblem(problem);
}

/** `isFirst`: the new account becomes the administrator. */
export function joinPage({ isFirst, ...sent }: FormState & { isFirst: boolean }): Page {
  const { problem } = sent;
  const heading = isFirst ? 'Set up your hub' : 'Join the hub';
  const lead = isFirst
    ? 'This hub has no account yet. Yours will be the administrator’s.'
    : 'You were invited. Choose a name and a password.';
  const fields = html`
    ${inputField(sent, 'username', 'Sign-in name',
      html`required maxlength="32" autocomplete="username" autocapitalize="none" spellcheck="false"`,
      { isFirst: true, note: 'Letters, digits, and . _ - between letters or digits.' })}
    ${inputField(sent, 'displayName', 'Display name', html`maxlength="80" autocomplete="name"`, { hint: 'optional' })}
    ${newPasswordField(problem)}`;
  return narrowPage(heading, lead, html`
  ${problem?.errors.length === 0 && formProblem(problem)}
  ${postForm(undefined, fields, isFirst ? 'Create the administrator account' : 'Join')}`, { shape: 'door' });
}

function newPasswordField(problem: HttpError | undefined, label = 'Password', focus = {}): Html {
  const note = `At least ${PASSWORD_MIN} characters. A few words are easy to remember.`;
  return passwordInput(problem, 'password', label,
    html`required minlength="${PASSWORD_MIN}" autocomplete="new-password"`, { ...focus, note });
}

export function newPasswordPage({ username, problem }: FormState & { username: string }): Page {
  const lead = `For the account ${username}. It ends all sessions, API tokens and app passwords.`;
  const fields = html`${forManagers(username)}${newPasswordField(problem, 'New password', { isFirst: true })}`;
  return narrowPage('Choose a new password', lead, html`
  ${problem?.errors.length === 0 && formProblem(problem)}
  ${postForm(undefined, fields, 'Save and sign in')}`, { shape: 'door' });
}

/** Tells password managers whose password a form changes. */
export function forManagers(username: string): Html {
  return html`<input type="text" name="username" value="${username}" autocomplete="username" readonly hidden
  aria-label="Sign-in name">`;
}

/** Also for a link that never existed: the hub cannot tell it from one that was used. */
export function passwordLinkGonePage(): Page {
  return gonePage('Link', 'Ask an administrator for a new one.', 'account reset-password NAME');
}

export function invitationGonePage(): Page {
  return gonePage('Invitation', 'Ask for a new one.', 'invite');
}

function gonePage(thing: 'Link' | 'Invitation', advice: string, command: string): Page {
  return narrowPage(`This ${thing.toLowerCase()} is no longer valid`, `It was used, or has expired. ${advice}`, html`
  <p>If you run this hub, <code>./scripts/hubctl ${command}</code> prints one.</p>`,
  { title: `${thing} no longer valid`, shape: 'door' });
}
