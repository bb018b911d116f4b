import { html, type Html } from '../../platform/http/html.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { thumbnailOf } from '../attachments/post-pictures.ts';
import type { Hub } from '../hub/hub.ts';
import type { Post } from './post-store.ts';
import { ALTERNATES, titleOf } from './post-views.ts';
import { queryPosts } from './query-posts.ts';

/** One story stands out, so many stand beside it, the others follow as a river. */
const BESIDE = 3;

/** What everybody may read, newest first: what visitors see at `/`. */
export function showPublic(hub: Hub, req: HubRequest): Reply {
  const { items, next } = queryPosts(hub, { ...req, viewer: null });
  const [isFirstPage, typed] = [!req.query.get('cursor'), req.query.get('q')];
  const pictures = thumbnailOf(hub, items.slice(0, 1 + BESIDE));
  return page(publicPage({ items, next, isFirstPage, typed, pictures }, timesOf(hub, req.viewer)));
}

/** `typed`: what was searched for; null where nothing is. `pictures`: addresses, by the ids of posts. */
type Shown = {
  items: Post[]; next: string | null; isFirstPage: boolean; typed: string | null; pictures: Map<number, string>;
};

function publicPage(shown: Shown, times: Times): Page {
  const { items, next, isFirstPage, typed, pictures } = shown;
  const top = isFirstPage && typed === null ? 1 + BESIDE : 0;
  const [first, ...beside] = items.slice(0, top);
  const river = items.slice(top);
  const older = new URLSearchParams({ ...(typed && { q: typed }), cursor: next ?? '' });
  const main = html`
${typed !== null && searchForm(typed)}
${first && html`${story(first, times, { kind: 'first', picture: pictures.get(first.id) })}
<div class="second">${beside.map((post) => story(post, times, { picture: pictures.get(post.id) }))}</div>`}
${river.length > 0 && html`
<section class="river" aria-labelledby="river"><h2 id="river">${headOfRiver(shown)}</h2>
${river.map((post) => story(post, times))}</section>`}
${items.length === 0 && html`<p class="empty">${nothing(shown)}</p>`}
${next && html`<p class="more"><a class="button" rel="next" href="/public?${older.toString()}">Older posts</a></p>`}`;
  const title = typed ? `${typed} – search` : 'Newest posts';
  return { title, main, shape: 'front', section: 'posts', alternates: ALTERNATES };
}

function headOfRiver({ isFirstPage, typed }: Shown): string {
  if (typed !== null) return 'What was found';
  return isFirstPage ? 'Newest' : 'Older posts';
}

function searchForm(typed: string): Html {
  return html`
<form role="search" class="search" action="/public"><input type="search" name="q" value="${typed}"
  placeholder="Search posts" aria-label="Search posts" maxlength="200"><button>Search</button></form>`;
}

function nothing({ isFirstPage, typed }: Shown): Html {
  if (typed) return html`No post contains all of these words. <a href="/public">All posts</a>`;
  return isFirstPage ? html`There are no posts yet.`
    : html`There are no older posts. <a href="/public">Newest posts</a>`;
}

type StoryDress = { kind?: 'first'; picture?: string | undefined };

function story(post: Post, times: Times, { kind, picture }: StoryDress = {}): Html {
  const { id, sourceId, sourceTitle, publishedAt } = post;
  const { title, rest } = titleOf(post);
  const link = html`<a href="/posts/${id}">${title}</a>`;
  return html`
<article class="story ${kind}" dir="auto">${picture !== undefined && html`<img src="${picture}" width="640"
  height="360" alt="">`}<p class="from"><a class="who" href="/sources/${sourceId}"><span
  dir="auto">${sourceTitle}</span></a>${showTime(times, publishedAt)}</p>
${kind === 'first' ? html`<h2 dir="auto">${link}</h2>` : html`<h3 dir="auto">${link}</h3>`}
${rest && html`<p class="sum" dir="auto">${rest}</p>`}</article>`;
}
