import { html, type Html } from '../../platform/http/html.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import { inputField, passwordInput, type FormState } from '../../platform/http/page-parts.ts';
import { formProblem, type Page } from '../../platform/http/reply.ts';
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
  const main = html`
<section class="narrow">
  <h1>${heading}</h1>
  <p class="lead">${lead}</p>
  ${problem?.errors.length === 0 && formProblem(problem)}
  <form method="post" class="stack">
    ${inputField(sent, 'username', 'Sign-in name',
      html`required maxlength="32" autocomplete="username" autocapitalize="none" spellcheck="false"`,
      { isFirst: true, note: 'Letters, digits, and . _ - between letters or digits.' })}
    ${inputField(sent, 'displayName', 'Display name', html`maxlength="80" autocomplete="name"`, { hint: 'optional' })}
    ${newPasswordField(problem)}
    <button>${isFirst ? 'Create the administrator account' : 'Join'}</button>
  </form>
</section>`;
  return { title: heading, main, shape: 'door' };
}

function newPasswordField(problem: HttpError | undefined, label = 'Password', focus = {}): Html {
  const note = `At least ${PASSWORD_MIN} characters. A few words are easy to remember.`;
  return passwordInput(problem, 'password', label,
    html`required minlength="${PASSWORD_MIN}" autocomplete="new-password"`, { ...focus, note });
}

export function newPasswordPage({ username, problem }: FormState & { username: string }): Page {
  const main = html`
<section class="narrow">
  <h1>Choose a new password</h1>
  <p class="lead">For the account ${username}. It ends all sessions, API tokens and app passwords.</p>
  ${problem?.errors.length === 0 && formProblem(problem)}
  <form method="post" class="stack">
    <input type="text" name="username" value="${username}" autocomplete="username" readonly hidden
      aria-label="Sign-in name">
    ${newPasswordField(problem, 'New password', { isFirst: true })}
    <button>Save and sign in</button>
  </form>
</section>`;
  return { title: 'Choose a new password', main, shape: 'door' };
}

/** Also for a link that never existed: the hub cannot tell it from one that was used. */
export function passwordLinkGonePage(): Page {
  return gonePage('Link', 'Ask an administrator for a new one.', 'account reset-password NAME');
}

export function invitationGonePage(): Page {
  return gonePage('Invitation', 'Ask for a new one.', 'invite');
}

function gonePage(thing: 'Link' | 'Invitation', advice: string, command: string): Page {
  const main = html`
<section class="narrow">
  <h1>This ${thing.toLowerCase()} is no longer valid</h1>
  <p class="lead">It was used, or has expired. ${advice}</p>
  <p>If you run this hub, <code>./scripts/hubctl ${command}</code> prints one.</p>
</section>`;
  return { title: `${thing} no longer valid`, main, shape: 'door' };
}
