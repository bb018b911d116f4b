import { DAY, isoTime } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { dayName, dayNumber, showTime, type Times } from '../../platform/http/times.ts';
import { markFound, type Found } from '../posts/mark-found.ts';
import { AWAY, languageOf, titleOf } from '../posts/post-views.ts';
import { listPath, postPaths, sectionOf, withoutSearch } from './list-address.ts';
import type { ListedPost, View } from './reading-list.ts';
import { nothingFound, searchSyntax } from './search-views.ts';
import { stateButton, stateForm } from './state-buttons.ts';

/** A page of a list, and what there is to know of the list. */
export type ListPage = {
  view: View;
  /** What the list is called: "Unread", or a folder or a source. */
  name: string;
  items: ListedPost[];
  /** Of their sources, by id. */
  icons: Map<number, Html>;
  /** Addresses of small pictures of posts, by the post. */
  pictures: Map<number, string>;
  cursor: string | null;
  next: string | null;
  /** How much is in it, as far as that is counted; empty for nothing. */
  count: string;
  times: Times & { now: number };
  /** The last mark that was set before the page was made, and a millisecond. */
  since: number;
  /** The post that had arrived last when the first page of the list was made. */
  newest: number;
  /** Whether all of the list can be marked as read: not where it is of a source that one does not follow. */
  isMarkable: boolean;
  /** Of a search: what it looks for, and the part of each post's text in which that was found. */
  found: { found: Found; texts: Map<number, string> };
  /** Whether its reader follows any source. */
  isFollowing: boolean;
  /** What is said of a list without posts, in place of the usual. */
  empty?: string | undefined;
};

/** Summaries are shown on one line, which holds some 100 characters at the most. */
const SUMMARY_LENGTH = 140;

/** What the list is called, and what one does with it. */
export function listBar(list: ListPage): Html {
  const { view, name } = list;
  const isSearch = view.q !== undefined;
  return html`${isSearch && html`<a class="button plain iconic" rel="up" href="${listPath(withoutSearch(view))}"
  aria-label="Back to ${name}">${icon('back')}</a>`}<h1><span dir="auto">${name}</span>${!isSearch && html`
  ${countMark(list, html`<span class="unseen"> ${view.kind === 'starred' ? 'posts' : 'unread'}</span>`)}`}</h1>
<span class="space"></span>
${!isSearch && html`${searchForm(view, 'find only-wide')}
<a class="button plain iconic only-narrow" href="${listPath({ ...view, q: '' })}" aria-label="Search">${
  icon('search')}</a>`}
${canMark(list) && markMenu(list)}`;
}

/** The window's title: what is searched for, else the count as it stands in the heading. */
export function listTitle({ view: { q }, name, count }: ListPage): string {
  return q === undefined ? `${name}${count && ` (${count})`}` : `${q || 'Search'} – ${name}`;
}

/** How much is in the list. The script keeps it true, and the window's title with it. */
function countMark({ view, count }: ListPage, what: Html | false = false): Html {
  return html`<span class="count" data-count="${sectionOf(view)}" ${!count && html`hidden`}>${count || 0}${
    what}</span>`;
}

/** A box that searches the list. */
function searchForm(view: View, kind: 'find only-wide' | 'search'): Html {
  const [path, query = ''] = listPath(withoutSearch(view)).split('?');
  const what = `Search ${whatOf(view)}`;
  const kept = [...new URLSearchParams(query)];
  return html`<form class="${kind}" role="search" action="${path}">${kept.map(([name, value]) => html`
<input type="hidden" name="${name}" value="${value}">`)}
<input type="search" name="q" value="${view.q}" placeholder="${what}" aria-label="${what}" maxlength="200" ${
  view.q === '' && html`autofocus`}>${kind === 'search' ? html`<button>Search</button>`
    : html`<button class="plain iconic" aria-label="Search">${icon('search')}</button>`}</form>`;
}

function whatOf({ kind, folder, sourceId }: View): string {
  if (folder !== undefined) return kind === 'unread' ? 'unread here' : 'this folder';
  if (sourceId !== undefined) return kind === 'unread' ? 'unread here' : 'this source';
  return { unread: 'unread', all: 'all posts', starred: 'starred' }[kind];
}

function canMark({ view, items }: ListPage): boolean {
  return view.kind !== 'starred' && items.some(({ read }) => !read);
}

/** The form that marks several posts as read. Buttons in the menus of rows belong to it too (`form="mark"`). */
function markMenu(list: ListPage): Html {
  const { view, items, times } = list;
  const ofPage = items.filter(({ read }) => !read).map(({ id }) => id);
  const older = (days: number, label: string): Html => html`
<button name="before" value="${isoTime(times.now - days * DAY)}">${label}</button>`;
  return html`<details class="drop"><summary class="button plain" aria-label="Mark read">${icon('done')}<span
  class="only-wide">Mark read</span></summary>
<form class="sheet" id="mark" method="post" action="/reading/mark-read">
<input type="hidden" name="from" value="${listPath(view, view.kind === 'all' ? { cursor: list.cursor } : {})}">
${marksWhole(list) && html`${scopeField(view)}<input type="hidden" name="upTo" value="${list.newest}">`}
<button name="posts" value="${ofPage.join(' ')}">This page</button>
${marksWhole(list) && html`<button><span>All ${countMark(list)}</span></button>
${older(1, 'Older than a day')}${older(7, 'Older than a week')}`}
</form></details>`;
}

function marksWhole({ view, isMarkable }: ListPage): boolean {
  return isMarkable && view.q === undefined && view.kind !== 'starred';
}

