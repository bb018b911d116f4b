import { html, type Html } from '../../platform/http/html.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import {
  details, hiddenInput, inputField, orLeave, passwordInput, postForm, radios, titledPage, type FormState,
} from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import type { FoundFeed } from './add-source.ts';

const TITLED = {
  native: { summary: 'Write your own posts', placeholder: 'Notes' },
  webhook: { summary: 'Receive posts from a program (webhook)', placeholder: 'Deployments' },
};

/** Page with three forms for a new source: one for a feed, one for own posts, one for a webhook. */
export function addPage(form: FormState, folders: string[]): Page {
  const kind = form.values?.['kind'] ?? 'feed';
  const formOf = (name: string): FormState => kind === name ? form : {};
  const main = html`
${feedForm(formOf('feed'), folders)}
${titledForm('native', formOf('native'))}
${titledForm('webhook', formOf('webhook'))}
<p>Do you use another feed reader? <a href="/sources/import">Import your feeds</a></p>`;
  return titledPage('Add a source', main, { section: 'sources' });
}

function feedForm(form: FormState, folders: string[]): Html {
  const { values = {}, problem } = form;
  const more = html`
    ${inputField(form, 'title', 'Title', html`maxlength="200"`, { hint: 'optional; the feed’s own title by default' })}
    ${passwordFields(values['username'], PASSWORD_HINT, problem)}`;
  return postForm('/sources/add', html`
  ${inputField(form, 'url', 'Address of a feed, or of a site with a feed', html`required maxlength="2000"
      inputmode="url" autocapitalize="none" spellcheck="false" placeholder="https://example.org/feed.xml"`,
    { whole: true })}
  ${visibilityChoice(values['visibility'], 'feed', problem)}
  ${folderField(values['folder'], folders, problem)}
  ${details('Title and password', more, { isOpen: Boolean(values['title'] || values['username']) })}`,
  orLeave('Preview the feed', '/sources', 'Cancel'));
}

export function folderField(folder: string | undefined, folders: string[], problem?: HttpError): Html {
  return html`${inputField({ problem }, 'folder', 'Folder',
    html`maxlength="100" list="folders" autocomplete="off"`,
    { value: folder, hint: 'optional; a new name makes a new folder' })}
  <datalist id="folders">${folders.map((name) => html`<option value="${name}">`)}</datalist>`;
}

function titledForm(kind: 'native' | 'webhook', form: FormState): Html {
  const { summary, placeholder } = TITLED[kind];
  const inside = postForm('/sources', html`
    ${hiddenInput('kind', kind)}
    ${inputField(form, 'title', 'Title of the source',
      html`required maxlength="200" placeholder="${placeholder}"`, { whole: true })}
    ${visibilityChoice(form.values?.['visibility'], 'own', form.problem)}`, 'Create');
  return details(summary, inside, { isOpen: form.problem !== undefined, look: 'panel' });
}

/** The choice between private and public: private by default, so that nobody publishes posts by accident. */
export function visibilityChoice(chosen = 'private', what: 'feed' | 'own', problem?: HttpError): Html {
  const open = what === 'own' ? 'They are on the public page, in feeds and in search.'
    : 'The hub publishes them again, under its own address.';
  return html`
  <fieldset><legend>Who can read the posts</legend>${radios(problem, 'visibility', [
    ['private', html`<span>Only you</span> <small>Nobody else here sees them.</small>`],
    ['public', html`<span>Everyone</span> <small>${open}</small>`],
  ], chosen, 'choice')}</fieldset>`;
}

export const PASSWORD_HINT = 'if the feed wants one; only you then see its posts';

/** Inputs for a feed's user name and password. A password is never shown again, even after an error. */
export function passwordFields(username: string | undefined, when: string, problem?: HttpError): Html {
  return html`
    ${inputField({ problem }, 'username', 'User name for the feed',
      html`maxlength="1024" autocomplete="off" autocapitalize="none" spellcheck="false"`,
      { value: username, hint: when })}
    ${passwordInput(problem, 'password', 'Password for the feed',
      html`maxlength="1024" autocomplete="new-password"`)}`;
}

/** Page: the preview of a feed before it is added or followed. */
export function foundPage(found: FoundFeed, values: Record<string, string>, times: Times): Page {
  const { url, title, description, items, known } = found;
  const main = html`
<article class="panel">
  <h2 dir="auto">${title}</h2>
  <p class="meta"><code>${url}</code></p>
  ${description && html`<p dir="auto">${description}</p>`}
  ${items.length > 0 ? html`<h3>Newest posts</h3><ul class="items">${items.map((item) => html`
    <li><span dir="auto">${item.title}</span> <span class="meta">${item.publishedAt === null ? 'no date'
      : showTime(times, item.publishedAt)}</span></li>`)}</ul>` : html`<p>This feed has no posts yet.</p>`}
</article>
${otherFeeds(found, values)}
${known?.isOwn ? html`
<p class="said">You already have this feed. <a href="/sources/${known.id}">Go to the source</a></p>`
    : saveForm(found, values)}`;
  return titledPage('Is this the right feed?', main, { section: 'sources' });
}

function saveForm({ url, known }: FoundFeed, values: Record<string, string>): Html {
  const kept = ['folder', 'title', 'visibility'].filter((name) => values[name] && !(known && name !== 'folder'));
  return postForm('/sources', html`
  ${hiddenInput('url', url)}
  ${kept.map((name) => hiddenInput(name, values[name]))}
  ${known ? html`<p>Somebody here follows it already. You will share it.</p>`
    : html`<p>${values['username'] || values['visibility'] === 'private' ? 'Only you will see its posts.'
      : 'Everyone will be able to read its posts.'}${values['folder'] && html` They go into the folder
      <b dir="auto">${values['folder']}</b>.`}</p>`}
  ${!known && values['username'] && passwordFields(values['username'], 'type the password once more to save it')}`,
  orLeave(known ? 'Follow' : 'Add this feed', '/sources/add', 'Start again'));
}

function otherFeeds({ others }: FoundFeed, values: Record<string, string>): Html | false {
  const carried = ['visibility', 'folder'].filter((name) => values[name]);
  return others.length > 0 && html`
<section><h2>The page also has other feeds</h2>
<ul class="items">${others.map(({ url, title, format }) => html`
  <li>${postForm('/sources/add', html`
    ${hiddenInput('url', url)}
    ${carried.map((name) => hiddenInput(name, values[name]))}
    <span dir="auto">${title ?? url}</span> ${format && html`<span class="tag">${format}</span>`}
    ${title && html`<code>${url}</code>`}`, 'Preview this feed', 'actions')}</li>`)}</ul></section>`;
}
