import { excerpt, singleLine } from './tidy-text.ts';
import { decodeAttributeEntities, escapeHtml } from './entities.ts';
import type { Attributes } from './html-tokenizer.ts';
import { attribute, MAX_TITLE_LENGTH } from './markup-rules.ts';
import { webUrl } from './safe-url.ts';

/** A file that an image element offers. `size`: width in pixels, density, or a guess like 1.5; the largest is best. */
export type ImageCandidate = { address: string; size: number };

/** For links of posts to other sites: no referrer, and no endorsement for search engines. */
export const LINK_TAIL = ' rel="noopener noreferrer nofollow ugc" referrerpolicy="no-referrer"';

const MAX_LABEL_LENGTH = 200;
const MAX_SRCSET_LENGTH = 20_000;

/** An address of a srcset, and either a comma directly behind the address or its descriptor up to the next comma. */
const CANDIDATE = /([^\s,](?:\S*[^\s,])?)(?:,+(?!\S)|([^,]*))/g;

const LAZY_SOURCE_SETS = ['srcset', 'data-srcset', 'data-lazy-srcset'];
const LAZY_SOURCES = ['data-src', 'data-original', 'data-lazy-src', 'data-orig-file'];

/** Scripts load files late in many ways: names of attributes that hold the address of a file, or of a small file. */
const LATE_NAME = /src(?!doc)|lazy|orig|echo|image|img/;
const OTHER_LATE_NAME = /^data-(?!.*(?:title|alt|name|caption|description)$)|file$/;
const SMALL_NAME = /low|thumb|small|tiny|medium|blur|placeholder|preview/;
const IMAGE_FILE = /^[^\s,?#]+\.(?:jpe?g|png|webp|avif|gif)(?:[?#][^\s,]*)?$/i;
const ADDRESS = /^(?:https?:)?\/[^\s]+$/i;
const MAX_ADDRESS = 2_000;
/** No file that could be fetched, or the name of one that only takes up the room until a script loads the image. */
const NO_FILE = /^\s*(?:$|#|data:|about:|blob:)/i;
const PLACEHOLDER = new RegExp(NO_FILE.source
  + '|(?:^|[/_-])(?:blank|spacer|loading|loader|transparent|placeholder|lazy|1x1|pixel)[^/]{0,40}\\.(?:gif|png|svg)$',
'i');

/** Services that count readers or advertise. */
const COUNTER_HOSTS = [
  'doubleclick.net', 'google-analytics.com', 'googletagmanager.com', 'scorecardresearch.com', 'quantserve.com',
  'pixel.wp.com', 'stats.wp.com', 'stats.wordpress.com', 'feeds.wordpress.com', 'feedsportal.com', 'pheedo.com',
  'amazon-adsystem.com', 'adsrvr.org', 'criteo.com', 'moatads.com', 'chartbeat.net', 'hotjar.com', 'statcounter.com',
  'eotrx.substackcdn.com', 'pixel.quantcount.com', 'analytics.twitter.com', 'px.ads.linkedin.com', 'vgwort.de',
  'bat.bing.com', 'ct.pinterest.com', 'mc.yandex.ru', 'counter.yadro.ru', 'ioam.de', 'statsy.net', 'imrworldwide.com',
];
const COUNTER_ADDRESSES = [
  /^feeds\d?\.feedburner\.com\/~/, /^feedproxy\.google\.com\/~/, /^(?:www\.)?facebook\.com\/tr\b/,
  /^medium\.com\/_\/stat/, /^blogger\.googleusercontent\.com\/tracker\//, /\/wf\/open\b/, /\/track\/open\.php/,
];

const INVISIBLE_STYLE = /(?:^|;)\s*(?:(?:width|height)\s*:\s*[01](?:px)?\s*(?:;|$)|display\s*:\s*none)/i;

/** The links that `imageLink` writes: web address, stated size, no words, escaped title and label. */
const IMAGE_LINK = new RegExp('<a href="(https?:[^"<>]*)" class="remote-image"'
  + '(?: data-size="(\\d{1,4})x(\\d{1,4})")?( data-alt="")?(?: title="([^"<>]*)")?[^<>]*>([^<>"]*)</a>', 'g');

/** The label of an image in a link without text: the image's own label, if any, has become the link's text. */
export const LINKED_IMAGE = 'Linked image';
/** Matches a link before an image link with the text LINKED_IMAGE: its author gave it no text but the image. */
const LABELLED_LINK = new RegExp('<a href="[^"<>]*"[^<>]*>[^<>]*</a>'
  + `(?= <a href="[^"<>]*" class="remote-image"[^<>]*>${LINKED_IMAGE}</a>)`, 'g');

/** The most digits of a stated width or height in pixels; more digits are a mistake. */
const MAX_DIGITS = 4;

/** The files that an image or source element names, also in attributes from which scripts load late. */
export function imageCandidates(attributes: Attributes): ImageCandidate[] {
  const candidates: ImageCandidate[] = [];
  const source = attributes.get('src');
  if (source !== undefined) candidates.push({ address: source, size: 1 });
  for (const name of LAZY_SOURCES) {
    const address = attributes.get(name);
    // If an image has a lazy-load attribute, its src is a placeholder.
    if (address !== undefined) candidates.push({ address, size: 1.5 });
  }
  for (const name of LAZY_SOURCE_SETS) candidates.push(...parseSourceSet(attributes.get(name)));
  if (isLazy(attributes)) for (const attribute of attributes) candidates.push(...lateFiles(...attribute));
  return candidates;
}

/** Whether an image seems to be a placeholder until a script loads the real one. */
export function isLazy(attributes: Attributes): boolean {
  if (PLACEHOLDER.test(attributes.get('src')?.slice(0, MAX_ADDRESS) ?? '')) return true;
  if (/lazy|placeholder/i.test(attributes.get('class') ?? '')) return true;
  for (const name of attributes.keys()) if (/^(?:data|nitro)-.*(?:src|original|lazy)/.test(name)) return true;
  return false;
}

function lateFiles(name: string, value: string): ImageCandidate[] {
  if (name === 'src' || LAZY_SOURCE_SETS.includes(name)) return [];
  if (name.endsWith('srcset')) return parseSourceSet(value);
  const isLate = LATE_NAME.test(name);
  if (value.length > MAX_ADDRESS || !(isLate || OTHER_LATE_NAME.test(name))) return [];
  if (!IMAGE_FILE.test(value) && !(isLate && ADDRESS.test(value))) return [];
  return [{ address: value, size: SMALL_NAME.test(name) ? 1.1 : 1.5 }];
}

/** Reads a srcset (HTML Standard, 4.8.4.2.1): addresses with an optional width or density. */
function parseSourceSet(sourceSet: string | undefined): ImageCandidate[] {
  if (sourceSet === undefined || sourceSet.length > MAX_SRCSET_LENGTH) return [];
  return Array.from(sourceSet.matchAll(CANDIDATE), ([, address = '', descriptor = '']) =>
    ({ address, size: sizeOf(descriptor) }));
}

function sizeOf(descriptor: string): number {
  const size = parseFloat(descriptor);
  return size > 0 && /[wx]\s*$/.test(descriptor) ? size : 1;
}

/** The largest file that can be fetched over the web; the first of equally large files. */
export function largestImage(candidates: ImageCandidate[], baseUrl: string): URL | undefined {
  let best: URL | undefined;
  let bestSize = 0;
  for (const { address, size } of candidates) {
    const url = size > bestSize && address.trim() !== '' ? webUrl(address, baseUrl) : undefined;
    if (url === undefined) continue;
    best = url;
    bestSize = size;
  }
  return best;
}

/** Whether an image counts readers: it is invisible, or it is a counter's and has neither a stated size nor words. */
export function isTracker(attributes: Attributes, url: URL | undefined): boolean {
  const isBare = !['width', 'height', 'alt'].some((name) => attributes.get(name)?.trim());
  return isInvisible(attributes) || isBare && url !== undefined && isCounter(url);
}

/** Whether a frame counts readers: it is invisible or a counter's, such as an advertisement. */
export function isTrackingFrame(attributes: Attributes, url: URL): boolean {
  return isInvisible(attributes) || isCounter(url);
}

function isInvisible(attributes: Attributes): boolean {
  return isPixel(attributes.get('width')) || isPixel(attributes.get('height'))
    || INVISIBLE_STYLE.test(attributes.get('style') ?? '');
}

function isCounter({ hostname, pathname }: URL): boolean {
  if (COUNTER_HOSTS.some((host) => hostname === host || hostname.endsWith(`.${host}`))) return true;
  return COUNTER_ADDRESSES.some((counter) => counter.test(hostname + pathname));
}

function isPixel(size: string | undefined): boolean {
  return size !== undefined && /^\s*[01](?:px)?\s*$/.test(size);
}

const SIDES = [
  ['width', /(?:^|;)\s*width\s*:\s*([1-9]\d*)px\s*(?:;|$)/i],
  ['height', /(?:^|;)\s*height\s*:\s*([1-9]\d*)px\s*(?:;|$)/i],
] as const;

/** The size of an image as its publisher states it, in attributes or style, in pixels (`640x480`). */
export function statedSize(attributes: Attributes): string | undefined {
  const sides = SIDES.map(([name, styled]) => /^\s*([1-9]\d*)(?:px)?\s*$/.exec(attributes.get(name) ?? '')?.[1]
    ?? styled.exec(attributes.get('style') ?? '')?.[1]);
  return sides.every((side) => side !== undefined && side.length <= MAX_DIGITS) ? sides.join('x') : undefined;
}

/** What an image's author says in its `title`; empty if it only repeats the label, or a part of the file's path. */
export function imageTitle(attributes: Attributes, label: string, url: URL): string {
  const title = excerpt(singleLine(attributes.get('title') ?? ''), MAX_TITLE_LENGTH);
  const bare = (text: string): string => text.toLowerCase().replace(/[\s_-]+/g, '');
  return title === label || bare(decodePath(url.pathname)).includes(bare(title)) ? '' : title;
}

/** A link in place of an image that browsers would load. `isOrnament`: its author gave it an empty `alt`. */
export function imageLink(
  url: URL, label: string,
  { size, title, isOrnament }: { size?: string | undefined; title?: string | undefined; isOrnament?: boolean },
): string {
  const about = (size ? attribute('data-size', size) : '') + (isOrnament ? attribute('data-alt', '') : '')
    + (title ? attribute('title', title) : '');
  return `<a${attribute('href', url.href)} class="remote-image"${about}${LINK_TAIL}>${escapeHtml(label)}</a>`;
}

/** A link to an embedded film, sound or page. */
export function mediaLink(url: URL, label: string): string {
  return `<a${attribute('href', url.href)}${LINK_TAIL}>${escapeHtml(label)}</a>`;
}

/** A label that the author gave, on one line, cut at MAX_LABEL_LENGTH; empty without one. */
export function givenLabel(text: string | undefined): string {
  return text === undefined ? '' : excerpt(singleLine(text), MAX_LABEL_LENGTH);
}

/** The words that the author gave an element that shows nothing else. */
export function authorsLabel(attributes: Attributes): string {
  return givenLabel(attributes.get('title')) || givenLabel(attributes.get('aria-label'));
}

/** The last part of the URL's path if it looks like a file name, or else `otherwise`. */
export function fileNameOr(otherwise: string, url: URL): string {
  const name = decodePath(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  const line = singleLine(name);
  return /^[^<>]{1,35}\.\w{2,4}$/.test(line) ? line : otherwise;
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Elements of scripts that name a film by its id. */
const FILM_PAGES = new Map([
  ...['lite-youtube', 'amp-youtube'].map((name): [string, string] => [name, 'https://www.youtube.com/watch?v=']),
  ...['lite-vimeo', 'amp-vimeo'].map((name): [string, string] => [name, 'https://vimeo.com/']),
  ['amp-dailymotion', 'https://www.dailymotion.com/video/'],
]);

/** The page or file that a frame, film or sound shows, also if a script sets its address late. */
export function shownFile(name: string, attributes: Attributes, baseUrl: string): URL | undefined {
  const late = [...attributes].filter(([name, value]) => /src(?!doc)|lazy/.test(name) && ADDRESS.test(value));
  const film = attributes.get('videoid') ?? attributes.get('data-videoid');
  const page = film && FILM_PAGES.has(name) ? FILM_PAGES.get(name) + encodeURIComponent(film) : undefined;
  const given = [attributes.get('src'), attributes.get('data'), page, attributes.get('data-src')];
  for (const address of [...given, ...late.map(([, value]) => value)]) {
    const url = address === undefined || NO_FILE.test(address) ? undefined : webUrl(address, baseUrl);
    if (url !== undefined) return framePage(url);
  }
  return undefined;
}

/** The page that a frame shows; for YouTube's player, which refuses to run outside a frame, the video's page. */
function framePage(url: URL): URL {
  const video = /^\/embed\/([\w-]{6,20})$/.exec(url.pathname)?.[1];
  const isYouTube = /^(?:www\.)?youtube(?:-nocookie)?\.com$/.test(url.hostname);
  return video !== undefined && isYouTube ? new URL(`https://www.youtube.com/watch?v=${video}`) : url;
}

/** Addresses of the images of sanitised markup, each once, in order. */
export function imageAddresses(sanitized: string): string[] {
  return [...new Set(Array.from(sanitized.matchAll(IMAGE_LINK), ([, href = '']) => decodeAttributeEntities(href)))];
}

/** Sanitised markup without its image links, and without the links that had no text but an image. */
export function withoutImages(sanitized: string): string {
  return sanitized.replace(LABELLED_LINK, '').replace(IMAGE_LINK, '');
}

/** An image on a page has a `size` in pixels, or null if the hub does not know it; elsewhere undefined. */
type ShownImage = { address: string; size?: Size | null | undefined };

/** Images up to this height, in pixels, stand within a line of text: smileys, badges and formulas. */
const LINE_HEIGHT = 40;

/** Replaces image links in sanitised markup by images, if `imageOf` knows their address. Other links stay. */
export function showImages(sanitized: string, imageOf: (url: string) => ShownImage | undefined): string {
  return sanitized.replace(IMAGE_LINK, (link: string, href: string, ...parts: (string | undefined)[]) => {
    const [width, height, noWords, title, label = ''] = parts;
    const image = imageOf(decodeAttributeEntities(href));
    if (!image) return link;
    const stated = width === undefined ? null : { width: Number(width), height: Number(height) };
    const isOnPage = image.size !== undefined;
    const size = isOnPage ? shownSize(image.size ?? null, stated) : null;
    // An image of unknown size takes its space when the image loads.
    const box = size === null ? '' : ` width="${size.width}" height="${size.height}"`;
    const about = (title ? ` title="${title}"` : '') + box;
    const look = size !== null && size.height <= LINE_HEIGHT ? ' class="small"' : '';
    const alt = noWords ? '' : label;
    const shown = `<img src="${escapeHtml(image.address)}" alt="${alt}"${about} loading="lazy"${look}>`;
    // Touch screens have no tooltips, so the style sheet shows the title there as a text below the picture.
    return title && isOnPage ? `${shown}<span class="picture-title" aria-hidden="true">${title}</span>` : shown;
  });
}

type Size = { width: number; height: number };

/** The real proportions, if known, at most as wide as the publisher states: icons are often large files. */
function shownSize(real: Size | null, stated: Size | null): Size | null {
  if (real === null || stated === null || real.width <= stated.width) return real ?? stated;
  return { width: stated.width, height: Math.max(1, Math.round(real.height * stated.width / real.width)) };
}
