import { DAY, isoTime } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { cursorOf } from '../../platform/http/input.ts';
import { icon } from '../../platform/http/icons.ts';
import { AWAY, emptyText, hiddenInput, menu, postForm } from '../../platform/http/page-parts.ts';
import { dayName, dayNumber, showTime, type Times } from '../../platform/http/times.ts';
import type { FaultPlace } from '../posts/expression.ts';
import { searchedLine } from '../posts/expression-views.ts';
import { markFound, type Found } from '../posts/mark-found.ts';
import { languageOf, titleOf } from '../posts/post-views.ts';
import { orderMenu, unreadOrAll } from './list-choice-views.ts';
import { isPart, listPath, postPaths, sectionOf, withoutSearch } from './list-address.ts';
import { LIST_ORDERS } from './list-orders.ts';
import { orderOf, placeIn, type ListedPost, type View } from './reading-list.ts';
import { emptySearch, searchForm, searchHead, type SearchFacts } from './search-views.ts';

export type ShownList = {
  view: View;
  name: string;
  items: ListedPost[];
  icons: Map<number, Html>;
  pictures: Map<number, string>;
  cursor: string | null;
  next: string | null;
  searchedTo: number | null;
  /** Number of unread (or starred) posts of the list, as text; empty if there are none or they are not counted. */
  count: string;
  times: Times & { now: number };
  /** Posts marked since this time (unix ms) stay in a list of unread ones: the address's, else after the last mark. */
  since: number;
  /** Id of the newest post when the list was opened (the address's `newest`, else now), or of a later one shown. */
  newest: number;
  isMarkable: boolean;
  /** The words of a search, and by post id the text to show: around the first match, else the summary's beginning. */
  found: { found: Found; texts: Map<number, string> };
  search: SearchFacts | undefined;
  fault: FaultPlace | undefined;
  isFollowing: boolean;
  empty?: string | undefined;
};

/** Maximum characters of a post's summary in a list: one line shows at most about 100 characters. */
const SUMMARY_LENGTH = 140;

/** The bar above a list; for a search only the way back, the list's name and the menu to mark posts as read. */
export function listBar(list: ShownList): Html {
  const { view, name } = list;
  const isSearch = view.q !== undefined;
  return html`${isSearch && html`<a class="button plain iconic" rel="up" href="${listPath(withoutSearch(view))}"
  aria-label="Back to ${name}">${icon('back')}</a>`}<h1><span dir="auto">${name}</span>${!isSearch && html`
  ${countMark(list, html`<span class="unseen"> ${view.kind === 'starred' ? 'in all' : 'unread'}</span>`)}`}</h1>
${!isSearch && unreadOrAll(view)}
<span class="space"></span>
${!isSearch && html`${searchForm(view, 'find only-wide')}
<a class="button plain iconic only-narrow" href="${listPath({ ...view, q: '' })}" aria-label="Search">${
  icon('search')}</a>${orderMenu(view)}`}
${canMark(list) && markMenu(list)}`;
}

/** The window's title: the search words and the list's name, or the name and the count. */
export function listTitle({ view: { q }, name, count }: ShownList): string {
  return q === undefined ? `${name}${count && ` (${count})`}` : `${q || 'Search'} – ${name}`;
}

function countMark({ view, count }: ShownList, unit: Html | false = false, isShown = count !== ''): Html {
  return html`<span class="count" data-count="${sectionOf(view)}" ${!isShown && html`hidden`}>${count || 0}${
    unit}</span>`;
}

/** "All 999+" would mark any number of posts; the script leaves such a count out, too. */
function isExact({ count }: ShownList): boolean {
  return /^\d+$/.test(count);
}

function canMark({ view, items }: ShownList): boolean {
  return hasUnread(view) && items.some(({ read }) => !read);
}

/** The form that marks several posts as read; the buttons in the menus of single posts also submit this form. */
function markMenu(list: ShownList): Html {
  const { view, items, times } = list;
  const ofPage = items.filter(({ read }) => !read).map(({ id }) => id);
  const older = (days: number, label: string): Html => html`
<button name="before" value="${isoTime(times.now - days * DAY)}">${label}</button>`;
  const drawn = html`${icon('done')}<span class="only-wide">Mark read</span>`;
  return menu(html`class="button plain" aria-label="Mark read"`, drawn, html`
<form class="sheet" id="mark" method="post" action="/reading/mark-read">
${hiddenInput('from', listPath(view, view.kind === 'all' ? { cursor: list.cursor } : {}))}
${marksWhole(list) && html`${scopeField(view)}${hiddenInput('upTo', list.newest)}`}
<button name="posts" value="${ofPage.join(' ')}">This page</button>
${marksWhole(list) && html`<button><span>All ${countMark(list, false, isExact(list))}</span></button>
${older(1, 'Older than a day')}${older(7, 'Older than a week')}`}
</form>`);
}

