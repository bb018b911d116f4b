import { html, type Html } from '../../platform/http/html.ts';
import type { Preferences } from '../../platform/http/router.ts';
import { CHOICES, type SWITCHES } from '../hub/preferences.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import {
  formProblem, inputField, optionOf, passwordInput, postButton, postForm, radios, selectField, settingsSection,
  tickBox, titledPage, type FormState,
} from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import type { Account } from './account-store.ts';
import { forManagers, passwordField, problemAbove } from './account-views.ts';
import type { ApiToken, Session } from './credential-store.ts';
import { PASSWORD_MIN } from './passwords.ts';

export type SentSettings = FormState & {
  form: 'preferences' | 'name' | 'password' | 'token' | 'sessions';
  newToken?: string;
};

type Settings = {
  account: Account;
  preferences: Preferences;
  tokens: ApiToken[];
  sessions: Session[];
  current: number; // the id of the viewer's session; 0 for an API token
  times: Times;
  sent?: SentSettings | undefined;
};

const ABOUT_DATA = 'One JSON file with all that the hub stores about you: sources, posts, drafts, follows, reading ' +
  'history, rules, notifications, sessions, your part of the audit log, and the rest.';

export function accountSettingsPage(settings: Settings): Page {
  const { account, tokens, sessions, current, times, sent } = settings;
  const sentAs = (form: SentSettings['form']): FormState => (sent?.form === form && sent.problem ? sent : {});
  const main = html`
${sent?.newToken !== undefined && newTokenNote(sent.newToken)}
<p class="meta"><span>Signed in as <b>${account.username}</b></span>
  <span>${account.role === 'admin' ? 'administrator' : 'member'}</span>
  <span>joined ${showTime(times, account.createdAt)}</span></p>
<div class="sections">
${readingSection(settings.preferences, sentAs('preferences'))}
${settingsSection('rules', 'Rules', 'Mute, star or mark posts as read when they arrive, or be notified.', html`
  <div class="actions"><a class="button" href="/settings/rules">Your rules</a></div>`)}
${settingsSection('apps', 'Apps', 'Read this hub in NetNewsWire, Capy Reader, RSS Guard and other apps.', html`
  <div class="actions"><a class="button" href="/settings/apps">Connect an app</a></div>`)}
${nameSection(account, sentAs('name'))}
${passwordSection(account, sentAs('password').problem)}
${sessionSection(sessions, { current, times }, sentAs('sessions').problem)}
${tokenSection(tokens, times, sentAs('token'))}
${settingsSection('data', 'Your data', ABOUT_DATA, html`
  <div class="actions"><a class="button" href="/api/account/export">Download your data</a>
    <a href="/history">Reading history</a> <a class="quiet" href="/settings/delete">Delete account</a></div>`)}
</div>`;
  return titledPage('Settings', main, { section: 'settings' });
}

/** At the top of the page and focused, because the token is shown only once. */
function newTokenNote(token: string): Html {
  return html`
<div class="done" role="status" tabindex="-1" autofocus>
  <p><strong>The new token is shown only once.</strong> Copy it now:</p>
  <p><code class="secret">${token}</code></p></div>`;
}

const CHOICE_WORDS: { [Name in keyof typeof CHOICES]: [legend: string, words: Record<Preferences[Name], string>] } = {
  density: ['Lists', { comfortable: 'Comfortable: title and a line of the text', compact: 'Compact: titles only' }],
  textSize: ['Text size', { normal: 'Normal', large: 'Large', larger: 'Larger' }],
  theme: ['Colours', { system: 'As the system', light: 'Light', dark: 'Dark' }],
  typeface: ['Typeface of posts', { serif: 'Serif', sans: 'Sans serif' }],
  measure: ['Length of lines in posts', { normal: 'Normal', narrow: 'Narrow', wide: 'Wide' }],
  sourcesBy: ['Sources in the sidebar', { name: 'By name', unread: 'Most unread posts first' }],
};

function readingSection(preferences: Preferences, { values, problem }: FormState): Html {
  const chosen = { ...preferences, ...values };
  const tick = (name: (typeof SWITCHES)[number], label: string): Html =>
    tickBox(problem, name, label, values ? values[name] === '1' : preferences[name]);
  const choices = ([name, [legend, words]]: [string, [string, Record<string, string>]]): Html => html`
    <fieldset class="choices"><legend>${legend}</legend>${
      radios(problem, name, Object.entries(words), chosen[name as keyof typeof CHOICES], 'check')}</fieldset>`;
  const about = 'How pages look and behave for you, on every device.';
  return settingsSection('preferences', 'Reading', about, postForm('/settings/preferences', html`
    ${problem?.errors.length === 0 && formProblem(problem)}
    ${Object.entries(CHOICE_WORDS).map(choices)}
    ${selectField(problem, 'timeZone', 'Time zone', zoneOptions(chosen.timeZone))}
    ${tick('marksOpened', 'Opening a post marks it as read')}
    ${tick('marksScrolled', 'Scrolling past a post in a list marks it as read')}
    ${tick('joinsDoubles', 'Show a story once if several sources have it')}
    ${tick('keys', 'Keyboard shortcuts (press ? to see them)')}
    ${tick('nextSteps', 'Show the getting-started list until it is complete')}`, 'Save'));
}

