import { byteSize, duration, html, type Html } from '../../platform/http/html.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { day } from '../../platform/http/utc-times.ts';
import { imageAddresses } from '../../platform/markup/remote-media.ts';
import { attachmentPath, listedAttachments, type LinkHub } from '../attachments/attachment-links.ts';
import { boxAttributes, sizesOf } from '../attachments/post-pictures.ts';
import { contentOnPage } from '../attachments/serve-file.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import type { StoreHub } from '../hub/hub.ts';
import type { Post, WholePost } from './post-store.ts';

type Timeline = {
  items: Post[];
  next: string | null;
  typed: string;
  isFirstPage: boolean;
  viewer: Viewer | null;
  read: Set<number>;
  unreadOnly: boolean;
};

/** Attributes of links that lead away from the hub. */
const AWAY = html`rel="noopener noreferrer" referrerpolicy="no-referrer"`;

/** Output feeds of everything that everybody may read. */
export const ALTERNATES = [
  { type: 'application/atom+xml', href: '/posts.atom', title: 'Posts (Atom)' },
  { type: 'application/feed+json', href: '/posts.json', title: 'Posts (JSON Feed)' },
];

/** The newest posts, or those that were searched for. */
export function timelinePage(timeline: Timeline): Page {
  const { items, next, typed, viewer, read, unreadOnly } = timeline;
  const filter = { ...(typed ? { q: typed } : {}), ...(unreadOnly ? { unread: '1' } : {}) };
  const older = new URLSearchParams({ ...filter, cursor: next ?? '' });
  const main = html`
<header class="page-head">
  <h1>${typed ? 'Search' : 'Newest posts'}</h1>
  ${searchForm(typed)}
  ${viewer && !typed && readingChoice(unreadOnly)}
</header>
${items.length > 0 ? postList(items, { read }) : nothingHere(timeline)}
${next && html`<p class="more"><a class="button" rel="next" href="/?${older.toString()}">Older posts</a></p>`}`;
  const section = unreadOnly ? 'unread' : 'all';
  return { title: typed ? `${typed} – search` : 'Newest posts', main, section, alternates: ALTERNATES };
}

/** The list in which posts stand on the timeline and on a source's page. */
export function postList(posts: Post[], { withSource = true, read = new Set<number>() } = {}): Html {
  return html`<ol class="posts">${posts.map((post) => postItem(post, withSource, read.has(post.id)))}</ol>`;
}

function postItem(post: Post, withSource: boolean, isRead: boolean): Html {
  return html`
  <li ${isRead && html`class="read"`}><article>
    <h2><a href="/posts/${post.id}">${post.title || 'Untitled'}</a></h2>
    <p class="meta">${withSource && sourceLink(post)} ${day(post.publishedAt)} ${post.isPublic === 0 && PRIVATE}
      ${isRead && html`<span class="tag">read</span>`}</p>
    ${post.summary && html`<p class="summary">${post.summary}</p>`}
  </article></li>`;
}

const PRIVATE = html`<span class="tag">private</span>`;

/** Stands beside a file that is kept away from readers. */
export const INFECTED = html`<span class="tag failing">infected, quarantined</span>`;

/** One post, whole. */
export function postPage(hub: LinkHub & StoreHub, post: WholePost, may: { delete: boolean; change: boolean }): Page {
  const files = listedAttachments(post.attachments);
  const kept = may.change ? post.attachments.filter(({ scan }) => scan === 'infected') : [];
  const main = html`
<article class="post">
  <header>
    <p class="meta">${sourceLink(post)} ${day(post.publishedAt)} ${post.isPublic === 0 && PRIVATE}</p>
    <h1>${post.title || 'Untitled'}</h1>
    ${post.author && html`<p class="byline">${post.author}</p>`}
  </header>
  <div class="prose">${contentOnPage(hub, post)}</div>
  ${picturesBelow(post, files).map((file) => html`${picture(hub, file)}`)}
  ${files.length + kept.length > 0 && attachmentList(hub, [...files, ...kept])}
  <footer class="actions">
    ${post.url && html`<a class="button" href="${post.url}" ${AWAY}>Read the original</a>`}
    ${may.change && html`<a class="quiet" href="/posts/${post.id}/edit">Edit</a>`}
    ${may.delete && html`<a class="quiet" href="/posts/${post.id}/delete">Delete</a>`}
  </footer>
</article>`;
  return { title: post.title || 'Untitled', main };
}

