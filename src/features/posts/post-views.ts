import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { AWAY, emptyText, nextPage } from '../../platform/http/page-parts.ts';
import { EVERYBODY, showTime, type Times } from '../../platform/http/times.ts';
import { plainText } from '../../platform/markup/plain-text.ts';
import { imageAddresses, withoutImages } from '../../platform/markup/remote-media.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { byteSize, playingTime, plural } from '../../platform/in-words.ts';
import { attachmentPath, listedAttachments, type LinkHub } from '../attachments/attachment-links.ts';
import { sourceIcon } from '../attachments/icon-views.ts';
import { boxAttributes, missingAmong, sizesOf } from '../attachments/post-pictures.ts';
import { contentOnPage } from '../attachments/serve-file.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import { storedAddress } from '../attachments/own-files.ts';
import type { Hub } from '../hub/hub.ts';
import { manySources } from '../sources/source-store.ts';
import { FIRST_WORDS } from './ingest-posts.ts';
import type { Post, WholePost } from './post-store.ts';

export const ALTERNATES = [
  { type: 'application/atom+xml', href: '/posts.atom', title: 'Posts (Atom)' },
  { type: 'application/feed+json', href: '/posts.json', title: 'Posts (JSON Feed)' },
];

const TITLE_LENGTH = 90; // maximum characters of a title made from a post's first words

const READ_IN_A_MINUTE = 1_200; // characters

type Named = Pick<Post, 'title' | 'summary'>;

/** Returns a post's title, or else its first words, and its summary without the words of the title. */
export function titleOf({ title, summary }: Named, length = 300): { title: string; rest: string } {
  const words = summary ?? '';
  if (title) return { title, rest: excerpt(afterTitle(title, words), length) };
  return { title: excerpt(words, TITLE_LENGTH) || 'Untitled', rest: '' };
}

const LONG_TITLE = 20; // minimum characters of a title that is unlikely to begin a summary by chance

/** Returns the summary without the title at its beginning: titles made from a post's first words repeat the summary. */
function afterTitle(title: string, summary: string): string {
  if (title[0] !== summary[0]) return summary; // the case of most posts; returning early saves 100 kB of garbage a page
  const [whole, words] = [title, summary].map((text) => text.replace(/\s+/g, ' ')) as [string, string];
  const first = whole.replace(/…$/, '');
  const rest = words.slice(first.length);
  const isMade = first !== whole || rest === '' || first.length >= LONG_TITLE;
  if (!isMade || !words.startsWith(first) || /^[\p{L}\p{N}]/u.test(rest)) return summary;
  return rest.replace(/^[\s.:,;!?…–—-]{1,20}/, '');
}

/** Returns the `lang` attribute for a publisher's text; empty for an unknown language, as HTML defines. */
export function languageOf({ language }: Pick<Post, 'language'>): Html {
  return html`lang="${language ?? ''}"`;
}

/** The posts on a source's page for visitors. `older`: the address of the page with older ones. */
export function postList(posts: Post[], older: string | null, empty: string): Html {
  if (posts.length === 0) return emptyText(empty);
  return html`<ol class="posts">${posts.map(postItem)}</ol>
${nextPage(older, 'Older posts')}`;
}

function postItem(post: Post): Html {
  const { title, rest } = titleOf(post);
  return html`
  <li><article>
    <h2 dir="auto" ${languageOf(post)}><a href="/posts/${post.id}">${title}</a></h2>
    <p class="meta">${showTime(EVERYBODY, post.publishedAt)}</p>
    ${rest && html`<p class="summary" dir="auto" ${languageOf(post)}>${rest}</p>`}
  </article></li>`;
}

/** A label of a private post whose source's owner also has a public native source; others write only private posts. */
function privateLabel(hub: Hub, { isPublic, sourceKind, ownerId }: WholePost): Html | false {
  return isPublic === 0 && sourceKind === 'native'
    && manySources(hub).nativeOf(ownerId).some(({ visibility }) => visibility === 'public')
    && html`<span class="tag">private</span>`;
}

export const INFECTED = html`<span class="tag failing">infected, quarantined</span>`;

