import { faulty, faultOf } from '../../platform/http/form-faults.ts';
import { html, type Html } from '../../platform/http/html.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import {
  hiddenInput, inputField, narrowPage, orLeave, postButton, postForm, settingsSection, tickBox, titledPage,
  type FormState,
} from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import type { Follow } from '../follows/follow-store.ts';
import type { Source } from '../sources/source-store.ts';
import type { Webhook } from '../webhooks/webhook-store.ts';
import { folderField, PASSWORD_HINT, passwordFields, visibilityChoice } from './add-views.ts';
import { followersText } from './many-sources-views.ts';
import { stateLine } from './source-state.ts';

type Settings = {
  source: Source; mayChange: boolean; isSyncing: boolean; times: Times; iconIs: 'there' | 'cleared' | 'none';
  follow: Follow | null; folders: string[]; webhook: Webhook | undefined; webhookPanel: Html | null;
  fullTexts: Html | null; followers: number; sent?: SentSourceForm | undefined;
};

export type SentSourceForm = { form: 'list' | 'source'; values: Record<string, string>; problem: HttpError };

/** Page: the viewer's settings for a followed source and, for managers, the settings of the source itself. */
export function sourceSettingsPage(settings: Settings): Page {
  const { source, mayChange, isSyncing } = settings;
  const main = html`
<p><a class="quiet" href="/sources/${source.id}" dir="auto">${source.title}</a></p>
<div class="sections">
${settings.follow ? listSection(settings, settings.follow) : followSection(source)}
${mayChange && stateSection(settings)}
${mayChange && sourceSection(settings)}
${settings.fullTexts && settingsSection('full-text', 'Full text',
    'For feeds that send only the beginning of their posts.', settings.fullTexts)}
${mayChange && endSection(settings)}
</div>`;
  return titledPage('Source settings', main, { section: 'sources', ...(isSyncing && { refreshSeconds: 3 }) });
}

function followSection({ id }: Source): Html {
  const follow = postButton(`/sources/${id}/follow`, 'Follow');
  return settingsSection('list', 'Your list', 'This source is not in your list.', follow);
}

function listSection({ source: { id, title }, folders, sent }: Settings, follow: Follow): Html {
  const { ownTitle, folder, notify, hideGlobally } = follow;
  const refused = sent?.form === 'list' ? sent : {};
  const { values = {}, problem }: FormState = refused;
  const [bell, hidden] = [values['notify'] ?? String(notify), values['hideGlobally'] ?? String(hideGlobally)];
  return settingsSection('list', 'Your list', 'Name, folder and notifications, only for you.', html`
  ${postForm(`/sources/${id}/follow`, html`
    ${inputField(refused, 'title', 'Your name for this source', html`maxlength="200" placeholder="${title}"`,
      { value: values['title'] ?? ownTitle ?? '' })}
    ${folderField(values['folder'] ?? folder ?? '', folders, problem)}
    ${tickBox(problem, 'notify', 'Notify me of new posts', bell === '1', 'sends off')}
    ${hiddenInput('hideGlobally', '0')}
    <label class="check"><input type="checkbox" name="hideGlobally" value="1" ${hidden === '1' && html`checked`} ${
      faulty(problem, 'hideGlobally') || html`aria-describedby="hide-globally"`}> Not in Unread and All posts</label>
    <p class="hint" id="hide-globally">Its posts stay in its own list and its folder’s. Apps show them
      everywhere.</p>${faultOf(problem, 'hideGlobally')}`, 'Save')}
  ${postButton(`/sources/${id}/unfollow`, 'Unfollow')}`);
}

function stateSection({ source, isSyncing, times, webhook, webhookPanel }: Settings): Html {
  const { id, kind, state, feedUrl, lastSuccessAt } = source;
  return settingsSection('state', 'Status', '', html`
  <p>${stateLine(source, times, true, webhook)}</p>
  ${kind === 'feed' && html`
  <dl class="facts">
    <dt>Feed</dt><dd><code>${feedUrl}</code></dd>
    <dt>Last synchronised</dt><dd>${lastSuccessAt === null ? 'never' : showTime(times, lastSuccessAt)}</dd>
    <dt>Next</dt><dd>${isSyncing ? 'in progress' : nextTime(source, times)}</dd>
  </dl>`}
  ${webhookPanel}
  <div class="actions">
    ${kind === 'feed' && state !== 'paused' && postButton(`/sources/${id}/sync`, 'Synchronise now')}
    ${state === 'paused' ? postButton(`/sources/${id}/resume`, 'Resume') : postButton(`/sources/${id}/pause`, 'Pause')}
  </div>`);
}

function nextTime({ state, nextSyncAt }: Source, times: Times): Html | string {
  return state === 'paused' || nextSyncAt === null ? 'when it is resumed' : showTime(times, nextSyncAt);
}

