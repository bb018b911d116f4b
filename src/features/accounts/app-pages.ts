import { html, type Html } from '../../platform/http/html.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import {
  inputField, narrowPage, postButton, postForm, settingsSection, titledPage, type FormState,
} from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import { passwordField, problemAbove } from './account-views.ts';
import { apiTokens, TOKENS_MAX, type ApiToken, type NewToken } from './credential-store.ts';

/** A form that asked for a new app password. `made`: the new app password, whose value the page shows once. */
type SentApp = FormState & { made?: NewToken };
type AppSettings = SentApp & { username: string; baseUrl: string; passwords: ApiToken[]; times: Times };

const ABOUT_PASSWORDS = 'One for each app. With it, an app can read and mark your posts and add sources that only ' +
  'you see, but not change your settings. A new account password ends them all.';
const ABOUT_ADDRESS = 'In the app, choose “FreshRSS” or “Google Reader API” as the kind of account.';
const ABOUT_CHECK = 'If a proxy removes the Authorization header, every app fails after signing in.';

/** Page: app passwords, and how to connect apps. */
export function showApps(hub: Hub, { viewer }: MemberRequest, sent: SentApp = {}): Reply {
  const passwords = apiTokens(hub).listOf(viewer.id, 0, TOKENS_MAX).filter(({ scope }) => scope === 'reader');
  const { username } = viewer;
  const shown = appsPage({ username, baseUrl: hub.config.baseUrl, passwords, times: timesOf(hub, viewer), ...sent });
  const caching = sent.made && { 'cache-control': 'no-store' };
  return page(shown, sent.problem?.status, { ...sent.problem?.headers, ...caching });
}

/** Page: tells whether the browser's Authorization header arrives. With status 401, the browser asks for a password. */
export function showHeaderCheck(_hub: Hub, { headers }: MemberRequest): Reply {
  const hasArrived = headers.authorization !== undefined;
  const ask = { 'www-authenticate': 'Basic realm="Type any word, no real password"', 'cache-control': 'no-store' };
  return page(headerCheckPage(hasArrived), hasArrived ? 200 : 401, hasArrived ? { 'cache-control': 'no-store' } : ask);
}

function appsPage({ username, baseUrl, passwords, times, made, values, problem }: AppSettings): Page {
  const address = `${baseUrl}/api/greader.php`;
  const main = html`
${made && madeNote(made, username, address)}
<div class="sections">
${settingsSection('app-passwords', 'App passwords', ABOUT_PASSWORDS, html`
  ${passwords.length > 0 && html`<ul class="items">${passwords.map((password) => passwordItem(password, times))}</ul>`}
  ${newPasswordForm(values, problem)}`)}
${settingsSection('address', 'Address for apps', ABOUT_ADDRESS, html`
  <p><code class="secret">${address}</code></p>
  ${appHints(baseUrl, address, username).map(([app, hint]) => html`<p><strong>${app}</strong><br>${hint}</p>`)}
  <p>A feed that you add in an app is private. You can open it to everyone in its settings.</p>`)}
${settingsSection('check', 'If an app cannot connect', ABOUT_CHECK, html`
  <p>The check asks for a name and a password. Type any word for both, but no real password: all that matters is
    whether they arrive.</p>
  <div class="actions"><a class="button" href="/settings/apps/check">Check the Authorization header</a></div>`)}
</div>`;
  return titledPage('Apps', main, { section: 'settings' });
}

/** The new app password, at the top of the page and focused, because its value is shown only once. */
function madeNote({ name, token }: NewToken, username: string, address: string): Html {
  return html`
<div class="done" role="status" tabindex="-1" autofocus>
  <p><strong>The password for ${name} is shown only once.</strong> Type these into the app:</p>
  <p>Address: <code>${address}</code></p><p>Name: <code>${username}</code></p>
  <p>Password: <code class="secret">${token}</code></p></div>`;
}

function newPasswordForm(values: Record<string, string> = {}, problem: HttpError | undefined): Html {
  return postForm('/settings/apps', html`
    ${problemAbove(problem)}
    ${inputField({ values, problem }, 'name', 'Name of the app', html`required maxlength="80" autocomplete="off"`,
      { hint: 'for example, NetNewsWire on my phone' })}
    ${passwordField(problem)}`, 'Create app password');
}

function passwordItem({ id, name, createdAt, seenAt, address, expiresAt }: ApiToken, times: Times): Html {
  return html`
  <li><div><p class="title">${name}</p>
    <p class="meta"><span>created ${showTime(times, createdAt)}</span>
      <span>${seenAt === null ? 'never used' : html`last used ${showTime(times, seenAt)}`}</span>
      ${address && html`<span>from ${address}</span>`}
      ${expiresAt !== null && html`<span>${expiresAt <= (times.now ?? 0) ? 'expired' : 'expires'}
        ${showTime(times, expiresAt)}</span>`}</p></div>
    ${postButton(`/settings/apps/${id}/end`, 'End', 'link', `End the password for ${name}`)}</li>`;
}

/** How to connect five apps. RSS Guard itself adds `api/greader.php` to the address. */
function appHints(baseUrl: string, address: string, username: string): [app: string, hint: Html][] {
  return [
    ['NetNewsWire', html`Add a FreshRSS account. The address above is its API URL.`],
    ['Capy Reader', html`Add a FreshRSS account. The address above is its server.`],
    ['Fluent Reader', html`In the settings, choose the service Google Reader API. The address above is its endpoint.`],
    ['Newsboat', html`Put these lines into the file <code>config</code> (before version 2.24, write
      <code>feedhq</code> for <code>freshrss</code>):
      <br><code>urls-source "freshrss"</code><br><code>freshrss-url "${address}"</code>
      <br><code>freshrss-login "${username}"</code><br><code>freshrss-password "…"</code>`],
    ['RSS Guard', html`Add an account of type Google Reader API, choose the service FreshRSS, and enter
      <code>${baseUrl}/</code> as its URL.`],
  ];
}

function headerCheckPage(hasArrived: boolean): Page {
  const more = { title: 'Check of the Authorization header', section: 'settings' };
  if (hasArrived) {
    const lead = 'Apps can sign in. If one still fails, check the address, your sign-in name and the app password.';
    return narrowPage('The Authorization header arrives', lead, html`
  <div class="actions"><a class="button" href="/settings/apps">Back to apps</a></div>`, more);
  }
  const lead = 'If you typed a name and a password, a proxy in front of this hub has removed it.';
  return narrowPage('No Authorization header arrived', lead, html`
  <p>Apache removes it for CGI programs; <code>CGIPassAuth On</code> keeps it. nginx removes or changes it where its
    configuration says <code>proxy_set_header Authorization</code>.</p>
  <div class="actions"><a class="button" href="/settings/apps/check">Check again</a>
    <a class="button" href="/settings/apps">Back to apps</a></div>`, more);
}
