import { html, type Html } from '../../platform/http/html.ts';
import { formProblem, type HttpError, type Page } from '../../platform/http/reply.ts';
import { moment } from '../../platform/http/utc-times.ts';
import type { Account } from './account-store.ts';
import type { ApiToken, Session } from './credential-store.ts';
import { PASSWORD_MIN } from './passwords.ts';

type FormState = { values?: Record<string, string>; problem?: HttpError };

/** The current password, which certain acts ask for again. */
export function passwordField(): Html {
  return html`<label>Your password
    <input name="currentPassword" type="password" required autocomplete="current-password"></label>`;
}

/** The form by which somebody who was invited joins; the first one sets the hub up. */
export function joinPage({ isFirst, values = {}, problem }: FormState & { isFirst: boolean }): Page {
  const heading = isFirst ? 'Set up your hub' : 'Join the hub';
  const lead = isFirst
    ? 'You are the first one here. Your account will be the administrator account.'
    : 'You were invited. Choose a name and a password.';
  const main = html`
<section class="narrow">
  <h1>${heading}</h1>
  <p class="lead">${lead}</p>
  ${problem && formProblem(problem)}
  <form method="post" class="stack">
    <label>Sign-in name
      <input name="username" value="${values['username']}" required maxlength="32" autocomplete="username"
        autocapitalize="none" spellcheck="false" autofocus>
      <small>Letters, digits, and . _ - between them.</small></label>
    <label>Display name <span class="optional">optional</span>
      <input name="displayName" value="${values['displayName']}" maxlength="80" autocomplete="name"></label>
    <label>Password
      <input name="password" type="password" required minlength="${PASSWORD_MIN}" autocomplete="new-password">
      <small>At least ${PASSWORD_MIN} characters. A few words are easier to remember than random characters.</small>
      </label>
    <button>${isFirst ? 'Create the administrator account' : 'Join'}</button>
  </form>
</section>`;
  return { title: heading, main };
}

/** The form by which the owner of an account chooses a new password. */
export function newPasswordPage({ username, problem }: FormState & { username: string }): Page {
  const main = html`
<section class="narrow">
  <h1>Choose a new password</h1>
  <p class="lead">For the account ${username}. All its current sessions and API tokens will end.</p>
  ${problem && formProblem(problem)}
  <form method="post" class="stack">
    <input type="text" name="username" value="${username}" autocomplete="username" readonly hidden
      aria-label="Sign-in name">
    <label>New password
      <input name="password" type="password" required minlength="${PASSWORD_MIN}" autocomplete="new-password" autofocus>
      <small>At least ${PASSWORD_MIN} characters. A few words are easier to remember than random characters.</small>
      </label>
    <button>Save and sign in</button>
  </form>
</section>`;
  return { title: 'Choose a new password', main };
}

/** For a link for a new password that was used, has expired or never was. */
export function passwordLinkGonePage(): Page {
  const main = html`
<section class="narrow">
  <h1>This link is no longer valid</h1>
  <p class="lead">It has been used or has expired. Ask an administrator for a new one.</p>
  <p>If you run this hub, <code>./scripts/hubctl account reset-password NAME</code> prints a new link.</p>
</section>`;
  return { title: 'Link no longer valid', main };
}

/** For an invitation that was used, has expired or never was. */
export function invitationGonePage(): Page {
  const main = html`
<section class="narrow">
  <h1>This invitation is no longer valid</h1>
  <p class="lead">It has been used or has expired. Ask whoever sent it for a new one.</p>
  <p>If you run this hub, <code>./scripts/hubctl invite</code> prints a new link.</p>
</section>`;
  return { title: 'Invitation no longer valid', main };
}

/** The form that was sent last, and what is wrong with it or came of it. */
export type SentForm = { form: 'name' | 'password' | 'token' | 'sessions'; problem?: HttpError; newToken?: string };

/** `current`: the id of the session that asks. */
type Settings = {
  account: Account;
  tokens: ApiToken[];
  sessions: Session[];
  current: number;
  now: number;
  sent?: SentForm | undefined;
};

/** Everything about one's own account. */
export function settingsPage({ account, tokens, sessions, current, now, sent }: Settings): Page {
  const problemOf = (form: SentForm['form']): HttpError | undefined => (sent?.form === form ? sent.problem : undefined);
  const main = html`
<header class="page-head">
  <h1>Account settings</h1>
  <p class="meta"><span>${account.username}</span> <span>${account.role === 'admin' ? 'administrator' : 'member'}</span>
    <span>joined ${moment(account.createdAt)}</span></p>
</header>
${nameSection(account, problemOf('name'))}
${passwordSection(account, problemOf('password'))}
${sessionSection(sessions, current, problemOf('sessions'))}
${tokenSection(tokens, now, sent?.newToken, problemOf('token'))}
<section class="panel">
  <h2>Your data</h2>
  <p>One JSON file with everything the hub keeps about you: sources, posts, drafts, follows, reading
    history, notifications, sessions, names of tokens, and your part of the audit log.</p>
  <div class="actions"><a class="button" href="/api/account/export">Download your data</a>
    <a href="/history">Reading history</a> <a class="quiet" href="/settings/delete">Delete account</a></div>
</section>`;
  return { title: 'Account settings', main, section: 'settings' };
}