function sourceSection({ source, iconIs, sent }: Settings): Html {
  const refused = sent?.form === 'source' ? sent : {};
  const { values = {}, problem }: FormState = refused;
  const { title = source.title, visibility = source.visibility, url = source.feedUrl } = values;
  const said = source.kind === 'feed' ? 'Title, address, password, and who can read the posts.'
    : 'Title, and who can read the posts.';
  return settingsSection('source', 'The source', said, html`
  ${postForm(`/sources/${source.id}`, html`
    ${inputField(refused, 'title', 'Title', html`required maxlength="200"`, { value: title })}
    ${url !== null && inputField(refused, 'url', 'Address of the feed',
      html`required maxlength="2000" inputmode="url" autocapitalize="none" spellcheck="false"`,
      { value: url, whole: true, note: 'The hub tries a new address first. Old posts stay.' })}
    ${source.hadPassword ? staysPrivate(source) : visibilityChoice(visibility, 'feed', problem)}
    ${source.kind === 'native' && tickBox(problem, 'showsAuthors', 'Show the author’s name on posts',
      (values['showsAuthors'] ?? String(source.showsAuthors)) === '1', 'sends off')}
    ${source.kind === 'feed' && passwordFields(values['username'], source.hasPassword
        ? 'to keep both, leave them empty' : PASSWORD_HINT, problem)}`, 'Save')}
  ${source.hasPassword === 1 && postForm(`/sources/${source.id}`, hiddenInput('forget', '1'),
      html`<button class="secondary">Remove user name and password</button>`, '')}
  ${iconIs === 'there' && postButton(`/sources/${source.id}/icon/clear`, 'Show a letter instead of the icon')}
  ${iconIs === 'cleared' && postButton(`/sources/${source.id}/icon/find`, 'Look for the site’s icon')}`);
}

function staysPrivate({ hasPassword }: Source): Html {
  return hasPassword
    ? html`<p>The hub signs in to this feed with a password, so only you can read its posts.</p>`
    : html`<p>These posts were read with a password, so only you can read them. If the feed is open to everyone now and
        you want to share it, delete this source and add it again.</p>`;
}

function endSection({ source: { id }, followers }: Settings): Html {
  const said = followers > 0 ? `Besides its owner, ${followersText(followers)}.` : 'Nobody else follows this source.';
  return settingsSection('end', 'Transfer or delete', said, html`
  <div class="actions"><a class="button" href="/sources/${id}/transfer">Transfer…</a>
    <a class="button danger" href="/sources/${id}/delete">Delete…</a></div>`);
}

function handOverForm({ id }: Source): Html {
  return postForm(`/sources/${id}/hand-over`, html`
  <h2>Hand it over instead</h2>
  <p>The person who has followed it longest is asked, and has 14 days to accept. An administrator becomes its owner at
    once.</p>`, html`<button class="secondary">Hand it over</button>`, 'panel stack');
}

export function confirmDeleteSourcePage(source: Source, followers: number): Page {
  const form = postForm(undefined, html`
  <p class="lead">“${source.title}” will be deleted for good, with all its posts and
    their attachments. To only stop new posts, pause it instead.</p>
  ${followers > 0 && html`<p class="said warn">Besides its owner, ${followersText(followers)}. They will be
    notified.</p>`}`,
  orLeave(html`<button class="danger">Delete source</button>`, `/sources/${source.id}`, 'Keep source'));
  const main = html`${form}${followers > 0 && handOverForm(source)}`;
  return titledPage('Delete this source?', main, { section: 'sources' });
}

/** `values`: what the confirmed form sends again; a password must be typed once more. */
export function confirmHidePage(source: Source, followers: number, values: Record<string, string>): Page {
  const kept = Object.entries(values).filter(([name]) => name !== 'password' && name !== 'sure');
  const form = postForm(`/sources/${source.id}`, html`
  <p class="lead">“${source.title}” is in other people’s lists: besides its owner, ${followersText(followers)}. Once it
    is private, they can no longer read it. They will be notified.</p>
  ${[...kept, ['sure', '1'] as const].map(([name, value]) => hiddenInput(name, value))}
  ${values['username'] && passwordFields(values['username'], 'type the password once more to save it')}`, orLeave(
    html`<button class="danger">Make source private</button>`, `/sources/${source.id}/settings`, 'Keep source public'));
  return titledPage('Make this source private?', html`${form}${handOverForm(source)}`, { section: 'sources' });
}

/** `offer`: the notice of an open offer. */
export function transferPage(source: Source, offer: Html | null, form: FormState): Page {
  const lead = html`“${source.title}” will belong to another account of this hub, with all its posts and files.
    Then only the new owner can manage it${source.visibility === 'private' && ' and read its posts'}.`;
  return narrowPage('Transfer this source', lead, html`
  <p>A member has 14 days to accept, and sees only the title and your name until then. An administrator owns it at
    once.</p>
  ${offer}
  ${source.kind === 'webhook' && html`
  <p>You know its secret, so the new owner is asked to make a new one. Yours then stays valid for 24 hours, or until
    another is made.</p>`}
  ${source.hasPassword === 1 && html`
  <p>The hub keeps signing in with the user name and password that you typed. The new owner cannot see the password,
    but gets the posts. If they should not, remove both first.</p>`}
  ${postForm(undefined, inputField(form, 'username', 'Sign-in name of the new owner',
    html`required maxlength="32" autocomplete="off" autocapitalize="none" spellcheck="false"`, { whole: true }),
  orLeave('Transfer source', `/sources/${source.id}`, 'Keep source'))}`, { section: 'sources' });
}
