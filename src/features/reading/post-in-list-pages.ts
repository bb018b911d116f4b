import { HOUR } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { pathId } from '../../platform/http/input.ts';
import { AWAY, hiddenInput, menu } from '../../platform/http/page-parts.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { EVERYBODY, showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { STEP } from '../../platform/markup/in-steps.ts';
import { nextTurn } from '../../platform/turns.ts';
import { offerOf } from '../full-text/ask-for-full-text.ts';
import { fullTexts } from '../full-text/full-text-store.ts';
import { offerPanel, textSwitch } from '../full-text/full-text-views.ts';
import { chooseText, type ShownText } from '../full-text/show-full-text.ts';
import type { Hub } from '../hub/hub.ts';
import { recordReading } from '../hub/disk-reserve.ts';
import { mayManagePost, visiblePost } from '../posts/post-access.ts';
import { posts, type Post, type WholePost } from '../posts/post-store.ts';
import { languageOf, postArticle, titleOf } from '../posts/post-views.ts';
import { listPath, postPaths, readListAddress, sectionOf, type Opened } from './list-address.ts';
import { countOf, nameOf } from './list-pages.ts';
import { hasUnread, lessLikeThis, scopeField, sidesOf, stateButton, stateForm } from './list-views.ts';
import { setRead } from './mark-read.ts';
import { readingHistory } from './reading-history-store.ts';
import { neighbours, withReadState, type ListedPost, type Neighbours, type View } from './reading-list.ts';

type PostInList = {
  post: WholePost & Pick<ListedPost, 'read' | 'starred' | 'also'>;
  view: View;
  name: string;
  count: string;
  cursor: string | null;
  newest: number;
  around: Neighbours;
  times: Times;
  may: { delete: boolean; change: boolean };
};

/** The page of a post at the post's own address. Members see the post within the list of its source. */
export async function showPost(hub: Hub, req: HubRequest): Promise<Reply> {
  const { params, viewer } = req;
  const post = visiblePost(hub, pathId(params), viewer);
  if (viewer) return shownInList(hub, { ...req, viewer }, post, { kind: 'all', sourceId: post.sourceId }, null);
  const article = await postArticle(hub, post, EVERYBODY, { change: false });
  return page({ title: titleOf(post).title, main: article, bar: barForVisitors(post), shape: 'article' });
}

function barForVisitors({ url }: WholePost): Html {
  return html`<div><a class="button plain" rel="up" href="/">${icon('back')}<span>All posts</span></a></div><div></div>
<div>${url && html`<a class="button plain" href="${url}" ${AWAY} aria-label="Original">${icon('away')}<span
  class="only-wide">Original</span></a>`}</div>`;
}

/** The page of a post within the list that the request's address names. */
export function showPostInList(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { view, cursor } = readListAddress(req);
  return shownInList(hub, req, visiblePost(hub, pathId(req.params), req.viewer), view, cursor);
}

async function shownInList(
  hub: Hub, req: MemberRequest, post: WholePost, view: View, cursor: string | null,
): Promise<Reply> {
  const { viewer } = req;
  const name = nameOf(hub, viewer, view); // throws 404 for an unknown reading list; the post then stays unread
  const text = chooseText(hub, post, req.query.get('text'));
  if (viewer.scope !== 'read' && isOpening(req)) recordOpened(hub, viewer, post.id, text?.which === 'full');
  const may = mayManagePost(post, viewer);
  const [state] = withReadState(hub, viewer, [post]);
  if (!state) throw new Error('a post that the viewer may see has no read state');
  const shown: PostInList = {
    post: state, view, cursor, newest: posts(hub).lastId(),
    name, count: countOf(hub, viewer, view),
    around: neighbours(hub, viewer, view, post),
    times: timesOf(hub, viewer),
    may: { delete: may, change: may && post.sourceKind === 'native' },
  };
  const note = text !== null && textNote(hub, viewer, text, req);
  const read = { ...text?.post ?? post, sourceTitle: state.sourceTitle };
  const after = html`${alsoIn(shown)}${turnAtEnd(shown)}`;
  if (read.contentHtml.length > STEP) await nextTurn();
  const article = await postArticle(hub, read, shown.times, shown.may, { note, after });
  const isWaiting = text?.wanted === 'full' && text.fullText.state === 'waiting';
  return page({
    title: titleOf(post).title, main: html`${article}${nextInList(shown)}`, bar: postBar(shown), shape: 'article',
    ...(isWaiting && { refreshSeconds: 3 }),
  });
}

function textNote(hub: Hub, viewer: Viewer, text: ShownText<WholePost>, { path, query }: MemberRequest): Html {
  const { sourceId, ownerId } = text.post;
  const offer = offerOf(hub, { id: sourceId, ownerId }, viewer);
  return html`${textSwitch(text, `${path}?${query}`)}${offer?.why === 'used' && offerPanel(hub, sourceId, offer)}`;
}

