import { json, type Reply } from '../../platform/http/reply.ts';
import { createAddressSigner } from '../accounts/signed-address-store.ts';
import { iconPaths } from '../attachments/icon-views.ts';
import { ownFeedUrl, siteOf } from '../feeds/own-feeds.ts';
import { asking, follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { arrivals } from '../reading/arrival-store.ts';
import { COUNT_MAX } from '../reading/list-store.ts';
import { countedSources } from '../reading/reading-counts.ts';
import { manySources, mayManage } from '../sources/source-store.ts';
import type { AppRequest } from './reader-request.ts';
import { feedStream, labelStream, stateStream } from './streams.ts';

/** GET tag/list: the starred state, and the folders of followed sources; apps look up each folder in tag/list. */
export function listTags(hub: Hub, { viewer }: AppRequest): Reply {
  const folders = new Set(follows(hub).listed(viewer).flatMap(({ folder }) => folder ?? []));
  const labels = [...folders].sort().map((name) => ({ id: labelStream(name), type: 'folder' }));
  return json({ tags: [{ id: stateStream('starred') }, ...labels] });
}

/** GET subscription/list: the followed sources that the viewer may see. */
export function listSubscriptions(hub: Hub, { viewer }: AppRequest): Reply {
  const followed = new Map(follows(hub).listed(viewer).map((follow) => [follow.sourceId, follow]));
  const icons = iconPaths(hub, [...followed.keys()]);
  const sign = createAddressSigner(hub, viewer);
  const subscriptions = manySources(hub).among([...followed.keys()]).map((source) => {
    const icon = icons.get(source.id);
    const { title, folder } = followed.get(source.id) ?? { title: source.title, folder: null };
    return {
      id: feedStream(source.id),
      title: title || feedStream(source.id),
      categories: folderCategories(folder),
      // The feed's own address may hold a secret: only members who manage the source get this address.
      url: mayManage(source, viewer) && source.feedUrl !== null ? source.feedUrl : ownFeedUrl(hub, source.id),
      htmlUrl: siteOf(hub, source),
      ...(icon !== undefined && { iconUrl: hub.config.baseUrl + sign(icon) }),
    };
  });
  return json({ subscriptions });
}

function folderCategories(folder: string | null): { id: string; label: string }[] {
  return folder === null ? [] : [{ id: labelStream(folder), label: folder }];
}

type Count = { unread: number; newestAt: number };

/** GET unread-count: numbers of unread posts by source, by folder and in total; each number is at most COUNT_MAX. */
export function showUnreadCounts(hub: Hub, { viewer }: AppRequest): Reply {
  const newest = arrivals(hub).newestOf(asking(viewer));
  const counts = new Map<string, Count>();
  for (const { id, folder, unread: ofSource, later } of countedSources(hub, viewer)) {
    const streams: [stream: string, unread: number][] = [
      [feedStream(id), ofSource],
      ...(folder === null ? [] : [[labelStream(folder), ofSource - later.inFolder] as [string, number]]),
      [stateStream('reading-list'), ofSource - later.inApps],
    ];
    for (const [stream, unread] of streams) {
      const { unread: before, newestAt } = counts.get(stream) ?? { unread: 0, newestAt: 0 };
      counts.set(stream, { unread: before + unread, newestAt: Math.max(newestAt, newest.get(id) ?? 0) });
    }
  }
  const unreadcounts = [...counts].map(([id, { unread, newestAt }]) =>
    ({ id, count: Math.min(COUNT_MAX, unread), newestItemTimestampUsec: String(newestAt * 1_000) }));
  return json({ max: COUNT_MAX, unreadcounts });
}
