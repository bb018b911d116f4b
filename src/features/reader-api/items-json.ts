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

/** Number of posts that one query reads for an answer, without the posts' contents, in about 1 ms. */
const AT_ONCE = 100;

/** Data from which the hub makes all items (posts) of one answer to an app. */
type Shared = {
  hub: Hub; folders: Map<number, string | null>; sites: Map<number, string>; sign: (path: string) => string;
};

/**
 * Yields posts as items in JSON, while the answer is sent. Leaves out posts that the viewer may not see, and posts that
 * are not starred if the viewer does not follow the post's source.
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

/** Yields posts with their contents, and holds the contents of few posts in memory at once. */
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

/** A post as an item of the Google Reader API, with every field that some app requires, even redundant fields. */
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

/** A post's file as an enclosure: audio and video have their publisher's address, all other files the hub's address. */
function enclosureOf(hub: Hub, file: Attachment, sign: (path: string) => string) {
  const path = attachmentPath(hub, file);
  const href = path === null ? file.remoteUrl : hub.config.baseUrl + sign(path);
  const { mediaType, bytes } = file;
  return href === null ? [] : [{ href, type: mediaType ?? 'application/octet-stream', length: bytes ?? 0 }];
}
