import { readBody } from '../../platform/http/body.ts';
import { readGiven } from '../../platform/http/fields.ts';
import { parseId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { decodingText } from '../../platform/markup/decode-text.ts';
import { inSteps } from '../../platform/markup/in-steps.ts';
import { singleLine } from '../../platform/markup/tidy-text.ts';
import { nextTurn } from '../../platform/turns.ts';
import { createAddressSigner } from '../accounts/signed-address-store.ts';
import { iconPaths } from '../attachments/icon-views.ts';
import { ownFeedId, ownFeedUrl, siteOf } from '../feeds/own-feeds.ts';
import { asking, follows, type FollowChange } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { addSource } from '../manage-sources/add-source.ts';
import { importOpml, OPML_LIMIT } from '../manage-sources/import-opml.ts';
import { readNewSource } from '../manage-sources/source-fields.ts';
import { exportOpml } from '../manage-sources/opml.ts';
import { arrivals } from '../reading/arrival-store.ts';
import { FOLLOW_FIELDS, followSource, unfollowSource } from '../reading/follow-source.ts';
import { countedSources } from '../reading/reading-counts.ts';
import { renameFolder } from '../rules/change-rule.ts';
import { mayManage, sources } from '../sources/source-store.ts';
import { plain, type AppRequest } from './reader-request.ts';
import {
  feedStream, fewStreams, folderStream, NO_FOLDER, parseStream, sourceOfFeed, stateStream,
} from './streams.ts';

const CHANGED_MAX = 100;

/** POST subscription/quickadd: adds the feed at an address, or follows the source that the hub has of the feed. */
export async function quickAdd(hub: Hub, request: AppRequest): Promise<Reply> {
  const query = (request.values.get('quickadd') ?? '').trim();
  try {
    const sourceId = await subscribe(hub, request, query.replace(/^(?:feed\/)+/, ''));
    const streamName = sources(hub).find(sourceId)?.title ?? query;
    return json({ numResults: 1, query, streamId: feedStream(sourceId), streamName });
  } catch (error) {
    const isAboutFeed = error instanceof HttpError && [404, 422].includes(error.status);
    if (!isAboutFeed) throw error;
    return json({ numResults: 0, query, error: error.message });
  }
}

/** POST subscription/edit: follows, unfollows, names or moves the sources `s`, to the folder with the label `a`. */
export async function editSubscriptions(hub: Hub, request: AppRequest): Promise<Reply> {
  const { values } = request;
  const act = values.get('ac') ?? 'edit';
  if (!['subscribe', 'unsubscribe', 'edit'].includes(act)) {
    throw new HttpError(400, 'ac must be subscribe, unsubscribe or edit.');
  }
  const { title, folder } = readAppFollow(hub, request);
  const followed = follows(hub).listed(request.viewer);
  for (const text of fewStreams(values, 's', CHANGED_MAX)) {
    await nextTurn();
    const stream = parseStream(text);
    if (!stream || !('source' in stream)) {
      throw new HttpError(400, 's must be feed/ and the id or address of a source.');
    }
    const known = sourceOfFeed(hub, followed, stream.source);
    if (act === 'unsubscribe') {
      if (known !== undefined) unfollowSource(hub, request.viewer, known);
      continue;
    }
    if (act === 'edit' && known === undefined) throw new HttpError(400, 'You do not follow this source.');
    const sourceId = known ?? await subscribe(hub, request, stream.source);
    if (folder !== undefined || title !== undefined) followSource(hub, request.viewer, sourceId, { folder, title });
  }
  return plain();
}

/** Follows the source that `feed` names by id or address; a new feed becomes a private source. Returns its id. */
async function subscribe(hub: Hub, request: AppRequest, feed: string): Promise<number> {
  const { viewer } = request;
  const known = parseId(feed) ?? ownFeedId(hub, feed) ?? sourceOfFeed(hub, follows(hub).listed(viewer), feed)
    ?? sources(hub).idOfFeed(feed, viewer.id);
  if (known !== undefined) {
    followSource(hub, viewer, known);
    return known;
  }
  try {
    const wanted = readNewSource({ kind: 'feed', url: feed, visibility: 'private' });
    return (await addSource(hub, wanted, request)).source.id;
  } catch (error) {
    const owned = error instanceof HttpError && error.status === 409 ? error.members['sourceId'] : undefined;
    if (typeof owned !== 'number') throw error;
    followSource(hub, viewer, owned);
    return owned;
  }
}

/** The name (`t`) and the folder (`a`, `r`) that an app gives a source. */
function readAppFollow(hub: Hub, { viewer, values }: AppRequest): FollowChange {
  const title = singleLine(values.get('t') ?? '') || undefined;
  const [label] = labelsIn(values.getAll('a'));
  const isRemoved = labelsIn(values.getAll('r')).some((name) => folderNamed(hub, viewer, name) !== null);
  const folder = label === undefined ? isRemoved ? null : undefined : folderNamed(hub, viewer, label);
  return readGiven(FOLLOW_FIELDS, { title, folder });
}

/** Null for the label of sources in no folder, unless the viewer has a folder of this name. */
function folderNamed(hub: Hub, { id }: Viewer, label: string): string | null {
  return label === NO_FOLDER && !follows(hub).hasFolder(id, label) ? null : label;
}

function labelsIn(streams: string[]): string[] {
  return streams.flatMap((text) => {
    const stream = parseStream(text);
    return stream && 'label' in stream ? stream.label : [];
  });
}

/** POST rename-tag: renames the folder `s` to `dest`; a folder `dest` may exist. Throws 400 for an unknown folder. */
export function renameTag(hub: Hub, { viewer, values }: AppRequest): Reply {
  const [from, to] = ['s', 'dest'].map((name) => labelsIn(values.getAll(name))[0]);
  if (from === undefined || to === undefined || !follows(hub).hasFolder(viewer.id, from)) {
    throw new HttpError(400, 'Unknown folder.');
  }
  const { folder = null } = readGiven(FOLLOW_FIELDS, { folder: folderNamed(hub, viewer, to) });
  renameFolder(hub, viewer.id, from, folder);
  return plain();
}

/** POST disable-tag: deletes the folders `s` of the reading list, if they exist; their sources stay. */
export function disableTags(hub: Hub, { viewer, values }: AppRequest): Reply {
  const names = labelsIn(fewStreams(values, 's', CHANGED_MAX));
  hub.db.write('delete folders of app', () => {
    for (const name of names) renameFolder(hub, viewer.id, name, null);
  });
  return plain();
}

/** GET subscription/export: the viewer's feeds as OPML. */
export function exportSubscriptions(hub: Hub, { viewer }: AppRequest): Reply {
  const headers = { 'content-type': 'text/x-opml; charset=utf-8', 'cache-control': 'no-store' };
  return { status: 200, headers, body: exportOpml(hub, viewer.id) };
}

/** POST subscription/import: adds the feeds of the OPML document in the body, new feeds as private sources. */
export async function importSubscriptions(hub: Hub, request: MemberRequest): Promise<Reply> {
  const body = await readBody(request, OPML_LIMIT);
  const document = await inSteps(decodingText(body, request.headers['content-type'] ?? ''));
  await importOpml(hub, document, 'private', request);
  return plain();
}

/** GET tag/list: the starred state, and the folders of followed sources; apps look up each folder here. */
export function listTags(hub: Hub, { viewer }: AppRequest): Reply {
  const labels = new Set(follows(hub).listed(viewer).map(({ folder }) => folderStream(folder)));
  const folders = [...labels].sort().map((id) => ({ id, type: 'folder' }));
  return json({ tags: [{ id: stateStream('starred') }, ...folders] });
}

/** GET subscription/list: the followed sources that the viewer may see. */
export function listSubscriptions(hub: Hub, { viewer }: AppRequest): Reply {
  const followed = follows(hub).subscriptions(viewer);
  const icons = iconPaths(hub, followed.map(({ id }) => id));
  const sign = createAddressSigner(hub, viewer);
  const subscriptions = followed.map((source) => {
    const { id, title, folder } = source;
    const icon = icons.get(id);
    return {
      id: feedStream(id),
      title: title || feedStream(id),
      categories: [{ id: folderStream(folder), label: folder ?? NO_FOLDER }],
      // The feed's own address may hold a secret: only members who manage the source get it.
      url: mayManage(source, viewer) && source.feedUrl !== null ? source.feedUrl : ownFeedUrl(hub, id),
      htmlUrl: siteOf(hub, source),
      ...(icon !== undefined && { iconUrl: hub.config.baseUrl + sign(icon) }),
    };
  });
  return json({ subscriptions });
}

/** GET unread-count: numbers of unread posts by source, by folder and in total. */
export function showUnreadCounts(hub: Hub, { viewer }: AppRequest): Reply {
  const [all, newest] = [stateStream('reading-list'), arrivals(hub).newestOf(asking(viewer))];
  const counts = new Map<string, { unread: number; newestAt: number }>();
  for (const { id, folder, unread: ofSource, later } of countedSources(hub, viewer)) {
    const streams: [stream: string, unread: number][] = [
      [feedStream(id), ofSource],
      [folderStream(folder), ofSource - later.inFolder],
      [all, ofSource - later.inApps],
    ];
    for (const [stream, unread] of streams) {
      const { unread: before, newestAt } = counts.get(stream) ?? { unread: 0, newestAt: 0 };
      counts.set(stream, { unread: before + unread, newestAt: Math.max(newestAt, newest.get(id) ?? 0) });
    }
  }
  const unreadcounts = [...counts].map(([id, { unread, newestAt }]) =>
    ({ id, count: unread, newestItemTimestampUsec: String(newestAt * 1_000) }));
  return json({ max: counts.get(all)?.unread ?? 0, unreadcounts });
}