function nameSection({ displayName }: Account, problem: HttpError | undefined): Html {
  return html`
<section class="panel">
  <h2>Name</h2>
  <form method="post" action="/settings/name" class="stack">
    ${problem && formProblem(problem)}
    <label>Display name
      <input name="displayName" value="${displayName}" required maxlength="80" autocomplete="name"></label>
    <button>Save</button>
  </form>
</section>`;
}

function passwordSection({ username }: Account, problem: HttpError | undefined): Html {
  return html`
<section class="panel">
  <h2>Password</h2>
  <form method="post" action="/settings/password" class="stack">
    ${problem && formProblem(problem)}
    <input type="text" name="username" value="${username}" autocomplete="username" readonly hidden
      aria-label="Sign-in name">
    <label>Current password
      <input name="currentPassword" type="password" required autocomplete="current-password"></label>
    <label>New password
      <input name="newPassword" type="password" required minlength="${PASSWORD_MIN}" autocomplete="new-password">
      <small>At least ${PASSWORD_MIN} characters. You are signed out everywhere else; API tokens keep working.</small>
      </label>
    <button>Change password</button>
  </form>
</section>`;
}

function sessionSection(sessions: Session[], current: number, problem: HttpError | undefined): Html {
  const others = sessions.filter(({ id }) => id !== current);
  const own = sessions.find(({ id }) => id === current);
  return html`
<section class="panel" id="sessions">
  <h2>Sessions</h2>
  <form method="post" action="/settings/sessions" class="stack">
    ${problem && formProblem(problem)}
    ${others.length > 0 && html`
    ${passwordField()}
    <button name="session" value="others" class="secondary">Sign out everywhere else</button>`}
    <ul class="rows">${own && sessionItem(own, true)}${others.map((session) => sessionItem(session, false))}</ul>
  </form>
</section>`;
}

function sessionItem({ id, createdAt, seenAt, address }: Session, isCurrent: boolean): Html {
  return html`
  <li><div><p class="title">${isCurrent ? 'This browser' : 'Another browser or app'}</p>
    <p class="meta"><span>signed in ${moment(createdAt)}</span> <span>last used ${moment(seenAt ?? createdAt)}</span>
      ${address && html`<span>from ${address}</span>`}</p></div>
    ${!isCurrent && html`
    <button name="session" value="${id}" class="link" aria-label="End session ${id}">End</button>`}</li>`;
}

function tokenSection(
  tokens: ApiToken[], now: number, newToken: string | undefined, problem: HttpError | undefined,
): Html {
  return html`
<section class="panel" id="tokens">
  <h2>API tokens</h2>
  ${newToken !== undefined && html`
  <div class="done" role="status"><p>The new token is shown only once. Copy it now:</p>
    <p><code class="secret">${newToken}</code></p></div>`}
  ${tokens.length > 0 && html`<ul class="rows">${tokens.map((token) => tokenItem(token, now))}</ul>`}
  <form method="post" action="/settings/tokens" class="stack">
    ${problem && formProblem(problem)}
    <label>Name of the new token, for example the program that will use it
      <input name="name" required maxlength="80" autocomplete="off"></label>
    <label>What it may do
      <select name="scope"><option value="read">read</option>
        <option value="write" selected>read and write, as a member</option>
        <option value="admin">everything, including administration if you are an administrator</option></select></label>
    <label>Expires
      <select name="days"><option value="">never</option><option value="30">in 30 days</option>
        <option value="90" selected>in 90 days</option><option value="365">in a year</option></select></label>
    ${passwordField()}
    <button>Create token</button>
  </form>
</section>`;
}

function tokenItem({ id, name, scope, createdAt, expiresAt, seenAt }: ApiToken, now: number): Html {
  return html`
  <li><div><p class="title">${name} <span class="tag">${scope}</span></p>
    <p class="meta"><span>created ${moment(createdAt)}</span>
      <span>${seenAt === null ? 'never used' : html`last used ${moment(seenAt)}`}</span>
      <span>${expiresAt === null ? 'never expires'
    : html`${expiresAt <= now ? 'expired' : 'expires'} ${moment(expiresAt)}`}</span></p></div>
    <form method="post" action="/settings/tokens/${id}/revoke">
      <button class="link" aria-label="Revoke ${name}">Revoke</button></form></li>`;
}
