import { createHash } from 'node:crypto';
import { isoTime } from '../../platform/clock.ts';
import { pathId } from '../../platform/http/input.ts';
import { text, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { escapeXml } from '../../platform/markup/entities.ts';
import { STEP } from '../../platform/markup/in-steps.ts';
import { nextTurn } from '../../platform/turns.ts';
import { attachmentUrl, listedAttachments, type LinkHub } from '../attachments/attachment-links.ts';
import { contentWithImages } from '../attachments/own-files.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { hubLook, hubSeed } from '../hub/hub-row-store.ts';
import type { Hub } from '../hub/hub.ts';
import { sources } from '../sources/source-store.ts';
import { FILE_BYTES } from './query-posts.ts';
import { posts, type Post, type WholePost } from './post-store.ts';

const POSTS_IN_FEED = 30;

/** Maximum bytes of contents and files in an output feed; posts beyond it appear with only a summary and a link. */
const FEED_BYTES = 1024 * 1024;

/** GET /posts.atom and /sources/:id.atom: the newest 30 posts as Atom. */
export async function showAtomFeed(hub: Hub, req: HubRequest): Promise<Reply> {
  return text(await joinInTurns(atomFeed(hub, requestedFeed(hub, req))), 'application/atom+xml; charset=utf-8');
}

/** GET /posts.json and /sources/:id.json: the newest 30 posts as JSON Feed. */
export async function showJsonFeed(hub: Hub, req: HubRequest): Promise<Reply> {
  return text(await joinInTurns(jsonFeed(hub, requestedFeed(hub, req))), 'application/feed+json; charset=utf-8');
}

async function joinInTurns(pieces: Iterable<string>): Promise<string> {
  let made = '';
  for (const piece of pieces) {
    made += piece;
    if (piece.length > STEP) await nextTurn();
  }
  return made;
}

function requestedFeed(hub: Hub, { params, path }: HubRequest): OutputFeed {
  const { baseUrl } = hub.config;
  const source = params['id'] === undefined ? undefined : sources(hub).find(pathId(params));
  const newest = posts(hub).newest({ viewerId: null, ...(source && { sourceId: source.id }), limit: POSTS_IN_FEED });
  const about = source
    ? { id: urnOf(source.idSeed, 'feed'), title: source.title, homeUrl: `${baseUrl}/sources/${source.id}` }
    : { id: urnOf(hubSeed(hub), 'posts'), title: hubLook(hub).read().name, homeUrl: `${baseUrl}/` };
  return { ...about, url: baseUrl + path, posts: posts(hub).whole(newest, fitting(hub, newest)) };
}

function fitting(hub: Hub, newest: Post[]): (post: Post) => boolean {
  const files = attachments(hub).countsOfPosts(newest.map(({ id }) => id));
  let left = FEED_BYTES;
  const ids = new Set<number>();
  for (const { id, contentBytes } of newest) {
    const bytes = contentBytes + FILE_BYTES * (files.get(id) ?? 0);
    if (bytes > left) continue;
    left -= bytes;
    ids.add(id);
  }
  return ({ id }) => ids.has(id);
}

export type OutputFeed = {
  id: string;
  title: string;
  url: string;
  homeUrl: string;
  posts: WholePost[];
};

/** Writes an Atom 1.0 feed (RFC 4287), in pieces. An empty feed's required `updated` is the Unix epoch. */
export function* atomFeed(hub: LinkHub, { id, title, url, homeUrl, posts }: OutputFeed): Generator<string> {
  const updated = isoTime(Math.max(0, ...posts.map((post) => post.updatedAt)));
  yield `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${escapeXml(id)}</id>
  <title>${escapeXml(title)}</title>
  <updated>${updated}</updated>
  <link rel="self" type="application/atom+xml" href="${escapeXml(url)}"/>
  <link rel="alternate" type="text/html" href="${escapeXml(homeUrl)}"/>
  <generator>Content Hub</generator>
`;
  for (const post of posts) yield atomEntry(hub, post);
  yield '</feed>\n';
}

function atomEntry(hub: LinkHub, post: WholePost): string {
  const { baseUrl } = hub.config;
  const enclosures = listedAttachments(post.attachments).map((file) => atomEnclosure(hub, file));
  const language = post.language === null ? '' : ` xml:lang="${escapeXml(post.language)}"`;
  return `  <entry${language}>
    <id>${escapeXml(postFeedId(post))}</id>
    <title>${escapeXml(post.title || 'Untitled')}</title>
    <published>${isoTime(post.publishedAt)}</published>
    <updated>${isoTime(post.updatedAt)}</updated>
    <author><name>${escapeXml(post.author ?? post.sourceTitle)}</name></author>
    <link rel="alternate" type="text/html" href="${escapeXml(post.url ?? `${baseUrl}/posts/${post.id}`)}"/>
${enclosures.join('')}    <summary>${escapeXml(post.summary)}</summary>
${atomContent(hub, post)}  </entry>
`;
}

function atomContent(hub: LinkHub, post: WholePost): string {
  if (isShortened(post)) return '';
  return `    <content type="html">${escapeXml(contentWithImages(hub, post, hub.config.baseUrl))}</content>\n`;
}

function isShortened({ contentHtml, contentBytes }: WholePost): boolean {
  return contentHtml === '' && contentBytes > 0;
}

function atomEnclosure(hub: LinkHub, file: Attachment): string {
  const { mediaType, bytes } = file;
  const type = mediaType ? ` type="${escapeXml(mediaType)}"` : '';
  const length = bytes ? ` length="${bytes}"` : '';
  return `    <link rel="enclosure" href="${escapeXml(attachmentUrl(hub, file) ?? '')}"${type}${length}/>\n`;
}

/** Writes a feed in JSON Feed 1.1, in pieces. */
export function* jsonFeed(hub: LinkHub, { title, url, homeUrl, posts }: OutputFeed): Generator<string> {
  const about = { version: 'https://jsonfeed.org/version/1.1', title, home_page_url: homeUrl, feed_url: url };
  yield `${JSON.stringify(about).slice(0, -1)},"items":[`;
  for (const [index, post] of posts.entries()) yield (index > 0 ? ',' : '') + JSON.stringify(jsonItem(hub, post));
  yield ']}';
}

function jsonItem(hub: LinkHub, post: WholePost) {
  const { baseUrl } = hub.config;
  return {
    id: postFeedId(post),
    url: post.url ?? `${baseUrl}/posts/${post.id}`,
    title: post.title,
    ...(isShortened(post) ? { content_text: post.summary } : { content_html: contentWithImages(hub, post, baseUrl) }),
    ...(post.language ? { language: post.language } : {}),
    summary: post.summary,
    date_published: isoTime(post.publishedAt),
    date_modified: isoTime(post.updatedAt),
    authors: [{ name: post.author ?? post.sourceTitle }],
    attachments: listedAttachments(post.attachments).map((file) => jsonAttachment(hub, file)),
  };
}

function jsonAttachment(hub: LinkHub, file: Attachment) {
  const { mediaType, bytes, title, durationSeconds } = file;
  return {
    url: attachmentUrl(hub, file) ?? '',
    mime_type: mediaType ?? 'application/octet-stream',
    ...(title ? { title } : {}),
    ...(bytes ? { size_in_bytes: bytes } : {}),
    ...(durationSeconds ? { duration_in_seconds: durationSeconds } : {}),
  };
}

/** A post's id in output feeds, the same even if a restore loses the post and a synchronisation finds it again. */
function postFeedId({ sourceIdSeed, firstGuid }: Pick<Post, 'sourceIdSeed' | 'firstGuid'>): string {
  return urnOf(sourceIdSeed, `post ${firstGuid}`);
}

/**
 * Returns an id for Atom and JSON feeds: a UUID of version 8 (RFC 9562) from the SHA-256 of a random seed and a name.
 * The id does not contain BASE_URL, so a change of BASE_URL brings feed readers no new posts.
 */
function urnOf(seed: string, name: string): string {
  const bytes = createHash('sha256').update(`${seed}\n${name}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return `urn:uuid:${bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`;
}