function zoneOptions(chosen: string | null): Html {
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const option = (zone: string): Html => optionOf(zone, placeIn(zone), chosen);
  const regions = [...Map.groupBy(['UTC', ...Intl.supportedValuesOf('timeZone')], regionOf)];
  return html`<option value="">The browser’s (until it says which: ${own})</option>
${regions.map(([region, zones]) => html`<optgroup label="${region}">${[...new Set(zones)].map(option)}</optgroup>`)}`;
}

function regionOf(zone: string): string {
  return zone.includes('/') ? zone.slice(0, zone.indexOf('/')) : 'World';
}

function placeIn(zone: string): string {
  return zone.slice(zone.indexOf('/') + 1).replaceAll('_', ' ').replaceAll('/', ', ');
}

function nameSection({ displayName }: Account, { values, problem }: FormState): Html {
  return settingsSection('name', 'Name', 'How other members see you.', postForm('/settings/name', html`
    ${problem?.errors.length === 0 && formProblem(problem)}
    ${inputField({ problem }, 'displayName', 'Display name', html`required maxlength="80" autocomplete="name"`,
      { value: values?.['displayName'] ?? displayName })}`, 'Save'));
}

function passwordSection({ username }: Account, problem: HttpError | undefined): Html {
  const about = 'A new one signs you out everywhere else and ends app passwords. API tokens keep working.';
  return settingsSection('password', 'Password', about, postForm('/settings/password', html`
    ${problemAbove(problem)}
    ${forManagers(username)}
    ${passwordField(problem, 'Current password')}
    ${passwordInput(problem, 'newPassword', 'New password',
      html`required minlength="${PASSWORD_MIN}" autocomplete="new-password"`,
      { note: `At least ${PASSWORD_MIN} characters.` })}`, 'Change password'));
}

type Now = { current: number; times: Times };

function sessionSection(sessions: Session[], now: Now, problem: HttpError | undefined): Html {
  const others = sessions.filter(({ id }) => id !== now.current);
  const own = sessions.find(({ id }) => id === now.current);
  const about = 'Browsers and apps in which you are signed in.';
  if (others.length === 0) {
    const only = html`<ul class="items">${own && sessionItem(own, true, now)}</ul>`;
    return settingsSection('sessions', 'Sessions', about, only);
  }
  return settingsSection('sessions', 'Sessions', about, postForm('/settings/sessions', html`
    ${problemAbove(problem)}
    <ul class="items">${own && sessionItem(own, true, now)}
      ${others.map((session) => sessionItem(session, false, now))}</ul>
    ${passwordField(problem)}`,
  html`<button name="session" value="others" class="secondary">Sign out everywhere else</button>`));
}

function sessionItem({ id, createdAt, seenAt, address }: Session, isCurrent: boolean, { times }: Now): Html {
  return html`
  <li><div><p class="title">${isCurrent ? 'This browser' : 'Another browser or app'}</p>
    <p class="meta"><span>signed in ${showTime(times, createdAt)}</span>
      <span>last used ${showTime(times, seenAt ?? createdAt)}</span>
      ${address && html`<span>from ${address}</span>`}</p></div>
    ${!isCurrent && html`
    <button name="session" value="${id}" class="link" aria-label="End session ${id}">End</button>`}</li>`;
}

const SCOPES: Choice[] = [
  ['read', 'read'], ['write', 'read and write, as a member'],
  ['admin', 'everything that you can do, administration too'],
];

const LIFETIMES: Choice[] = [['', 'never'], ['30', 'in 30 days'], ['90', 'in 90 days'], ['365', 'in a year']];

type Choice = [value: string, label: string];

/** A value that a refused form sent becomes an option, even if the menu lacks it. */
function options(choices: Choice[], chosen: string): Html[] {
  const isListed = choices.some(([value]) => value === chosen);
  return [...choices, ...isListed ? [] : [[chosen, chosen] as const]].map(([value, label]) =>
    optionOf(value, label, chosen));
}

function tokenSection(tokens: ApiToken[], times: Times, sent: FormState): Html {
  const { values: { scope = 'write', days = '90' } = {}, problem } = sent;
  const about = 'With a token, programs act in your name. It is shown once, when you create it.';
  return settingsSection('tokens', 'API tokens', about, html`
  ${tokens.length > 0 && html`<ul class="items">${tokens.map((token) => tokenItem(token, times))}</ul>`}
  ${postForm('/settings/tokens', html`
    ${problemAbove(problem)}
    ${inputField(sent, 'name', 'Name of the new token', html`required maxlength="80" autocomplete="off"`,
      { hint: 'for example, the program that will use it' })}
    ${selectField(problem, 'scope', 'What it may do', options(SCOPES, scope))}
    ${selectField(problem, 'days', 'Expires', options(LIFETIMES, days))}
    ${passwordField(problem)}`, 'Create token')}`);
}

function tokenItem({ id, name, scope, createdAt, expiresAt, seenAt }: ApiToken, times: Times): Html {
  return html`
  <li><div><p class="title">${name} <span class="tag">${scope}</span></p>
    <p class="meta"><span>created ${showTime(times, createdAt)}</span>
      <span>${seenAt === null ? 'never used' : html`last used ${showTime(times, seenAt)}`}</span>
      <span>${expiresAt === null ? 'never expires'
    : html`${expiresAt <= (times.now ?? 0) ? 'expired' : 'expires'} ${showTime(times, expiresAt)}`}</span></p></div>
    ${postButton(`/settings/tokens/${id}/revoke`, 'Revoke', 'link', `Revoke ${name}`)}</li>`;
}