/** Asks before a post is deleted. */
export function confirmDeletePage(post: Post): Page {
  const main = html`
<section class="narrow">
  <h1>Delete this post?</h1>
  <p class="lead">“${post.title || 'Untitled'}” will be deleted for everyone
    and will not come back with the next synchronisation.</p>
  <form method="post" class="actions">
    <button class="danger">Delete post</button>
    <a class="quiet" href="/posts/${post.id}">Keep it</a>
  </form>
</section>`;
  return { title: 'Delete this post?', main };
}

/** Publishers often name the image of the content once more beside it. */
function picturesBelow({ contentHtml }: WholePost, files: Attachment[]): Attachment[] {
  const within = new Set(imageAddresses(contentHtml));
  return files.filter(({ remoteUrl }) => remoteUrl === null || !within.has(remoteUrl));
}

/** An image of the post's own, or nothing for any other file. */
function picture(hub: LinkHub & StoreHub, file: Attachment): Html | false {
  const path = attachmentPath(hub, file);
  if (path === null || !file.mediaType?.startsWith('image/')) return false;
  const box = boxAttributes(sizesOf(hub, [file]).get(file.id));
  const image = html`<img src="${path}" alt="${file.title ?? file.filename}" ${box} loading="lazy">`;
  return html`<p class="picture"><a href="${path}">${image}</a></p>`;
}

function attachmentList(hub: LinkHub, attachments: Attachment[]): Html {
  return html`
  <section class="attachments">
    <h2>Attachments</h2>
    <ul>${attachments.map((file) => attachmentItem(hub, file))}</ul>
  </section>`;
}

function attachmentItem(hub: LinkHub, file: Attachment): Html {
  const { remoteUrl, filename, title, mediaType, bytes, durationSeconds, scan } = file;
  if (scan === 'infected') return html`<li>${filename} ${INFECTED}</li>`;
  const path = attachmentPath(hub, file);
  const facts = [durationSeconds && duration(durationSeconds), bytes && byteSize(bytes), mediaType].filter(Boolean);
  const name = html`${invitationTo(mediaType)}<span dir="auto">${title ?? filename}</span>`;
  const link = path === null ? html`<a href="${remoteUrl}" ${AWAY}>${name}</a>` : html`<a href="${path}">${name}</a>`;
  return html`<li>${link} <small>${facts.join(' · ')}</small></li>`;
}

/** The hub plays nothing: a program of the reader's does. */
function invitationTo(mediaType: string | null): string {
  return mediaType?.startsWith('audio/') ? 'Listen: ' : mediaType?.startsWith('video/') ? 'Watch: ' : '';
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

function readingChoice(unreadOnly: boolean): Html {
  return html`
  <p class="meta">${unreadOnly
    ? html`<a href="/">All</a> <strong>Unread</strong>`
    : html`<strong>All</strong> <a href="/?unread=1">Unread</a>`} <a href="/history">Reading history</a></p>`;
}

function nothingHere({ typed, next, isFirstPage, viewer, unreadOnly }: Timeline): Html {
  if (typed) return html`<p class="empty">No post contains all of these words. <a href="/">All posts</a></p>`;
  if (unreadOnly && next) return html`<p class="empty">The newest posts are all read. Continue with older ones.</p>`;
  if (unreadOnly) return html`<p class="empty">You have read everything. <a href="/">All posts</a></p>`;
  if (!isFirstPage) return html`<p class="empty">There are no older posts. <a href="/">Newest posts</a></p>`;
  const hint = viewer && html`<a href="/sources">Add a source</a>, and its posts will appear here.`;
  return html`<p class="empty">There are no posts yet. ${hint}</p>`;
}