/** The hidden field by which a form says which list it is about. */
export function scopeField({ folder, sourceId }: View): Html {
  if (folder !== undefined) return html`<input type="hidden" name="folder" value="${folder}">`;
  if (sourceId !== undefined) return html`<input type="hidden" name="source" value="${sourceId}">`;
  return html`<input type="hidden" name="all" value="1">`;
}

/** The posts under the days on which they were published, with what leads to more. */
export function listMain(list: ListPage): Html {
  const { view, items, cursor, next, since, newest } = list;
  const { q } = view;
  const days = [...Map.groupBy(items, ({ publishedAt }) => dayNumber(list.times, publishedAt)).values()];
  const postAt = postPaths(view, { since, cursor });
  const isLive = q === undefined && cursor === null && view.kind !== 'starred';
  const live = isLive && html`data-view="${scopeQuery(view)}" data-newest="${newest}"`;
  return html`${q !== undefined && html`<div class="search-head">${searchForm(view, 'search')}${
    searchSyntax(items.length === 0)}</div>`}
${isLive && freshLine(view)}
${items.length > 0 && stateForm(`${listPath(view, { since, cursor })}#post-`)}
<div id="list" ${live}>${days.map((posts, index) => daySection(list, postAt, posts, index))}</div>
${items.length === 0 && q !== '' && nothingHere(list)}
${next && html`<nav class="more" aria-label="Pages"><a class="button" rel="next"
  href="${listPath(view, { since, cursor: next, newest })}">Older posts</a></nav>`}`;
}

function scopeQuery({ folder, sourceId }: View): string {
  if (folder !== undefined) return new URLSearchParams({ folder }).toString();
  return sourceId === undefined ? '' : `source=${sourceId}`;
}

/** The script shows it once something has arrived. */
function freshLine(view: View): Html {
  return html`<a class="fresh" href="${listPath(view)}" hidden><span data-n="1">One new post.</span><span
  data-n="n"><span data-number></span> new posts.</span> <b>Show</b></a>`;
}

/** The address of a post on the page. */
type PostAt = (postId: number) => string;

function daySection(list: ListPage, postAt: PostAt, posts: ListedPost[], index: number): Html {
  const name = dayName(list.times, posts[0]?.publishedAt ?? 0);
  return html`<section aria-labelledby="day${index}"><h2 class="day" id="day${index}">${name}</h2>
<ol class="rows">${posts.map((post) => row(list, postAt, post))}</ol></section>
`;
}

const ofPost = (id: number): Html => html`aria-describedby="t${id}"`;
const readButton = stateButton('read', 'toggle', html`<span class="dot"></span>`, ofPost);
const starButton = stateButton('star', 'toggle', icon('star'), ofPost);

function row(list: ListPage, postAt: PostAt, post: ListedPost): Html {
  const { view, times } = list;
  const { id, read, starred, sourceId, sourceTitle } = post;
  const { title, rest } = wordsOf(list, post);
  return html`<li class="row${read && ' read'}${starred && ' starred'}" id="post-${id}">
${readButton(post)}${list.icons.get(sourceId)}
<div class="text" ${languageOf(post)}>
<h3 dir="auto" id="t${id}"><a href="${postAt(id)}">${title}</a></h3><p
 class="line" dir="auto">${
 view.sourceId === undefined && html`<b dir="auto">${sourceTitle}</b>`}<span class="sum">${rest}</span></p></div>
${showTime(times, post.publishedAt, 'row')}${thumbnail(list.pictures.get(id))}${starButton(post)}${
  rowMenu(list, post)}</li>
`;
}

/** Title and first words of a post; of one that was found, those around the place. */
function wordsOf({ view: { q }, found: { found, texts } }: ListPage, post: ListedPost) {
  const { title, rest } = titleOf(post, SUMMARY_LENGTH);
  if (q === undefined) return { title, rest };
  return { title: markFound(title, found), rest: markFound(texts.get(post.id) ?? rest, found) };
}

function thumbnail(path: string | undefined): Html | undefined {
  return path === undefined ? undefined : html`<img class="thumb" src="${path}" width="52" height="39" alt=""
 loading="lazy">`;
}

function rowMenu(list: ListPage, { id, url }: ListedPost): Html | false {
  const marks = canMark(list) && marksWhole(list);
  return (marks || url !== null) && html`<details class="drop"><summary class="toggle" aria-label="More" title="More"
 aria-describedby="t${id}">${icon('more')}</summary><div class="sheet">${url !== null && html`<a class="button"
 data-original href="${url}" ${AWAY}>Open the original</a>`}${marks && html`<button form="mark" name="above"
 value="${id}">Mark all above as read</button><button form="mark" name="below" value="${id}">Mark all below as
 read</button>`}</div></details>`;
}

function nothingHere({ view, cursor, empty, name, isFollowing }: ListPage): Html {
  const { kind, folder, sourceId, q } = view;
  if (q !== undefined) return nothingFound(view, name);
  if (cursor !== null) {
    return html`<p class="empty">There are no older posts. <a href="${listPath(view)}">To the newest</a></p>`;
  }
  if (kind === 'starred') return html`<p class="empty">Nothing is starred yet. A star keeps a post here for good.</p>`;
  if (kind === 'unread' && isFollowing) {
    const all = listPath({ ...view, kind: 'all' });
    return html`<p class="empty">You have read everything${(folder ?? sourceId) !== undefined && ' here'}.
<a href="${all}">All posts</a></p>`;
  }
  if (empty) return html`<p class="empty">${empty}</p>`;
  return html`<p class="empty">There is nothing here yet. <a href="/sources">Follow a source</a>, and its posts arrive
here.</p>`;
}
