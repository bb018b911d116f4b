import { pathId } from '../../platform/http/input.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { EVERYBODY, timesOf } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import { mayManagePost, visiblePost } from '../posts/post-access.ts';
import { posts, type WholePost } from '../posts/post-store.ts';
import { AWAY, postArticle, titleOf } from '../posts/post-views.ts';
import { noteOpened } from './history-list.ts';
import { readListAddress } from './list-address.ts';
import { countOf, nameOf } from './list-pages.ts';
import { nextInList, postBar, turnAtEnd, type PostInList } from './post-views.ts';
import { neighbours, withReadState, type View } from './reading-list.ts';

/** A post at its own address; a member sees it in the list of its source. */
export function showPost(hub: Hub, req: HubRequest): Reply {
  const { params, viewer } = req;
  const post = visiblePost(hub, pathId(params), viewer);
  if (viewer) return shownInList(hub, { ...req, viewer }, post, { kind: 'all', sourceId: post.sourceId }, null);
  const article = postArticle(hub, post, EVERYBODY, { change: false });
  return page({ title: titleOf(post).title, main: article, bar: barForVisitors(post), shape: 'post' });
}

function barForVisitors({ url }: WholePost): Html {
  return html`<div><a class="button plain" rel="up" href="/">${icon('back')}<span>All posts</span></a></div><div></div>
<div>${url && html`<a class="button plain" href="${url}" ${AWAY} aria-label="Original">${icon('away')}<span
  class="only-wide">Original</span></a>`}</div>`;
}

/** A post within the list that its address names. */
export function showPostInList(hub: Hub, req: MemberRequest): Reply {
  const { view, cursor } = readListAddress(req);
  return shownInList(hub, req, visiblePost(hub, pathId(req.params), req.viewer), view, cursor);
}

function shownInList(hub: Hub, req: MemberRequest, post: WholePost, view: View, cursor: string | null): Reply {
  const { viewer } = req;
  const name = nameOf(hub, viewer, view); // before anything is noted: there may be no such list
  if (viewer.scope !== 'read' && isOpening(req)) noteOpened(hub, viewer, post.id);
  const may = mayManagePost(post, viewer);
  const [state] = withReadState(hub, viewer, [post]);
  if (!state) throw new Error('no state of a post');
  const shown: PostInList = {
    post: state, view, cursor, newest: posts(hub).lastId(),
    name, count: countOf(hub, viewer, view),
    around: neighbours(hub, viewer, view, post),
    times: timesOf(hub, viewer),
    may: { delete: may, change: may && post.sourceKind === 'native' },
  };
  const article = postArticle(hub, post, shown.times, shown.may, turnAtEnd(shown));
  return page({
    title: titleOf(post).title, main: html`${article}${nextInList(shown)}`, bar: postBar(shown), shape: 'post',
  });
}

/** Not when a browser only fetches ahead what might be opened, or the page only says what was done on it. */
function isOpening({ method, headers, query }: HubRequest): boolean {
  return method === 'GET' && !String(headers['sec-purpose'] ?? '').includes('prefetch') && !query.has('said');
}