/** Whether a list is of unread or all posts, so that arriving posts join the list and all its posts can become read. */
export function hasUnread({ kind }: View): boolean {
  return kind === 'unread' || kind === 'all';
}

function marksWhole({ view, isMarkable }: ShownList): boolean {
  return isMarkable && view.q === undefined && hasUnread(view);
}

/** The hidden field of a form that names the list to mark as read. */
export function scopeField({ folder, sourceId }: View): Html {
  if (folder !== undefined) return hiddenInput('folder', folder);
  return sourceId === undefined ? hiddenInput('all', 1) : hiddenInput('source', sourceId);
}

/** The list's posts, by day of publishing or best first, with the head of a search and a link to the next page. */
export function listMain(list: ShownList): Html {
  const { view, items, cursor, next, searchedTo, since, newest } = list;
  const { q } = view;
  const days = [...Map.groupBy(items, ({ publishedAt }) => dayNumber(list.times, publishedAt)).values()];
  const isByTime = view.by === undefined;
  const postAt = postPaths(view, { since, cursor });
  const { isUp, more } = orderOf(view);
  const isAtNewest = isUp ? next === null : cursor === null;
  const isLive = q === undefined && isAtNewest && hasUnread(view);
  const live = isLive && html`data-view="${scopeQuery(view)}" data-newest="${newest}"`;
  return html`${q !== undefined && searchHead(view, q, list.search, list.fault)}
${view.kind === 'muted' && items.length > 0 && html`<p class="hint">Muted by your <a href="/settings/rules">rules</a>.
  Changing or removing a rule brings them back.</p>`}
${isLive && !isUp && freshLine(listPath(view))}
${items.length > 0 && stateForm(`${listPath(view, { since, cursor })}#post-`)}
<div id="list" ${live}>${isByTime ? days.map((posts, index) => daySection(list, postAt, posts, index))
    : html`<h2 class="unseen">Best first</h2>
<ol class="rows">${items.map((post) => row(list, postAt, post))}</ol>`}</div>
${items.length === 0 && q !== '' && !list.fault && searchedTo === null && emptyList(list)}
${searchedTo !== null && searchedLine(list.times, searchedTo, {
    isEmpty: items.length === 0, isEnd: isByTime && next === null, // best first, a search may just have stopped
  })}
${isLive && isUp && freshLine(listPath(view, { since, cursor: endOf(list) }))}
${next && html`<nav class="more" aria-label="Pages"><a class="button" rel="next"
  href="${listPath(view, { since, cursor: next, newest })}">${
  searchedTo !== null ? 'Search on' : more}</a></nav>`}`;
}

/** The cursor after the last post of the page: in an oldest-first list, posts that are published later follow. */
function endOf({ view, items, cursor }: ShownList): string | null {
  const last = items.at(-1);
  if (!last) return cursor;
  const { at, id } = placeIn(view, last);
  return cursorOf(at, id);
}

function scopeQuery({ folder, sourceId }: View): string {
  if (folder !== undefined) return new URLSearchParams({ folder }).toString();
  return sourceId === undefined ? '' : `source=${sourceId}`;
}

/** A hidden line that the page's script shows when new posts have arrived. */
function freshLine(href: string): Html {
  return html`<a class="fresh" href="${href}" hidden><span data-n="1">One new post.</span><span
  data-n="n"><span data-number></span> new posts.</span> <b>Show</b></a>`;
}

type PostAt = (postId: number) => string;

function daySection(list: ShownList, postAt: PostAt, posts: ListedPost[], index: number): Html {
  const name = dayName(list.times, posts[0]?.publishedAt ?? 0);
  return html`<section aria-labelledby="day${index}"><h2 class="day" id="day${index}">${name}</h2>
<ol class="rows">${posts.map((post) => row(list, postAt, post))}</ol></section>
`;
}

/** The form of read and star buttons; without scripts, a click on a button leads back to the page `from`. */
export function stateForm(from: string): Html {
  return html`<form hidden id="state" method="post">${hiddenInput('from', from)}</form>`;
}

/** Takes back the marks of an act, and leads to the page `from`. */
export function undoButton(act: number, from: string): Html {
  return postForm('/reading/undo', html`${hiddenInput('undo', act)}${hiddenInput('from', from)}`,
    html`<button class="link">Undo</button>`, '');
}

export function stateButton(
  kind: 'read' | 'star', look: string, drawn: Html, more: (id: number) => Html | false = () => false,
): (post: Pick<ListedPost, 'id' | 'read' | 'starred'>) => Html {
  const [kindClass, label] = kind === 'read' ? ['seen', 'Read'] : ['star', 'Star'];
  const [off, on] = [false, true].map((isOn) => html`class="${kindClass} ${look}" name="${kind}"
 value="${isOn ? 0 : 1}" aria-pressed="${String(isOn)}" aria-label="${label}" title="${label}" form="state"`);
  return ({ id, read, starred }) => html`<button ${(kind === 'read' ? read : starred) ? on : off}
 formaction="/posts/${id}/${kind}" ${more(id)}>${drawn}</button>`;
}

const ofPost = (id: number): Html => html`aria-describedby="t${id}"`;
const readButton = stateButton('read', 'toggle', html`<span class="dot"></span>`, ofPost);
const starButton = stateButton('star', 'toggle', icon('star'), ofPost);

function row(list: ShownList, postAt: PostAt, post: ListedPost): Html {
  const { view, times } = list;
  const { id, read, starred, sourceId } = post;
  const { title, rest } = textsOf(list, post);
  const picture = list.pictures.get(id);
  return html`<li class="row${read && ' read'}${starred && ' starred'}" id="post-${id}">
${readButton(post)}${list.icons.get(sourceId)}
<div class="text" ${languageOf(post)}>
<h3 dir="auto" id="t${id}"><a href="${postAt(id)}">${title}</a></h3><p
 class="line" dir="auto">${
 view.sourceId === undefined && sourceNames(post)}<span class="sum">${rest}</span></p></div>
${showTime(times, post.publishedAt, view.by === undefined ? 'row' : 'ago')}${
  picture !== undefined && html`<img class="thumb" src="${picture}" width="52" height="39" alt="" loading="lazy">`}${
  starButton(post)}${
  rowMenu(list, post)}</li>
`;
}

/** If several sources have posts with the same link, their row in a list names at most this many further sources. */
const NAMED = 3;

function sourceNames({ sourceTitle, also }: ListedPost): Html {
  const more = also.length - NAMED;
  return html`<b dir="auto">${sourceTitle}${also.slice(0, NAMED).map((double) =>
    html`, <bdi>${double.sourceTitle}</bdi>`)}${more > 0 && `, +${more}`}</b>`;
}

function textsOf({ view: { q }, found: { found, texts } }: ShownList, post: ListedPost) {
  const { title, rest } = titleOf(post, SUMMARY_LENGTH);
  if (q === undefined) return { title, rest };
  return { title: markFound(title, found), rest: markFound(texts.get(post.id) ?? rest, found) };
}

/** Leads to the form for a rule against posts like this one. */
export function lessLikeThis(id: number): Html {
  return html`<a class="button" data-less href="/settings/rules/new?post=${id}">Less like this</a>`;
}

/** The mark-read form’s fields for the posts above and below a post of a page; `above` always means newer posts. */
export function sidesOf({ order }: View): ['above', 'below'] | ['below', 'above'] {
  return LIST_ORDERS[order ?? 'newest'].isUp ? ['below', 'above'] : ['above', 'below'];
}

function rowMenu(list: ShownList, { id, url }: ListedPost): Html {
  const marks = canMark(list) && marksWhole(list) && !list.view.each;
  const [above, below] = sidesOf(list.view);
  return menu(html`class="toggle" aria-label="More" title="More" aria-describedby="t${id}"`, icon('more'), html`<div
 class="sheet">${url !== null && html`<a class="button"
 data-original href="${url}" ${AWAY}>Open the original</a>`}${
  lessLikeThis(id)}${marks && html`<button form="mark" name="${above}"
 value="${id}">Mark all above as read</button><button form="mark" name="${below}" value="${id}">Mark all below as
 read</button>`}</div>`);
}

function emptyList({ view, cursor, empty, name, isFollowing }: ShownList): Html {
  const { kind, q } = view;
  if (q !== undefined) return emptySearch(view, name);
  if (cursor !== null) {
    const { more, first } = orderOf(view);
    return emptyText(html`There are no ${more.toLowerCase()}.
<a href="${listPath(view)}">To the ${first}</a>`);
  }
  if (kind === 'muted') return emptyText(html`Nothing is muted. <a href="/settings/rules">Rules</a> can do that.`);
  if (kind === 'starred') return emptyText('Nothing is starred yet. What you star is never removed.');
  if (kind === 'unread' && isFollowing) {
    const { each, ...rest } = view;
    const all = isPart(view) ? listPath({ ...rest, kind: 'all' }, { show: 'all' }) : listPath({ kind: 'all' });
    return emptyText(html`You have read everything${isPart(view) && ' here'}.
<a href="${all}">All posts</a>`);
  }
  return emptyText(empty || html`No posts yet. <a href="/sources">Follow a source</a>.`);
}
