import { html, type Html } from '../../platform/http/html.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import type { Post } from './post-store.ts';
import { ALTERNATES } from './post-views.ts';
import { queryPosts } from './query-posts.ts';

/** One story stands out, so many stand beside it, the others follow as a river. */
const BESIDE = 3;

/** What everybody may read, newest first: what visitors see at `/`. */
export function showPublic(hub: Hub, req: HubRequest): Reply {
  const { items, next } = queryPosts(hub, { ...req, viewer: null });
  const isFirstPage = !req.query.get('cursor');
  return page(publicPage({ items, next, isFirstPage }, timesOf(hub, req.viewer)));
}

type Shown = { items: Post[]; next: string | null; isFirstPage: boolean };

function publicPage({ items, next, isFirstPage }: Shown, times: Times): Page {
  const top = isFirstPage ? 1 + BESIDE : 0;
  const [first, ...beside] = items.slice(0, top);
  const river = items.slice(top);
  const main = html`
${first && html`${story(first, times, 'first')}
<div class="second">${beside.map((post) => story(post, times))}</div>`}
${river.length > 0 && html`
<section class="river" aria-labelledby="river"><h2 id="river">${isFirstPage ? 'Newest' : 'Older posts'}</h2>
${river.map((post) => story(post, times))}</section>`}
${items.length === 0 && html`<p class="empty">${nothing(isFirstPage)}</p>`}
${next && html`<p class="more"><a class="button" rel="next" href="/public?cursor=${next}">Older posts</a></p>`}`;
  return { title: 'Newest posts', main, shape: 'front', section: 'posts', alternates: ALTERNATES };
}

function nothing(isFirstPage: boolean): Html {
  return isFirstPage ? html`There are no posts yet.`
    : html`There are no older posts. <a href="/public">Newest posts</a>`;
}

function story({ id, title, summary, sourceId, sourceTitle, publishedAt }: Post, times: Times, kind = ''): Html {
  const link = html`<a href="/posts/${id}">${title || 'Untitled'}</a>`;
  return html`
<article class="story ${kind}" dir="auto"><p class="from"><a class="who" href="/sources/${sourceId}"><span
  dir="auto">${sourceTitle}</span></a>${showTime(times, publishedAt)}</p>
${kind === 'first' ? html`<h2 dir="auto">${link}</h2>` : html`<h3 dir="auto">${link}</h3>`}
${summary && html`<p class="sum" dir="auto">${summary}</p>`}</article>`;
}