/** Whether the viewer opens the post: not so for HEAD, a browser's prefetch or a page after an action (`said`). */
function isOpening({ method, headers, query }: HubRequest): boolean {
  return method === 'GET' && !String(headers['sec-purpose'] ?? '').includes('prefetch') && !query.has('said');
}

/** Adds a post to the reading history and, if the viewer wants that, marks it as read; neither on a full disk. */
function recordOpened(hub: Hub, viewer: Viewer, postId: number, isFullText: boolean): void {
  recordReading(hub, () => {
    readingHistory(hub).note(viewer.id, postId);
    if (viewer.preferences.marksOpened) setRead(hub, viewer, postId, true);
    if (isFullText) fullTexts(hub).noteUse([postId], HOUR);
  });
}

const starButton = stateButton('star', 'plain iconic', icon('star'));
const readButton = stateButton('read', 'plain iconic', icon('ring'));

function postBar(shown: PostInList): Html {
  const { post, view, name, count, around } = shown;
  const up = `${listPath(view, openedPage(shown))}#post-${post.id}`;
  return html`<div><a class="button plain" rel="up" href="${up}"
  aria-label="Back to ${name}${count && ` ${count} left`}">${icon('back')}<span class="word" dir="auto">${name}</span>
  <span class="soft number" data-count="${sectionOf(view)}" ${!count && html`hidden`}>${count || 0}</span></a></div>
<div>${turn(shown, around.previous, 'prev')}${turn(shown, around.next, 'next')}</div>
<div>${stateForm(addressOf(shown, post.id))}${starButton(post)}${readButton(post)}${post.url && html`
<a class="button plain" data-original href="${post.url}" ${AWAY} aria-label="Original">${icon('away')}<span
  class="only-wide">Original</span></a>`}${moreMenu(shown)}</div>`;
}

function openedPage({ view: { since }, cursor }: PostInList): Opened {
  return { ...(since !== undefined && { since }), cursor };
}

function turn(shown: PostInList, to: Post | null, rel: 'prev' | 'next'): Html {
  const [label, drawn] = rel === 'prev' ? ['Previous', icon('up')] : ['Next', icon('down')];
  if (!to) return html`<span class="button plain iconic nothing" aria-hidden="true">${drawn}</span>`;
  return html`<a class="button plain iconic" rel="${rel}" href="${addressOf(shown, to.id)}"
  aria-label="${label}: ${titleOf(to).title}" title="${label}">${drawn}</a>`;
}

function addressOf(shown: PostInList, postId: number): string {
  return postPaths(shown.view, openedPage(shown))(postId);
}

function moreMenu(shown: PostInList): Html {
  const { post, view, may } = shown;
  const marks = hasUnread(view) && view.q === undefined && !view.each;
  const [above, below] = sidesOf(view);
  return menu(html`class="button plain iconic" aria-label="More" title="More"`, icon('more'), html`<div
  class="sheet">${marks && html`
<form id="mark" method="post" action="/reading/mark-read">${hiddenInput('from', addressOf(shown, post.id))}${
  scopeField(view)}${hiddenInput('upTo', shown.newest)}<button name="${above}" value="${post.id}">Mark all above as
  read</button><button name="${below}" value="${post.id}">Mark all below as read</button></form>`}
<a class="button" href="/posts/${post.id}">Address of this post</a>
${lessLikeThis(post.id)}
${may.change && html`<a class="button" href="/posts/${post.id}/edit">Edit</a>`}
${may.delete && html`<a class="button" href="/posts/${post.id}/delete">Delete</a>`}
<a class="button" href="/write">Write a post</a></div>`);
}

function alsoIn({ post: { also } }: PostInList): Html | false {
  return also.length > 0 && html`
<p class="meta"><span>Also in</span>${also.map(({ id, sourceTitle }) => html`
<a href="/posts/${id}" dir="auto">${sourceTitle}</a>`)}</p>`;
}

function turnAtEnd(shown: PostInList): Html | false {
  const { previous, next, nextUnread } = shown.around;
  const onwards = nextUnread ?? next;
  return (previous !== null || onwards !== null) && html`
<nav class="turn" aria-label="Neighbours">${previous ? html`<a class="button"
  href="${addressOf(shown, previous.id)}">${icon('up')}Previous</a>` : html`<span></span>`}${onwards && html`<a
  class="button primary" ${onwards === nextUnread && html`data-next-unread`} href="${addressOf(shown, onwards.id)}">${
  onwards === nextUnread ? 'Next unread' : 'Next'}${icon('down')}</a>`}</nav>`;
}

function nextInList(shown: PostInList): Html | false {
  const { around: { following }, name, times } = shown;
  return following.length > 0 && html`
<aside class="beside" aria-labelledby="then"><h2 id="then">Next in ${name}</h2><ol>${following.map((post) => html`
<li><a href="${addressOf(shown, post.id)}" dir="auto" ${languageOf(post)}>${
  titleOf(post).title}<span><bdi>${post.sourceTitle}</bdi>,
  ${showTime(times, post.publishedAt)}</span></a></li>`)}</ol></aside>`;
}
