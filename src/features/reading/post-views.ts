import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { AWAY, languageOf, titleOf } from '../posts/post-views.ts';
import type { Post, WholePost } from '../posts/post-store.ts';
import { listPath, postPath, sectionOf } from './list-address.ts';
import { scopeField } from './list-views.ts';
import type { ListedPost, Neighbours, View } from './reading-list.ts';
import { stateButton, stateForm } from './state-buttons.ts';

/** A post as it is shown within a list. */
export type PostInList = {
  post: WholePost & Pick<ListedPost, 'read' | 'starred'>;
  view: View;
  /** What the list is called. */
  name: string;
  /** What is left in it; empty for nothing. */
  count: string;
  cursor: string | null;
  /** The post that had arrived last when the page was made. */
  newest: number;
  around: Neighbours;
  times: Times;
  may: { delete: boolean; change: boolean };
};

const starButton = stateButton('star', 'plain iconic', icon('star'));
const readButton = stateButton('read', 'plain iconic', icon('ring'));

/** What one does with a post: back to its list, on to others, and with the post itself. */
export function postBar(shown: PostInList): Html {
  const { post, view, name, count, around } = shown;
  const up = `${listPath(view, placeOf(shown))}#post-${post.id}`;
  return html`<div><a class="button plain" rel="up" href="${up}"
  aria-label="Back to ${name}${count && `, ${count} left`}">${icon('back')}<span class="word" dir="auto">${name}</span>
  <span class="soft number" data-count="${sectionOf(view)}" ${!count && html`hidden`}>${count || 0}</span></a></div>
<div>${turn(shown, around.previous, 'prev')}${turn(shown, around.next, 'next')}</div>
<div>${stateForm(addressOf(shown, post.id))}${starButton(post)}${readButton(post)}${post.url && html`
<a class="button plain" data-original href="${post.url}" ${AWAY} aria-label="Original">${icon('away')}<span
  class="only-wide">Original</span></a>`}${moreMenu(shown)}</div>`;
}

/** What of the list's address keeps it as it was when it was opened. */
function placeOf({ view: { since }, cursor }: PostInList): { since?: number; cursor: string | null } {
  return { ...(since !== undefined && { since }), cursor };
}

function turn(shown: PostInList, to: Post | null, rel: 'prev' | 'next'): Html {
  const [label, drawn] = rel === 'prev' ? ['Previous', icon('up')] : ['Next', icon('down')];
  if (!to) return html`<span class="button plain iconic nothing" aria-hidden="true">${drawn}</span>`;
  return html`<a class="button plain iconic" rel="${rel}" href="${addressOf(shown, to.id)}"
  aria-label="${label}: ${titleOf(to).title}" title="${label}">${drawn}</a>`;
}

function addressOf(shown: PostInList, postId: number): string {
  return postPath(shown.view, postId, placeOf(shown));
}

function moreMenu(shown: PostInList): Html {
  const { post, view, may } = shown;
  const marks = view.kind !== 'starred' && view.q === undefined;
  return html`<details class="drop"><summary class="button plain iconic" aria-label="More" title="More">${
  icon('more')}</summary><div class="sheet">${marks && html`
<form id="mark" method="post" action="/reading/mark-read"><input type="hidden" name="from"
  value="${addressOf(shown, post.id)}">${scopeField(view)}<input type="hidden" name="upTo"
  value="${shown.newest}"><button name="above" value="${post.id}">Mark all above as
  read</button><button name="below" value="${post.id}">Mark all below as read</button></form>`}
<a class="button" href="/posts/${post.id}">Address of this post</a>
${may.change && html`<a class="button" href="/posts/${post.id}/edit">Edit</a>`}
${may.delete && html`<a class="button" href="/posts/${post.id}/delete">Delete</a>`}
<a class="button" href="/write">Write a post</a></div></details>`;
}

/** At the end of a post: where one goes on. */
export function turnAtEnd(shown: PostInList): Html | false {
  const { previous, next, nextUnread } = shown.around;
  const on = nextUnread ?? next;
  return (previous !== null || on !== null) && html`
<nav class="turn" aria-label="Neighbours">${previous ? html`<a class="button"
  href="${addressOf(shown, previous.id)}">${icon('up')}Previous</a>` : html`<span></span>`}${on && html`<a
  class="button primary" ${on === nextUnread && html`data-next-unread`} href="${addressOf(shown, on.id)}">${
  on === nextUnread ? 'Next unread' : 'Next'}${icon('down')}</a>`}</nav>`;
}

/** Beside a post, on wide windows: what comes next in its list. */
export function nextInList(shown: PostInList): Html | false {
  const { around: { following }, name, times } = shown;
  return following.length > 0 && html`
<aside class="beside" aria-labelledby="then"><h2 id="then">Next in ${name}</h2><ol>${following.map((post) => html`
<li><a href="${addressOf(shown, post.id)}" dir="auto" ${languageOf(post)}>${
  titleOf(post).title}<span dir="auto">${post.sourceTitle},
  ${showTime(times, post.publishedAt)}</span></a></li>`)}</ol></aside>`;
}
