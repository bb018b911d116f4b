import { escapeHtml } from '../../platform/markup/entities.ts';
import { addressOf } from './post-json.ts';
import type { PostAttachment, PostWithAttachments } from './post-store.ts';
import { contentWithImages, listedAttachments, type Serving } from './served-attachments.ts';

/** What an output feed is about. `url` is its own address, `homeUrl` that of the page with the same posts. */
export type OutputFeed = {
  title: string;
  url: string;
  homeUrl: string;
  posts: PostWithAttachments[];
  serving: Serving;
};

/** Atom 1.0 (RFC 4287). Without posts it says that it was updated at the epoch: it has to say something. */
export function atomFeed({ title, url, homeUrl, posts, serving }: OutputFeed): string {
  const updated = new Date(Math.max(0, ...posts.map((post) => post.updatedAt))).toISOString();
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${xml(url)}</id>
  <title>${xml(title)}</title>
  <updated>${updated}</updated>
  <link rel="self" type="application/atom+xml" href="${xml(url)}"/>
  <link rel="alternate" type="text/html" href="${xml(homeUrl)}"/>
  <generator>Content Hub</generator>
${posts.map((post) => atomEntry(post, serving)).join('')}</feed>
`;
}

function atomEntry(post: PostWithAttachments, serving: Serving): string {
  const { baseUrl } = serving;
  const enclosures = listedAttachments(post).map((file) => atomEnclosure(file, serving));
  return `  <entry>
    <id>${xml(`${baseUrl}/posts/${post.id}`)}</id>
    <title>${xml(post.title || 'Untitled')}</title>
    <published>${new Date(post.publishedAt).toISOString()}</published>
    <updated>${new Date(post.updatedAt).toISOString()}</updated>
    <author><name>${xml(post.author ?? post.sourceTitle)}</name></author>
    <link rel="alternate" type="text/html" href="${xml(post.url ?? `${baseUrl}/posts/${post.id}`)}"/>
${enclosures.join('')}    <summary>${xml(post.summary)}</summary>
    <content type="html">${xml(contentWithImages(post, serving, baseUrl))}</content>
  </entry>
`;
}

function atomEnclosure(file: PostAttachment, serving: Serving): string {
  const { mediaType, bytes } = file;
  const type = mediaType ? ` type="${xml(mediaType)}"` : '';
  const length = bytes ? ` length="${bytes}"` : '';
  return `    <link rel="enclosure" href="${xml(addressOf(file, serving) ?? '')}"${type}${length}/>\n`;
}

/** JSON Feed 1.1. */
export function jsonFeed({ title, url, homeUrl, posts, serving }: OutputFeed) {
  return {
    version: 'https://jsonfeed.org/version/1.1',
    title,
    home_page_url: homeUrl,
    feed_url: url,
    items: posts.map((post) => jsonItem(post, serving)),
  };
}

function jsonItem(post: PostWithAttachments, serving: Serving) {
  const { baseUrl } = serving;
  return {
    id: `${baseUrl}/posts/${post.id}`,
    url: post.url ?? `${baseUrl}/posts/${post.id}`,
    title: post.title,
    content_html: contentWithImages(post, serving, baseUrl),
    summary: post.summary,
    date_published: new Date(post.publishedAt).toISOString(),
    date_modified: new Date(post.updatedAt).toISOString(),
    authors: [{ name: post.author ?? post.sourceTitle }],
    attachments: listedAttachments(post).map((file) => jsonAttachment(file, serving)),
  };
}

function jsonAttachment(file: PostAttachment, serving: Serving) {
  const { mediaType, bytes, title, durationSeconds } = file;
  return {
    url: addressOf(file, serving) ?? '',
    mime_type: mediaType ?? 'application/octet-stream',
    ...(title ? { title } : {}),
    ...(bytes ? { size_in_bytes: bytes } : {}),
    ...(durationSeconds ? { duration_in_seconds: durationSeconds } : {}),
  };
}

/** Escaped, and without the control characters that XML 1.0 cannot hold at all. */
function xml(text: string): string {
  return escapeHtml(text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ''));
}
