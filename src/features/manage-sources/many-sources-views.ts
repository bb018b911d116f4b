import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { faultOf, faulty } from '../../platform/http/form-faults.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import {
  emptyText, details, hiddenInput, optionOf, orLeave, postForm, titledPage,
} from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { resultsText } from '../full-text/full-text-views.ts';
import type { ResultCount } from '../full-text/source-full-text-store.ts';
import { progressBar } from '../hub/progress-views.ts';
import { byteSize } from '../../platform/in-words.ts';
import { countText } from '../reading/reading-counts.ts';
import type { ContentRoom } from '../sources/content-quota.ts';
import type { Source } from '../sources/source-store.ts';
import type { Webhook } from '../webhooks/webhook-store.ts';
import type { Removal } from './delete-source.ts';
import { ORDERS, type Managed, type ManagedPage, type Wanted } from './many-sources.ts';
import { offeredNotice } from './offer-list.ts';
import { smallStrip, type stripsOf } from './run-views.ts';
import { stateLine } from './source-state.ts';

type Shown = ManagedPage & {
  wanted: Wanted; folders: string[]; times: Times; webhooks: Map<number, Webhook>;
  icons: Map<number, Html>;
  stripOf: ReturnType<typeof stripsOf>;
  removals: Removal[];
  offered: number;
  room: ContentRoom;
  fullTexts: ResultCount[];
  sent?: SentChoice | undefined;
};

export type SentChoice = { form: 'folder' | 'several'; typed: string; chosen: number[]; problem: HttpError };

const TABS: [Wanted['show'], string][] = [
  ['all', 'All'], ['failing', 'Failing'], ['paused', 'Paused'], ['mine', 'Mine'], ['others', 'More on this hub'],
];
const KINDS: Record<Source['kind'], string> = { feed: 'a feed', webhook: 'a webhook', native: 'own posts' };

/** The list's address with these filters; leaves out default values. */
export function sourcesPath(wanted: Partial<Wanted>): string {
  const { show = 'all', q = '', folder = '', sort = 'failing', after = 0 } = wanted;
  const query = new URLSearchParams({
    ...(show !== 'all' && { show }), ...(q && { q }), ...(folder && { folder }),
    ...(sort !== 'failing' && { sort }), ...(after > 0 && { cursor: String(after) }),
  }).toString();
  return query ? `/sources?${query}` : '/sources';
}

/** Page: a member's sources, with filters, and with acts on several sources at once. */
export function manySourcesPage(shown: Shown): Page {
  const { items, counts, wanted, folders } = shown;
  const main = html`
${offeredNotice(shown.offered)}
${shown.removals.map(({ title, progress }) => html`
<div class="said" role="status"><span>“<bdi>${title}</bdi>” is being removed.</span>${
  progress && progressBar(progress, 'posts removed')}</div>`)}
${tabs(counts, wanted)}
${roomLine(shown.room, wanted)}
${wanted.show === 'mine' && shown.fullTexts.length > 0 && html`<p class="meta">${resultsText(shown.fullTexts)}</p>`}
${filters(wanted, folders)}
${wanted.folder && folderForms(wanted.folder, shown.sent)}
${items.length > 0 ? pickForm(shown) : emptyText(nothing(wanted, counts))}
${pages(shown)}`;
  const bar = html`<h1><span>Sources</span> <span class="count">${counts.all}</span></h1><span class="space"></span>
<a class="button plain only-wide" href="/sources/import">Import OPML</a>
<a class="button primary" href="/sources/add">${icon('add')}<span>Add<span class="only-wide"> a
  source</span></span></a>`;
  return { title: 'Sources', main, bar, section: 'sources' };
}

function roomLine({ bytes, quota, isFull }: ContentRoom, { show }: Wanted): Html | false {
  const used = `${byteSize(bytes)}${quota === null ? '' : ` of ${byteSize(quota)}`}`;
  if (isFull) {
    return html`<p class="said warn" role="status">The contents of your sources take ${used}. New posts wait until you
      delete posts or sources.</p>`;
  }
  return show === 'mine' && html`<p class="meta">Contents of your sources: ${used}</p>`;
}

