import { hash } from 'node:crypto';
import { html, type Html } from '../../platform/http/html.ts';
import type { StoreHub } from '../hub/hub.ts';
import { attachmentPath, type LinkHub } from './attachment-links.ts';
import { attachments, type Attachment } from './attachment-store.ts';
import { cachedFiles } from './cached-file-store.ts';
import type { ImageSize } from './recognise-images.ts';

/** A list shows no larger pictures: nobody's telephone is to load them. */
const THUMBNAIL_BYTES = 100 * 1024;

/** Pixels. Smaller ones are signs and buttons, and would look coarse. */
const THUMBNAIL_WIDTH = 96;
const THUMBNAIL_HEIGHT = 64;

/** Of a picture that stands above a post: a page has few of them. */
const LARGE_WIDTH = 480;
const LARGE_BYTES = 400 * 1024;

/** A picture as it is known now: uploaded here, or a copy of a publisher's that is kept. */
type KnownPicture = ImageSize & { attachment: Attachment; bytes: number };

/**
 * The addresses of small pictures of posts, by their ids; none where the hub has none. They never make the hub ask a
 * publisher: a list that is opened is no reason to.
 */
export function thumbnails(hub: LinkHub & StoreHub, posts: { id: number }[]): Map<number, string> {
  return firstFitting(hub, posts, ({ bytes, width, height }) =>
    bytes <= THUMBNAIL_BYTES && width >= THUMBNAIL_WIDTH && height >= THUMBNAIL_HEIGHT);
}

/** The same of pictures that are large enough to stand above a post. */
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

/** In the query of an attachment's address: only a copy that is there is wanted. */
export const KEPT_ONLY = 'kept';

/** Sizes of the images among the attachments, by their ids, as far as they are known. */
export function sizesOf(hub: StoreHub, all: Attachment[]): Map<number, ImageSize> {
  return new Map(knownPictures(hub, all).map(({ attachment, width, height }) => [attachment.id, { width, height }]));
}

/** Attributes of an `img`, so that nothing moves when it comes: its size, or the class of a box for any. */
export function boxAttributes(size: ImageSize | undefined): Html {
  return size ? html`width="${size.width}" height="${size.height}"` : html`class="unsized"`;
}

/** Those of the attachments that their publisher's server did not give when the hub last asked, by their ids. */
export function missingAmong(hub: StoreHub, all: Attachment[]): Set<number> {
  const hashes = hashesOf(all);
  const missing = new Set(cachedFiles(hub).missing([...hashes.values()]));
  return new Set([...hashes].flatMap(([id, urlHash]) => missing.has(urlHash) ? [id] : []));
}

/** Of the URLs of publishers' files, by the ids of the attachments. */
function hashesOf(all: Attachment[]): Map<number, string> {
  return new Map(all.flatMap(({ id, remoteUrl }) =>
    remoteUrl === null ? [] : [[id, hash('sha256', remoteUrl)] as const]));
}

function knownPictures(hub: StoreHub, all: Attachment[]): KnownPicture[] {
  const hashes = hashesOf(all);
  const kept = new Map(cachedFiles(hub).images([...hashes.values()]).map((image) => [image.urlHash, image]));
  return all.flatMap((attachment): KnownPicture[] => {
    const { id, bytes, width, height, scan } = attachment;
    const copy = kept.get(hashes.get(id) ?? '');
    if (copy) return [{ attachment, bytes: copy.bytes, width: copy.width, height: copy.height }];
    if (scan === null || scan === 'infected' || bytes === null || width === null || height === null) return [];
    return [{ attachment, bytes, width, height }];
  });
}
