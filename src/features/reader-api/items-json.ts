import { SECOND } from '../../platform/clock.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { createAddressSigner } from '../accounts/signed-address-store.ts';
import { attachmentPath, listedAttachments } from '../attachments/attachment-links.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import { contentWithImages } from '../attachments/serve-file.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { titleOf } from '../posts/post-views.ts';
import { posts, type Post, type WholePost } from '../posts/post-store.ts';
import { fittingContents } from '../posts/query-posts.ts';
import { readMarks, type PostState } from '../reading/reading-store.ts';
import { manySources } from '../sources/source-store.ts';
import { longId } from './item-ids.ts';
import { siteOf } from './subscription-lists.ts';
import { feedStream, labelStream, stateStream } from './streams.ts';

/** Posts that are looked up in the database at once, in about 1 ms. Their contents are read in smaller parts. */
const AT_ONCE = 100;

/** Facts that the items of one answer share. */
type Shared = {
  hub: Hub; folders: Map<number, string | null>; sites: Map<number, string>; sign: (path: string) => string;
};

/**
 * The items with these post ids as JSON texts, made while the answer is sent. Posts that the viewer may not see, and
 * posts of sources that are neither followed nor starred, are left out.
 */
export function* itemTexts(hub: Hub, viewer: Viewer, ids: number[]): Generator<string> {
  const folders = new Map(follows(hub).listed(viewer).map(({ sourceId, folder }) => [sourceId, folder]));
  const shared: Shared = { hub, folders, sites: new Map(), sign: createAddressSigner(hub, viewer) };
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const states = new Map(readMarks(hub).statesOf(viewer, ids.slice(start, start + AT_ONCE))
      .filter(({ isFollowed, isStarred }) => isFollowed + isStarred > 0).map((state) => [state.id, state]));
    const listed = posts(hub).listed(ids.slice(start, start + AT_ONCE).filter((id) => states.has(id)));
    addSites(shared, listed.map(({ sourceId }) => sourceId));
    for (const post of wholeInParts(hub, listed)) {
      const state = states.get(post.id);
      if (state) yield JSON.stringify(itemOf(shared, post, state));
    }
  }
}

/** The posts with their contents, of which few are in memory at once. */
function* wholeInParts(hub: Hub, listed: Post[]): Generator<WholePost> {
  for (let start = 0; start < listed.length;) {
    const rest = listed.slice(start);
    const part = rest.slice(0, fittingContents(hub, rest));
    yield* posts(hub).whole(part);
    start += part.length;
  }
}

function addSites({ hub, sites }: Shared, sourceIds: number[]): void {
  const missing = [...new Set(sourceIds)].filter((id) => !sites.has(id));
  if (missing.length === 0) return;
  for (const source of manySources(hub).among(missing)) sites.set(source.id, siteOf(hub, source));
}

/** A post as apps want it. Members that some app needs are always there, even if they say nothing new. */
function itemOf({ hub, folders, sites, sign }: Shared, post: WholePost, state: PostState) {
  const { id, sourceId, sourceTitle, author, publishedAt, updatedAt, createdAt } = post;
  const { baseUrl } = hub.config;
  const href = post.url ?? `${baseUrl}/posts/${id}`;
  const enclosure = listedAttachments(post.attachments).flatMap((file) => enclosureOf(hub, file, sign));
  return {
    id: longId(id),
    crawlTimeMsec: String(createdAt),
    timestampUsec: `${createdAt}000`,
    published: Math.floor(publishedAt / SECOND),
    updated: Math.floor(updatedAt / SECOND),
    title: titleOf(post).title,
    author: author ?? '',
    canonical: [{ href }],
    alternate: [{ href, type: 'text/html' }],
    summary: { direction: 'ltr', content: contentWithImages(hub, post, baseUrl, () => undefined, sign) },
    categories: categoriesOf(folders.get(sourceId) ?? null, state),
    origin: { streamId: feedStream(sourceId), title: sourceTitle, htmlUrl: sites.get(sourceId) ?? baseUrl },
    ...(enclosure.length > 0 && { enclosure }),
  };
}

function categoriesOf(folder: string | null, { isRead, isStarred }: PostState): string[] {
  return [
    stateStream('reading-list'), ...(isRead === 1 ? [stateStream('read')] : []),
    ...(isStarred === 1 ? [stateStream('starred')] : []), ...(folder === null ? [] : [labelStream(folder)]),
  ];
}

/** A file of a post. Audio and video stay at their publisher, as on pages; all other files are at the hub. */
function enclosureOf(hub: Hub, file: Attachment, sign: (path: string) => string) {
  const path = attachmentPath(hub, file);
  const href = path === null ? file.remoteUrl : hub.config.baseUrl + sign(path);
  const { mediaType, bytes } = file;
  return href === null ? [] : [{ href, type: mediaType ?? 'application/octet-stream', length: bytes ?? 0 }];
}
