import { html, trusted, type Html } from '../../platform/http/html.ts';
import type { Page } from '../../platform/http/reply.ts';
import { byteSize, day, duration } from '../../platform/http/readable.ts';
import type { Viewer } from '../../platform/viewer.ts';
import type { Post, PostAttachment, PostWithAttachments } from './post-store.ts';

type Timeline = {
  items: PostWithAttachments[];
  next: string | null;
  typed: string;
  isFirstPage: boolean;
  viewer: Viewer | null;
};

/** Of links that lead away from the hub. */
const AWAY = html`rel="noopener noreferrer" referrerpolicy="no-referrer"`;

const ALTERNATES = [
  { type: 'application/atom+xml', href: '/posts.atom', title: 'Posts (Atom)' },
  { type: 'application/feed+json', href: '/posts.json', title: 'Posts (JSON Feed)' },
];

/** The newest posts, or those that were searched for. */
export function timelinePage({ items, next, typed, isFirstPage, viewer }: Timeline): Page {
  const older = new URLSearchParams({ ...(typed ? { q: typed } : {}), cursor: next ?? '' });
  const main = html`
<header class="page-head">
  <h1>${typed ? 'Search' : 'Newest posts'}</h1>
  ${searchForm(typed)}
</header>
${items.length > 0 ? postList(items) : nothingHere(typed, isFirstPage, viewer)}
${next && html`<p class="more"><a class="button" rel="next" href="/?${older.toString()}">Older posts</a></p>`}`;
  return { title: typed ? `${typed} – search` : 'Newest posts', main, section: 'posts', alternates: ALTERNATES };
}

/** The list in which posts stand on the timeline and on a source's page. */
export function postList(posts: Post[], { withSource = true } = {}): Html {
  return html`<ol class="posts">${posts.map((post) => postItem(post, withSource))}</ol>`;
}

function postItem(post: Post, withSource: boolean): Html {
  return html`
  <li><article>
    <h2><a href="/posts/${post.id}">${post.title || 'Untitled'}</a></h2>
    <p class="meta">${withSource && sourceLink(post)} ${day(post.publishedAt)} ${post.isPublic === 0 && PRIVATE}</p>
    ${post.summary && html`<p class="summary">${post.summary}</p>`}
  </article></li>`;
}

const PRIVATE = html`<span class="tag">private</span>`;

/** One post, whole. */
export function postPage(post: PostWithAttachments, mayDelete: boolean): Page {
  const main = html`
<article class="post">
  <header>
    <p class="meta">${sourceLink(post)} ${day(post.publishedAt)} ${post.isPublic === 0 && PRIVATE}</p>
    <h1>${post.title || 'Untitled'}</h1>
    ${post.author && html`<p class="byline">${post.author}</p>`}
  </header>
  <div class="prose">${trusted(post.contentHtml)}</div>
  ${post.attachments.length > 0 && attachmentList(post.attachments)}
  <footer class="actions">
    ${post.url && html`<a class="button" href="${post.url}" ${AWAY}>Read at the source</a>`}
    ${mayDelete && html`<a class="quiet" href="/posts/${post.id}/delete">Delete</a>`}
  </footer>
</article>`;
  return { title: post.title || 'Untitled', main };
}

/** Asks before a post is deleted. */
export function confirmDeletePage(post: Post): Page {
  const main = html`
<section class="narrow">
  <h1>Delete this post?</h1>
  <p class="lead">“${post.title || 'Untitled'}” disappears for everybody
    and does not come back with the next synchronisation.</p>
  <form method="post" class="actions">
    <button class="danger">Delete the post</button>
    <a class="quiet" href="/posts/${post.id}">Keep it</a>
  </form>
</section>`;
  return { title: 'Delete this post?', main };
}

function attachmentList(attachments: PostAttachment[]): Html {
  return html`
  <section class="attachments">
    <h2>Attachments</h2>
    <ul>${attachments.map(attachmentItem)}</ul>
  </section>`;
}

function attachmentItem({ remoteUrl, filename, title, mediaType, bytes, durationSeconds }: PostAttachment): Html {
  const facts = [mediaType, bytes && byteSize(bytes), durationSeconds && duration(durationSeconds)].filter(Boolean);
  return html`<li><a href="${remoteUrl}" ${AWAY}>${title ?? filename}</a> <small>${facts.join(' · ')}</small></li>`;
}

function sourceLink(post: Post): Html {
  return html`<a class="source" href="/sources/${post.sourceId}">${post.sourceTitle}</a>`;
}

function searchForm(typed: string): Html {
  return html`
  <form role="search" class="search" action="/">
    <input type="search" name="q" value="${typed}" placeholder="Search posts" aria-label="Search posts" maxlength="200">
    <button>Search</button>
  </form>`;
}

function nothingHere(typed: string, isFirstPage: boolean, viewer: Viewer | null): Html {
  if (typed) return html`<p class="empty">No post has all of these words. <a href="/">All posts</a></p>`;
  if (!isFirstPage) return html`<p class="empty">There are no older posts. <a href="/">Newest posts</a></p>`;
  const hint = viewer && html`<a href="/sources">Add a source</a>, and they appear here.`;
  return html`<p class="empty">There are no posts yet. ${hint}</p>`;
}