/** `note`: what stands below the post's head; `after`: what stands below the post. */
export async function postArticle(
  hub: Hub, post: WholePost, times: Times, may: { change: boolean },
  { note, after }: { note?: Html | false; after?: Html | false } = {},
): Promise<Html> {
  const files = listedAttachments(post.attachments);
  const kept = may.change ? post.attachments.filter(({ scan }) => scan === 'infected') : [];
  const others = withoutShownImages(post, files);
  const listed = files.filter((file) => file.kind === 'remote' || others.includes(file));
  const [lead, ...pictures] = others.flatMap((file) => picture(hub, file) ?? []);
  const icon = sourceIcon(hub, { id: post.sourceId, title: post.sourceTitle });
  const minutes = Math.round(textLength(post.contentHtml) / READ_IN_A_MINUTE);
  const [deck, language] = [deckOf(post), languageOf(post)];
  const content = await contentOnPage(hub, post);
  return html`
<article>
<header class="post-head">
<p class="from"><a class="who" href="/sources/${post.sourceId}">${icon}<span
  dir="auto">${post.sourceTitle}</span></a>${post.author && html`<span dir="auto">${post.author}</span>`}
${showTime(times, post.publishedAt, 'exact')}${minutes > 1 && html`<span>${minutes} min</span>`}
${privateLabel(hub, post)}</p>
<h1 dir="auto" ${language}${isFirstWords(post) && html` class="unseen"`}>${titleOf(post).title}</h1>
${deck && html`<p class="deck" dir="auto" ${language}>${deck}</p>`}
</header>
${note}
${lead && html`<figure class="lead-picture">${lead}</figure>`}
<div class="prose" dir="auto" ${language}>${content}</div>
${pictures.map((one) => html`<p class="picture">${one}</p>`)}
${listed.length + kept.length > 0 && fileList(hub, [...listed, ...kept])}
${after}
</article>`;
}

const BEGINNING = 20_000; // characters of a content that are compared with the title and the summary

function isFirstWords({ title, contentHtml }: WholePost): boolean {
  return title !== '' && title === excerpt(plainText(contentHtml.slice(0, BEGINNING)), FIRST_WORDS);
}

const ALIKE = 50; // a content in which the summary's first so many characters stand repeats the summary

function deckOf({ title, summary, contentHtml }: WholePost): string | false {
  const bare = (text: string): string => text.replace(/[\s…]+/g, '');
  const said = bare(summary).slice(0, ALIKE);
  const beginning = contentHtml.slice(0, BEGINNING);
  // The hub once took an image's alternative text for the summary, so the content is compared without images too.
  const isSaid = [beginning, withoutImages(beginning)].some((markup) => bare(plainText(markup)).includes(said));
  return title !== '' && said !== '' && !isSaid && !bare(title).startsWith(said) && summary;
}

function textLength(markup: string): number {
  return markup.replace(/<[^<>]*>/g, '').length;
}

/** Returns a post's files without images that the content shows: publishers often list an image twice. */
function withoutShownImages({ contentHtml }: WholePost, files: Attachment[]): Attachment[] {
  const within = new Set(imageAddresses(contentHtml));
  return files.filter((file) => !within.has(storedAddress(file)));
}

/** The HTML of an attached image; undefined for other files, and for images that the hub does not serve now. */
function picture(hub: Hub, file: Attachment): Html | undefined {
  const path = attachmentPath(hub, file);
  if (path === null || !file.mediaType?.startsWith('image/')) return undefined;
  if (missingAmong(hub, [file]).size > 0) return undefined;
  const box = boxAttributes(sizesOf(hub, [file]).get(file.id));
  return html`<a href="${path}"><img src="${path}" alt="${file.title ?? file.filename}" ${box} loading="lazy"></a>`;
}

function fileList(hub: LinkHub, files: Attachment[]): Html {
  return html`
<section class="files" aria-labelledby="files"><h2 id="files">${plural(files.length, 'attachment')}</h2>
<ul>${files.map((file) => fileItem(hub, file))}</ul></section>`;
}

function fileItem(hub: LinkHub, file: Attachment): Html {
  const { remoteUrl, filename, title, mediaType, bytes, durationSeconds, scan } = file;
  if (scan === 'infected') return html`<li>${icon('file')}<span class="name">${filename}</span>${INFECTED}</li>`;
  const path = attachmentPath(hub, file);
  const facts = [durationSeconds && playingTime(durationSeconds), bytes && byteSize(bytes), mediaType].filter(Boolean);
  return html`
<li>${icon('file')}<a class="name" dir="auto" href="${path ?? remoteUrl}" ${path === null && AWAY}>${
  invitationTo(mediaType)}${title ?? filename}</a><span class="size">${facts.join(' · ')}</span></li>`;
}

/** The word before the link to a sound or film, which the reader's own program plays: the hub has no player. */
function invitationTo(mediaType: string | null): string {
  return mediaType?.startsWith('audio/') ? 'Listen: ' : mediaType?.startsWith('video/') ? 'Watch: ' : '';
}
