import { hash } from 'node:crypto';
import { html, type Html } from '../../platform/http/html.ts';
import type { StoreHub } from '../hub/hub.ts';
import { attachmentPath, type LinkHub } from './attachment-links.ts';
import { attachments, type Attachment } from './attachment-store.ts';
import { cachedFiles } from './cached-file-store.ts';
import type { ImageSize } from './recognise-images.ts';

/** The maximum bytes of a thumbnail, and of a picture that is fetched for lists: readers may have slow connections. */
export const THUMBNAIL_BYTES = 256 * 1024;

/** The media type of a thumbnail or image that a feed declares without a type; `leadPictures` prefers it. */
export const THUMBNAIL_TYPE = 'image/*';

/** The smallest side, in pixels, of a picture in a list: smaller pictures are mostly icons and buttons. */
const THUMBNAIL_WIDTH = 96;
const THUMBNAIL_HEIGHT = 64;

const LARGE_WIDTH = 480; // pixels
const LARGE_BYTES = 400 * 1024;

/** 8 million pixels, for which a browser needs 32 MiB of memory: a list may show thirty pictures on a phone. */
const LISTED_PIXELS = 2 ** 23;

type KnownPicture = ImageSize & { attachment: Attachment; bytes: number };

/** A request for a thumbnail never makes the hub fetch a file: posts without a picture at the hub are left out. */
export function thumbnails(hub: LinkHub & StoreHub, posts: { id: number }[]): Map<number, string> {
  return firstFitting(hub, posts, ({ bytes, width, height }) =>
    bytes <= THUMBNAIL_BYTES && width >= THUMBNAIL_WIDTH && height >= THUMBNAIL_HEIGHT);
}

/** By post id: the remote address of the feed's thumbnail, else of its first listed image, else of the content's. */
export function leadPictures(hub: LinkHub & StoreHub, posts: { id: number }[]): Map<number, string> {
  const all = attachments(hub).firstOfPosts(posts.map(({ id }) => id))
    .filter((attachment) => attachmentPath(hub, attachment) !== null).toReversed();
  const thumbnails = all.filter(({ isInline, mediaType }) => isInline === 0 && mediaType === THUMBNAIL_TYPE);
  return new Map([...all, ...thumbnails].flatMap(({ postId, remoteUrl }) =>
    remoteUrl === null ? [] : [[postId, remoteUrl]]));
}

/** By post id: markup of a picture that is large enough to stand above the post, and wider than high. */
export function largePictures(hub: LinkHub & StoreHub, posts: { id: number }[]): Map<number, Html> {
  const paths = firstFitting(hub, posts, ({ bytes, width, height }) =>
    bytes <= LARGE_BYTES && width >= LARGE_WIDTH && width > height);
  return new Map([...paths].map(([id, path]) => [id, html`<img src="${path}" width="16" height="9" alt="">`]));
}

function firstFitting(
  hub: LinkHub & StoreHub, posts: { id: number }[], isFit: (picture: KnownPicture) => boolean,
): Map<number, string> {
  const found = new Map<number, string>();
  for (const picture of knownPictures(hub, attachments(hub).firstOfPosts(posts.map(({ id }) => id)))) {
    const { attachment, width, height } = picture;
    if (found.has(attachment.postId) || width * height > LISTED_PIXELS || !isFit(picture)) continue;
    const path = attachmentPath(hub, attachment);
    if (path !== null) found.set(attachment.postId, attachment.kind === 'remote' ? `${path}?${KEPT_ONLY}` : path);
  }
  return found;
}

/** Query parameter of an attachment's address: the hub then serves its cached copy or answers 404, without a fetch. */
export const KEPT_ONLY = 'kept';

/** By attachment id, as far as the hub knows them. */
export function sizesOf(hub: StoreHub, all: Attachment[]): Map<number, ImageSize> {
  return new Map(knownPictures(hub, all).map(({ attachment, width, height }) => [attachment.id, { width, height }]));
}

/** Attributes by which an `img` reserves its place on the page; none for a picture that the hub has not fetched yet. */
export function boxAttributes(size: ImageSize | undefined): Html {
  return size ? html`width="${size.width}" height="${size.height}"` : html``;
}

/** The ids of the attachments whose remote files the hub could not fetch lately. */
export function missingAmong(hub: StoreHub, all: Attachment[]): Set<number> {
  const hashes = urlHashes(all);
  const missing = new Set(cachedFiles(hub).missing([...hashes.values()]));
  return new Set([...hashes].flatMap(([id, urlHash]) => missing.has(urlHash) ? [id] : []));
}

function urlHashes(all: Attachment[]): Map<number, string> {
  return new Map(all.flatMap(({ id, remoteUrl }) =>
    remoteUrl === null ? [] : [[id, hash('sha256', remoteUrl)] as const]));
}

function knownPictures(hub: StoreHub, all: Attachment[]): KnownPicture[] {
  const hashes = urlHashes(all);
  const kept = new Map(cachedFiles(hub).images([...hashes.values()]).map((image) => [image.urlHash, image]));
  return all.flatMap((attachment): KnownPicture[] => {
    const { id, bytes, width, height, scan } = attachment;
    const copy = kept.get(hashes.get(id) ?? '');
    if (copy) return [{ attachment, bytes: copy.bytes, width: copy.width, height: copy.height }];
    if (scan === null || scan === 'infected' || bytes === null || width === null || height === null) return [];
    return [{ attachment, bytes, width, height }];
  });
}
