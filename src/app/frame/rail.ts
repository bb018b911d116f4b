import type { Hub } from '../../features/hub/hub.ts';
import { offers } from '../../features/manage-sources/offer-store.ts';
import { notifications } from '../../features/notifications/notification-store.ts';
import { iconsOfSources } from '../../features/attachments/icon-views.ts';
import {
  countsForPage, countText, type CountedFolder, type CountedSource,
} from '../../features/reading/reading-counts.ts';
import { asking } from '../../features/follows/follow-store.ts';
import { mutedPosts } from '../../features/reading/entry-store.ts';
import { folderPath } from '../../features/reading/list-address.ts';
import { foundText, searchCounts, searchPath } from '../../features/reading/saved-searches.ts';
import { savedSearches } from '../../features/reading/saved-search-store.ts';
import type { SourceState } from '../../features/sources/source-store.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon, type IconName } from '../../platform/http/icons.ts';
import { details, postButton } from '../../platform/http/page-parts.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { MARK } from './assets.ts';

const MOST_TOLD = 100;

/** With more sources, only the current folder is open, and lists show the current and the first unread ones. */
const MOST_OPEN = 40;

const MOST_FOLDERS = 60;

/** The main navigation of a member: a sidebar, or a menu in narrow windows. `section`: the current page. */
export function rail(hub: Hub, viewer: Viewer, section: string | undefined, name: string): Html {
  const { unread, starred, folders: byName } = countsForPage(hub, viewer);
  const folders = viewer.preferences.sourcesBy === 'name' ? byName
    : byName.map((folder) => ({ ...folder, sources: folder.sources.toSorted((a, b) => b.unread - a.unread) }));
  return html`
<nav class="rail" id="rail" popover aria-label="Main">
<div class="rail-in">
<a class="brand" href="/">${MARK}<span class="name" dir="auto">${name}</span></a>
<div>
  ${item('/', 'inbox', 'Unread', section === 'unread', countOf(unread, 'unread', 'unread'))}
  ${item('/starred', 'star', 'Starred', section === 'starred', countOf(starred, 'in all', 'starred'))}
  ${item('/all', 'list', 'All posts', section === 'all')}
  ${(section === 'muted' || mutedPosts(hub).hasAny(asking(viewer)))
    && item('/muted', 'cross', 'Muted', section === 'muted')}
</div>
${savedPart(hub, viewer, section)}
${folders.length > 0 && following(hub, folders, section)}
<div class="foot">
  ${foot(hub, viewer, section)}
  ${postButton('/sign-out', html`${icon('leave')}<span class="name">Sign out</span>`, 'item')}
</div>
</div>
</nav>`;
}

/** The member's saved searches with their counts; a count that takes too long is left out. */
function savedPart(hub: Hub, viewer: Viewer, section: string | undefined): Html | false {
  const saved = savedSearches(hub).listOf(viewer.id);
  if (saved.length === 0) return false;
  const counts = searchCounts(hub, viewer);
  return html`<div>
<p class="rail-title">Searches</p>
${saved.map(({ id, name, q }) => {
    const count = counts.get(id) ?? 0;
    return item(searchPath(q), 'search', name, section === `search:${q}`,
      countOf(count, 'found', `search:${id}`, foundText(count)));
  })}
</div>`;
}

function foot(hub: Hub, viewer: Viewer, section: string | undefined): Html {
  const told = notifications(hub).countUnread(viewer.id, MOST_TOLD);
  const toldCount = countOf(told, 'unread', '', told < MOST_TOLD ? String(told) : `${MOST_TOLD - 1}+`);
  const offered = countOf(offers(hub).countReceived(viewer.id), 'offered to you');
  return html`
  ${item('/write', 'write', 'Write', section === 'write')}
  ${item('/sources', 'sources', 'Sources', section === 'sources', offered)}
  ${viewer.role === 'admin' && item('/admin', 'overview', 'Admin', section?.startsWith('admin/') === true)}
  ${item('/notifications', 'bell', 'Notifications', section === 'notifications', toldCount)}
  ${item('/history', 'clock', 'Reading history', section === 'history')}
  ${item('/settings', 'person', viewer.displayName, section === 'settings')}`;
}