function tabs(counts: ManagedPage['counts'], { show }: Wanted): Html {
  return html`<nav class="tabs" aria-label="Which sources">${TABS.map(([name, label]) => html`
<a href="${sourcesPath({ show: name })}" ${name === show && html`aria-current="page"`}>${label}${
  name !== 'others' && html`
  <span class="count">${counts[name]}</span>`}</a>`)}</nav>`;
}

function filters({ show, q, folder, sort }: Wanted, folders: string[]): Html {
  const offered = folder === '' || folders.includes(folder) ? folders : [folder, ...folders];
  return html`
<form class="filters" action="/sources" role="search">
  ${show !== 'all' && hiddenInput('show', show)}
  <div class="field grow"><label for="q">Name or address</label><input type="search" id="q" name="q" value="${q}"
    maxlength="200"></div>
  ${folders.length > 0 && html`<div class="field"><label for="folder">Folder</label><select id="folder" name="folder">
    ${optionOf('', 'Any folder', folder)}${
      offered.map((name) => optionOf(name, name, folder))}</select></div>`}
  <div class="field"><label for="sort">Order</label><select id="sort" name="sort">
    ${Object.entries(ORDERS).map(([value, { label }]) => optionOf(value, label, sort))}</select></div>
  <button>Show</button>
</form>`;
}

function folderForms(folder: string, sent: SentChoice | undefined): Html {
  const { typed = folder, problem } = sent?.form === 'folder' ? sent : {};
  const kept = hiddenInput('folder', folder);
  return details(html`Rename or delete the folder <b dir="auto">${folder}</b>`, html`
  <div class="stack">
  ${postForm('/sources/folders', html`${kept}
    <div class="field grow"><label for="name">Name of the folder</label><input id="name" name="name" value="${typed}"
      required maxlength="100" ${faulty(problem, 'name')}>${faultOf(problem, 'name')}</div>`,
  html`<button name="act" value="rename">Rename</button>`, 'filters')}
  ${postForm('/sources/folders', kept, html`<button class="danger" name="act" value="delete">Delete the folder</button>
    <span class="hint">Its sources stay in your list.</span>`, 'actions')}
  </div>`, { isOpen: problem !== undefined, look: 'panel' });
}

function pickForm(shown: Shown): Html {
  const { items, wanted, folders } = shown;
  const { typed, problem } = shown.sent?.form === 'several' ? shown.sent : {};
  const isOthers = wanted.show === 'others';
  const acts = isOthers ? html`<button name="act" value="follow" class="primary">Follow</button>` : html`
  <input name="folder" value="${typed}" aria-label="Folder" placeholder="Folder" list="folders" maxlength="100"
    autocomplete="off" ${faulty(problem, 'folder')}>${faultOf(problem, 'folder')}
  <datalist id="folders">${folders.map((name) => html`<option value="${name}">`)}</datalist>
  <button name="act" value="move">${icon('folder')}Move</button>
  <button name="act" value="pause">${icon('pause')}Pause</button>
  <button name="act" value="resume">Resume</button>
  <button name="act" value="unfollow">Unfollow</button>
  <button class="danger" name="act" value="delete">Delete…</button>`;
  return html`
<form class="pick" method="post" action="/sources/several" id="several">
${hiddenInput('back', sourcesPath(wanted))}
${!isOthers && html`<button class="unseen" name="act" value="move" tabindex="-1" aria-hidden="true">Move</button>`}
<ul class="sources">
<li class="head only-wide" aria-hidden="true"><span class="check"></span><span class="favicon"></span><span>Source</span
  ><span>State</span><span>Last 30 days</span
  ><span class="number">Newest</span><span class="number">Unread</span><span></span></li>
${items.map((source) => row(source, shown))}
</ul>
<div class="bulk"><span><span class="picked"></span> selected</span><span class="space"></span>${acts}</div>
</form>`;
}

