import { DAY, SECOND } from '../../platform/clock.ts';
import { createAddressSigner } from '../accounts/signed-address-store.ts';
import { attachmentPath, listedAttachments } from '../attachments/attachment-links.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { contentWithImages } from '../attachments/own-files.ts';
import { siteOf } from '../feeds/own-feeds.ts';
import { asking, follows, type ListedFollow } from '../follows/follow-store.ts';
import { hasFullTexts } from '../full-text/fetch-full-text.ts';
import { fullTexts } from '../full-text/full-text-store.ts';
import { withFullText } from '../full-text/show-full-text.ts';
import { recordReading } from '../hub/disk-reserve.ts';
import type { Hub } from '../hub/hub.ts';
import { titleOf } from '../posts/post-views.ts';
import { fittingContents } from '../posts/query-posts.ts';
import { arrivals, type AppPost } from '../reading/arrival-store.ts';
import { manySources } from '../sources/source-store.ts';
import { longId } from './item-ids.ts';
import type { AppRequest } from './reader-request.ts';
import { feedStream, folderStream, stateStream } from './streams.ts';

/** Number of posts with short contents that one query reads for an answer: 64 posts of 1 kB take about 0.5 ms. */
const AT_ONCE = 64;

type Origin = { streamId: string; title: string; htmlUrl: string };

type Shared = {
  hub: Hub; followed: Map<number, ListedFollow>; origins: Map<number, Origin>; sign: (path: string) => string;
};

export type AppItem = ReturnType<typeof itemOf>;

/**
 * Yields posts as items, a few at a time, only those of followed sources that the viewer may see. Throws when the app
 * password has ended, because a slow reader can make the answer last for hours.
 */
export function* itemBatches(hub: Hub, { viewer, recheck }: AppRequest, ids: number[]): Generator<AppItem[]> {
  const followed = new Map(follows(hub).listed(viewer).map((follow) => [follow.sourceId, follow]));
  const shared: Shared = { hub, followed, origins: new Map(), sign: createAddressSigner(hub, viewer) };
  for (const batch of batchesOf(hub, ids)) {
    recheck();
    const posts = arrivals(hub).whole(asking(viewer), batch);
    if (posts.length === 0) continue;
    addOrigins(shared, posts);
    const files = Map.groupBy(attachments(hub).ofPosts(batch), ({ postId }) => postId);
    const withText = fullTextsOf(hub, batch);
    if (withText.size > 0) recordReading(hub, () => fullTexts(hub).noteUse([...withText.keys()], DAY));
    yield posts.map((post) => {
      const whole = { ...post, attachments: files.get(post.id) ?? [] };
      const text = withText.has(post.id) ? fullTexts(hub).contentOf(post.id) : undefined;
      return itemOf(shared, text === undefined ? whole : withFullText(whole, text));
    });
  }
}

/** The ids of existing posts in batches; the hub holds all contents of one batch in memory at the same time. */
function* batchesOf(hub: Hub, ids: number[]): Generator<number[]> {
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    let sizes = sizesForApps(hub, ids.slice(start, start + AT_ONCE));
    while (sizes.length > 0) {
      const fitting = fittingContents(hub, sizes);
      yield sizes.slice(0, fitting).map(({ id }) => id);
      sizes = sizes.slice(fitting);
    }
  }
}

function fullTextsOf(hub: Hub, ids: number[]): Map<number, number> {
  return hasFullTexts(hub) ? fullTexts(hub).sizesForApps(ids) : new Map();
}

/** The sizes of the contents that apps get: of the full text if the source always has full texts. */
export function sizesForApps(hub: Hub, ids: number[]): { id: number; contentBytes: number }[] {
  const sizes = fullTextsOf(hub, ids);
  return arrivals(hub).sizesOf(ids)
    .map(({ id, contentBytes }) => ({ id, contentBytes: sizes.get(id) ?? contentBytes }));
}

function addOrigins({ hub, followed, origins }: Shared, posts: AppPost[]): void {
  const missing = new Set(posts.map(({ sourceId }) => sourceId).filter((id) => !origins.has(id)));
  if (missing.size === 0) return;
  for (const source of manySources(hub).among([...missing])) {
    const title = followed.get(source.id)?.title ?? source.title;
    origins.set(source.id, { streamId: feedStream(source.id), title, htmlUrl: siteOf(hub, source) });
  }
}

/** A post as JSON for apps. Members that some app needs are always there, even if they repeat other members. */
function itemOf({ hub, followed, origins, sign }: Shared, post: AppPost & { attachments: Attachment[] }) {
  const { id, sourceId, author, publishedAt, updatedAt, createdAt, attachments: files } = post;
  const { baseUrl } = hub.config;
  const href = post.url ?? `${baseUrl}/posts/${id}`;
  const content = contentWithImages(hub, post, baseUrl, () => undefined, sign);
  const enclosure = listedAttachments(files).flatMap((file) => enclosureOf(hub, file, sign));
  return {
    id: longId(id),
    crawlTimeMsec: String(createdAt),
    timestampUsec: `${createdAt}000`,
    published: secondOf(publishedAt),
    updated: secondOf(updatedAt),
    title: titleOf(post).title,
    author: author ?? '',
    canonical: [{ href }],
    alternate: [{ href, type: 'text/html' }],
    summary: { direction: 'ltr', content },
    categories: itemCategories(followed.get(sourceId)?.folder ?? null, post),
    origin: origins.get(sourceId),
    enclosure: enclosure.length > 0 ? enclosure : undefined,
  };
}

/** RSS Guard loses all posts of a batch with a negative time, such as 1 January 1970 east of Greenwich. */
function secondOf(at: number): number {
  return Math.max(0, Math.floor(at / SECOND));
}

function itemCategories(folder: string | null, { isRead, isStarred }: AppPost): string[] {
  return [
    stateStream('reading-list'), ...(isRead === 1 ? [stateStream('read')] : []),
    ...(isStarred === 1 ? [stateStream('starred')] : []), folderStream(folder),
  ];
}

/** Leaves out images of which the hub keeps no copy: apps load images unasked, so publishers would learn who reads. */
function enclosureOf(hub: Hub, file: Attachment, sign: (path: string) => string) {
  const path = attachmentPath(hub, file);
  const { mediaType, bytes, remoteUrl } = file;
  const isHidden = path === null && mediaType?.startsWith('image/');
  const href = path === null ? remoteUrl : hub.config.baseUrl + sign(path);
  return href === null || isHidden ? [] : [{ href, type: mediaType ?? 'application/octet-stream', length: bytes ?? 0 }];
}
