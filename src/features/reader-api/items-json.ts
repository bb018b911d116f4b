import { SECOND } from '../../platform/clock.ts';
import { createAddressSigner } from '../accounts/signed-address-store.ts';
import { attachmentPath, listedAttachments } from '../attachments/attachment-links.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { contentWithImages } from '../attachments/serve-file.ts';
import { asking, follows, type ListedFollow } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { titleOf } from '../posts/post-views.ts';
import { fittingContents } from '../posts/query-posts.ts';
import { arrivals, type AppPost } from '../reading/arrival-store.ts';
import { manySources } from '../sources/source-store.ts';
import { longId } from './item-ids.ts';
import type { AppRequest } from './reader-request.ts';
import { siteOf } from './subscription-lists.ts';
import { feedStream, labelStream, stateStream } from './streams.ts';

/** Posts that are read from the database at once, if their contents are short: 64 posts of 1 kB take about 0.5 ms. */
const AT_ONCE = 64;

/** Facts of a source that its items share. */
type Origin = { streamId: string; title: string; htmlUrl: string };

/** Facts that the items of one answer share. */
type Shared = {
  hub: Hub; followed: Map<number, ListedFollow>; origins: Map<number, Origin>; sign: (path: string) => string;
};

/**
 * The items with these post ids, made while the answer is sent. Each text has a few items as JSON, with commas between
 * the items. Leaves out posts that the viewer may not see, and unstarred posts of sources that are not followed. Throws
 * 401 when the app password has ended, because a slow reader can make the answer last for hours.
 */
export function* itemTexts(hub: Hub, { viewer, recheck }: AppRequest, ids: number[]): Generator<string> {
  const followed = new Map(follows(hub).listed(viewer).map((follow) => [follow.sourceId, follow]));
  const shared: Shared = { hub, followed, origins: new Map(), sign: createAddressSigner(hub, viewer) };
  for (const part of partsOf(hub, ids)) {
    recheck();
    const posts = arrivals(hub).whole(asking(viewer), part);
    if (posts.length === 0) continue;
    addOrigins(shared, posts);
    const files = Map.groupBy(attachments(hub).ofPosts(part), ({ postId }) => postId);
    yield JSON.stringify(posts.map((post) => itemOf(shared, post, files.get(post.id) ?? []))).slice(1, -1);
  }
}

/** The ids of existing posts in parts, of which each is in memory at once with all its contents. */
function* partsOf(hub: Hub, ids: number[]): Generator<number[]> {
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    let sizes = arrivals(hub).sizesOf(ids.slice(start, start + AT_ONCE));
    while (sizes.length > 0) {
      const fitting = fittingContents(hub, sizes);
      yield sizes.slice(0, fitting).map(({ id }) => id);
      sizes = sizes.slice(fitting);
    }
  }
}

function addOrigins({ hub, followed, origins }: Shared, posts: AppPost[]): void {
  const missing = new Set(posts.map(({ sourceId }) => sourceId).filter((id) => !origins.has(id)));
  if (missing.size === 0) return;
  for (const source of manySources(hub).among([...missing])) {
    const title = followed.get(source.id)?.title ?? source.title;
    origins.set(source.id, { streamId: feedStream(source.id), title, htmlUrl: siteOf(hub, source) });
  }
}

/** A post as apps want it. Members that some app needs are always there, even if they say nothing new. */
function itemOf({ hub, followed, origins, sign }: Shared, post: AppPost, files: Attachment[]) {
  const { id, sourceId, contentHtml, author, publishedAt, updatedAt, createdAt } = post;
  const { baseUrl } = hub.config;
  const href = post.url ?? `${baseUrl}/posts/${id}`;
  const content = contentWithImages(hub, { contentHtml, attachments: files }, baseUrl, () => undefined, sign);
  const enclosure = listedAttachments(files).flatMap((file) => enclosureOf(hub, file, sign));
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
    summary: { direction: 'ltr', content },
    categories: categoriesOf(followed.get(sourceId)?.folder ?? null, post),
    origin: origins.get(sourceId),
    enclosure: enclosure.length > 0 ? enclosure : undefined,
  };
}

function categoriesOf(folder: string | null, { isRead, isStarred }: AppPost): string[] {
  return [
    stateStream('reading-list'), ...(isRead === 1 ? [stateStream('read')] : []),
    ...(isStarred === 1 ? [stateStream('starred')] : []), ...(folder === null ? [] : [labelStream(folder)]),
  ];
}

/**
 * A file of a post. Audio and video stay at their publisher, as on pages. An image without a copy at the hub is left
 * out: apps load images unasked, so the publisher would learn who reads.
 */
function enclosureOf(hub: Hub, file: Attachment, sign: (path: string) => string) {
  const path = attachmentPath(hub, file);
  const { mediaType, bytes, remoteUrl } = file;
  const isHidden = path === null && mediaType?.startsWith('image/');
  const href = path === null ? remoteUrl : hub.config.baseUrl + sign(path);
  return href === null || isHidden ? [] : [{ href, type: mediaType ?? 'application/octet-stream', length: bytes ?? 0 }];
}