function row(source: Managed, { times, webhooks, icons, stripOf, sent }: Shown): Html {
  const { id, title, newestAt, unread } = source;
  return html`
<li><label class="check"><input type="checkbox" name="source" value="${id}" ${
  sent?.chosen.includes(id) && html`checked`}><span class="unseen">Select
  ${title}</span></label>${icons.get(id)}<div class="name"><a class="title" href="/sources/${id}"><span
  dir="auto">${title}</span></a><p class="sub">${origin(source)}</p></div>
<p class="said-state">${stateLine(source, times, source.mayManage, webhooks.get(id))}</p>
${source.kind === 'native' || !source.mayManage ? html`<span></span>` : smallStrip(stripOf(source))}
${newestAt === null ? html`<span></span>` : showTime(times, newestAt, 'since')}
<span class="unread">${unread > 0 && html`<a href="/sources/${id}?show=unread"
  aria-label="${countText(unread)} unread">${countText(unread)} <span class="only-narrow">unread</span></a>`}</span>
${source.isFollowed ? bell(source) : html`<span></span>`}</li>`;
}

function bell({ id, title, notify }: Managed): Html {
  return html`<button class="plain iconic" name="bell" value="${id}" aria-pressed="${notify ? 'true' : 'false'}"
  aria-label="Notify me of new posts in ${title}" title="Notify me of new posts">${icon('bell')}</button>`;
}

function origin({ folder, kind, siteUrl, feedUrl, mayManage, visibility, owner }: Managed): Html {
  const url = siteUrl ?? (mayManage ? feedUrl : null);
  const where = url && URL.canParse(url) ? new URL(url).host : KINDS[kind];
  return html`${folder !== null && html`<span dir="auto">${folder}</span>, `}${where}${
    visibility === 'private' && ', private'}${!mayManage && html`, <span dir="auto">owned by ${owner}</span>`}`;
}

function nothing({ show, q, folder }: Wanted, counts: ManagedPage['counts']): string {
  if (q !== '' || folder !== '') return 'No source matches these filters.';
  if (show === 'failing') return 'No source is failing.';
  if (show === 'paused') return 'No source is paused.';
  if (show === 'others') return 'You already have every public source on this hub.';
  return counts.all === 0 ? 'You have no sources yet. Add the address of a site you like.' : 'You own no sources.';
}

function pages({ items, before, total, next, wanted }: Shown): Html | false {
  return (next !== null || before > 0) && html`
<nav class="actions" aria-label="Pages"><span class="voice soft">Sources ${before + 1}–${before + items.length} of
  ${total}</span>${
  before > 0 && html`<a class="button" href="${sourcesPath({ ...wanted, after: 0 })}">First page</a>`}${
  next !== null && html`<a class="button" rel="next" href="${sourcesPath({ ...wanted, after: next })}">More</a>`
}</nav>`;
}

type Chosen = { source: Source; followers: number };

export function confirmDeleteSeveral(chosen: Chosen[], back: string): Page {
  const followed = chosen.filter(({ followers }) => followers > 0).length;
  const form = postForm('/sources/several', html`
  <p class="lead">They will be deleted for good, with all their posts and attachments. To only stop new posts, pause
    them instead.</p>
  <ul>${chosen.map(({ source, followers }) => html`<li>${hiddenInput('source', source.id)}<a
    href="/sources/${source.id}" dir="auto">${source.title}</a>${followers > 0 && html` <span class="state warn">${
    followersText(followers)}</span>`}</li>`)}</ul>
  ${followed > 0 && html`<p class="hint">Their followers will be notified. A source’s own page lets you hand it to one
    of them instead.</p>`}
  ${hiddenInput('back', back)}${hiddenInput('sure', '1')}`, orLeave(
    html`<button class="danger" name="act" value="delete">Delete these sources</button>`, back, 'Keep these sources'));
  const title = `Delete ${chosen.length === 1 ? 'this source' : `these ${chosen.length} sources`}?`;
  return titledPage(title, form, { section: 'sources' });
}

/** Such as "3 people follow this source"; `followers` does not count the owner. */
export function followersText(followers: number): string {
  return followers === 1 ? 'one person follows this source' : `${followers} people follow this source`;
}
