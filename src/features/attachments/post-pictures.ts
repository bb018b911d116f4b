import { hash } from 'node:crypto';
import { html, type Html } from '../../platform/http/html.ts';
import type { StoreHub } from '../hub/hub.ts';
import { attachmentPath, type LinkHub } from './attachment-links.ts';
import { attachments, type Attachment } from './attachment-store.ts';
import { cachedFiles } from './cached-file-store.ts';
import type { ImageSize } from './recognise-images.ts';

/** Maximum bytes of a picture in a list, for readers with slow connections. */
const THUMBNAIL_BYTES = 100 * 1024;

/** Smallest size of a picture in a list, in pixels: smaller pictures are mostly icons and buttons. */
const THUMBNAIL_WIDTH = 96;
const THUMBNAIL_HEIGHT = 64;

/** Limits of large pictures above posts, of which a page has only a few. */
const LARGE_WIDTH = 480;
const LARGE_BYTES = 400 * 1024;

/** A picture that the hub has: an upload, or a cached copy of a remote file. */
type KnownPicture = ImageSize & { attachment: Attachment; bytes: number };

/**
 * Addresses of small pictures by post id, for posts with such a picture on the hub. Opening such an address never makes
 * the hub fetch a remote file.
 */
export function thumbnails(hub: LinkHub & StoreHub, posts: { id: number }[]): Map<number, string> {
  return firstFitting(hub, posts, ({ bytes, width, height }) =>
    bytes <= THUMBNAIL_BYTES && width >= THUMBNAIL_WIDTH && height >= THUMBNAIL_HEIGHT);
}

/** Markup of pictures that are large enough to stand above a post, by post id. */
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
    const { attachment } = picture;
    if (found.has(attachment.postId) || !isFit(picture)) continue;
    const path = attachmentPath(hub, attachment);
    if (path !== null) found.set(attachment.postId, attachment.kind === 'remote' ? `${path}?${KEPT_ONLY}` : path);
  }
  return found;
}

/** Query parameter of an attachment's address: the hub serves its cached copy or answers 404, and fetches nothing. */
export const KEPT_ONLY = 'kept';

/** Known sizes of the images among the attachments, by attachment id. */
export function sizesOf(hub: StoreHub, all: Attachment[]): Map<number, ImageSize> {
  return new Map(knownPictures(hub, all).map(({ attachment, width, height }) => [attachment.id, { width, height }]));
}

/** Attributes of an `img` that reserve its place on the page: its size, or a class for an unknown size. */
export function boxAttributes(size: ImageSize | undefined): Html {
  return size ? html`width="${size.width}" height="${size.height}"` : html`class="unsized"`;
}

/** Ids of the attachments that the hub could not fetch lately. */
export function missingAmong(hub: StoreHub, all: Attachment[]): Set<number> {
  const hashes = urlHashes(all);
  const missing = new Set(cachedFiles(hub).missing([...hashes.values()]));
  return new Set([...hashes].flatMap(([id, urlHash]) => missing.has(urlHash) ? [id] : []));
}

/** Hashes of remote files' URLs, by attachment id. */
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