function item(href: string, iconName: IconName, name: string, isHere: boolean, count?: Html | false): Html {
  return html`<a class="item" href="${href}" ${isHere && html`aria-current="page"`}>${icon(iconName)}<span class="name"
    dir="auto">${name}</span>${count}</a>`;
}

function following(hub: Hub, folders: CountedFolder[], section: string | undefined): Html {
  const isShort = folders.reduce((all, { sources }) => all + sources.length, 0) <= MOST_OPEN;
  const shown = folders.length <= MOST_FOLDERS ? folders
    : fitting(folders, MOST_FOLDERS, (folder) => folder.name === null || isIn(folder, section));
  return html`<div>
<p class="rail-title">Following</p>
${shown.map((folder) => folder.name === null ? sourceItems(hub, folder, section)
    : folderPart(hub, folder, section, isShort))}${shown.length < folders.length
    && item('/sources', 'sources', `All ${folders.length} folders`, false)}
</div>`;
}

function fitting<Shown extends { unread: number }>(
  all: Shown[], most: number, isKept: (one: Shown) => boolean,
): Shown[] {
  return all.filter((one) => one.unread > 0 || isKept(one)).filter((one, index) => index < most || isKept(one));
}

function isIn({ name, sources }: CountedFolder, section: string | undefined): boolean {
  return section === `folder:${name}` || sources.some(({ id }) => section === sourceSection(id));
}

function folderPart(hub: Hub, folder: CountedFolder, section: string | undefined, isShort: boolean): Html {
  const { name, unread, sources } = folder;
  const mark = markOf(...sources.map(({ state }) => state));
  const isWithin = isIn(folder, section);
  const path = folderPath(name ?? '');
  const count = countOf(unread, 'unread', `folder:${name}`);
  if (!isShort && !isWithin) return item(path, 'folder', name ?? '', false, html`${mark}${count}`);
  return details(html`${icon('folder')}<span class="name" dir="auto">${name}</span>${mark}${count}`, html`
${item(path, 'list', 'Whole folder', section === `folder:${name}`)}${sourceItems(hub, folder, section)}`,
  { isOpen: true });
}

function sourceItems(hub: Hub, { sources }: CountedFolder, section: string | undefined): Html {
  const shown = sources.length <= MOST_OPEN ? sources
    : fitting(sources, MOST_OPEN, ({ id }) => section === sourceSection(id));
  const icons = iconsOfSources(hub, shown);
  return html`${shown.map((source) => sourceItem(source, icons.get(source.id), section))}${shown.length < sources.length
    && item('/sources', 'sources', `All ${sources.length} sources`, false)}`;
}

function sourceItem(
  { id, title, unread, state }: CountedSource, iconOf: Html | undefined, section: string | undefined,
): Html {
  const count = countOf(unread, 'unread', sourceSection(id));
  const here = section === sourceSection(id) && html`aria-current="page"`;
  return html`<a class="item" href="/sources/${id}" ${here}>${iconOf}<span
  class="name" dir="auto">${title}</span>${markOf(state)}${count}</a>`;
}

function sourceSection(id: number): string {
  return `source:${id}`;
}

const FAILING = html`<span class="failing" title="Failing">!<span class="unseen"> failing</span></span>`;
const PAUSED = html`<span class="paused" title="Paused">${icon('pause')}<span class="unseen"> paused</span></span>`;

/** Nothing new comes from a source that fails or is paused, such as a feed that its publisher has ended (410). */
function markOf(...states: SourceState[]): Html | false {
  return states.includes('failing') ? FAILING : states.includes('paused') && PAUSED;
}

/** A count in the navigation, hidden if it is 0. hub.js finds it by `name` to update it. */
function countOf(count: number, noun: string, name = '', shown = countText(count)): Html {
  return html`<span class="count" ${name && html`data-count="${name}"`} ${count === 0 && html`hidden`}>${shown}<span
  class="unseen"> ${noun}</span></span>`;
}
