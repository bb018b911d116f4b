import { escapeHtml } from '../../platform/markup/entities.ts';
import type { PostAttachment, PostWithAttachments } from './post-store.ts';

/** What an output feed is about. `url` is its own address, `homeUrl` that of the page with the same posts. */
export type OutputFeed = { title: string; url: string; homeUrl: string; posts: PostWithAttachments[]; baseUrl: string };

/** Atom 1.0 (RFC 4287). Without posts it says that it was updated at the epoch: it has to say something. */
export function atomFeed({ title, url, homeUrl, posts, baseUrl }: OutputFeed): string {
  const updated = new Date(Math.max(0, ...posts.map((post) => post.updatedAt))).toISOString();
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${xml(url)}</id>
  <title>${xml(title)}</title>
  <updated>${updated}</updated>
  <link rel="self" type="application/atom+xml" href="${xml(url)}"/>
  <link rel="alternate" type="text/html" href="${xml(homeUrl)}"/>
  <generator>Content Hub</generator>
${posts.map((post) => atomEntry(post, baseUrl)).join('')}</feed>
`;
}

function atomEntry(post: PostWithAttachments, baseUrl: string): string {
  return `  <entry>
    <id>${xml(`${baseUrl}/posts/${post.id}`)}</id>
    <title>${xml(post.title || 'Untitled')}</title>
    <published>${new Date(post.publishedAt).toISOString()}</published>
    <updated>${new Date(post.updatedAt).toISOString()}</updated>
    <author><name>${xml(post.author ?? post.sourceTitle)}</name></author>
    <link rel="alternate" type="text/html" href="${xml(post.url ?? `${baseUrl}/posts/${post.id}`)}"/>
${post.attachments.map(atomEnclosure).join('')}    <summary>${xml(post.summary)}</summary>
    <content type="html">${xml(post.contentHtml)}</content>
  </entry>
`;
}

function atomEnclosure({ remoteUrl, mediaType, bytes }: PostAttachment): string {
  if (!remoteUrl) return '';
  const type = mediaType ? ` type="${xml(mediaType)}"` : '';
  const length = bytes ? ` length="${bytes}"` : '';
  return `    <link rel="enclosure" href="${xml(remoteUrl)}"${type}${length}/>\n`;
}

/** JSON Feed 1.1. */
export function jsonFeed({ title, url, homeUrl, posts, baseUrl }: OutputFeed) {
  return {
    version: 'https://jsonfeed.org/version/1.1',
    title,
    home_page_url: homeUrl,
    feed_url: url,
    items: posts.map((post) => jsonItem(post, baseUrl)),
  };
}

function jsonItem(post: PostWithAttachments, baseUrl: string) {
  return {
    id: `${baseUrl}/posts/${post.id}`,
    url: post.url ?? `${baseUrl}/posts/${post.id}`,
    title: post.title,
    content_html: post.contentHtml,
    summary: post.summary,
    date_published: new Date(post.publishedAt).toISOString(),
    date_modified: new Date(post.updatedAt).toISOString(),
    authors: [{ name: post.author ?? post.sourceTitle }],
    attachments: post.attachments.flatMap(jsonAttachment),
  };
}

function jsonAttachment({ remoteUrl, mediaType, bytes, title, durationSeconds }: PostAttachment) {
  if (!remoteUrl) return [];
  return [{
    url: remoteUrl,
    mime_type: mediaType ?? 'application/octet-stream',
    ...(title ? { title } : {}),
    ...(bytes ? { size_in_bytes: bytes } : {}),
    ...(durationSeconds ? { duration_in_seconds: durationSeconds } : {}),
  }];
}

/** Escaped, and without the control characters that XML 1.0 cannot hold at all. */
function xml(text: string): string {
  return escapeHtml(text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ''));
}
