import { readBody } from '../../platform/http/body.ts';
import { HttpError, json, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { singleLine } from '../../platform/markup/tidy-text.ts';
import { nextTurn } from '../../platform/turns.ts';
import { follows, FOLDER_MAX } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { addSource } from '../manage-sources/add-source.ts';
import { importOpml, OPML_LIMIT } from '../manage-sources/import-opml.ts';
import { exportOpml } from '../manage-sources/opml.ts';
import { followSource, unfollowSource } from '../reading/follow-source.ts';
import { sources, TITLE_MAX } from '../sources/source-store.ts';
import { plain, type AppRequest } from './reader-request.ts';
import { feedStream, fewStreams, parseStream, sourceIdIn, sourceOfFeed } from './streams.ts';

/** The most sources or folders that one request may change. */
const CHANGED_MAX = 100;

/** The visibility of added sources: an app cannot ask the member whether the hub may publish the posts of the feed. */
const ADDED = 'private';

/** POST subscription/quickadd: adds the feed at an address, or follows the hub's source of the feed. */
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

/** POST subscription/edit: follows, unfollows, names or moves the sources `s`. The folder is the label in `a`. */
export async function editSubscriptions(hub: Hub, request: AppRequest): Promise<Reply> {
  const { values } = request;
  const act = values.get('ac') ?? 'edit';
  if (!['subscribe', 'unsubscribe', 'edit'].includes(act)) throw new HttpError(400, 'Unknown act.');
  const folder = readFolder(values);
  const title = readTitle(values);
  for (const text of fewStreams(values, 's', CHANGED_MAX)) {
    await nextTurn();
    const stream = parseStream(text);
    if (!stream || !('feed' in stream)) throw new HttpError(400, 'Unknown stream.');
    const known = sourceOfFeed(hub, follows(hub).listed(request.viewer), stream.feed);
    if (act === 'unsubscribe') {
      if (known !== undefined) unfollowSource(hub, request.viewer, known);
      continue;
    }
    if (act === 'edit' && known === undefined) throw new HttpError(400, 'Unknown stream.');
    const sourceId = known ?? await subscribe(hub, request, stream.feed);
    if (folder !== undefined || title !== undefined) followSource(hub, request.viewer, sourceId, { folder, title });
  }
  return plain();
}

/** Follows the source that an id or an address names, and returns its id. The viewer may have the feed already. */
async function subscribe(hub: Hub, request: AppRequest, feed: string): Promise<number> {
  const { viewer } = request;
  const known = sourceIdIn(hub, feed) ?? sourceOfFeed(hub, follows(hub).listed(viewer), feed)
    ?? sources(hub).idOfFeed(feed, viewer.id);
  if (known !== undefined) {
    followSource(hub, viewer, known);
    return known;
  }
  try {
    return (await addSource(hub, { kind: 'feed', url: feed, visibility: ADDED }, request)).source.id;
  } catch (error) {
    const owned = error instanceof HttpError && error.status === 409 ? error.members['sourceId'] : undefined;
    if (typeof owned !== 'number') throw error;
    followSource(hub, viewer, owned);
    return owned;
  }
}

/** The member's own name for a source, which `t` gives; undefined without a name. Status 400 for a bad name. */
function readTitle(values: URLSearchParams): string | undefined {
  const title = singleLine(values.get('t') ?? '');
  if (title.length > TITLE_MAX) throw new HttpError(400, `A name must have at most ${TITLE_MAX} characters.`);
  return title || undefined;
}

/** The folder that `a` names; null if `r` alone names a folder; undefined if the folder stays. Status 400: bad name. */
function readFolder(values: URLSearchParams): string | null | undefined {
  const [added] = labelsIn(values.getAll('a'));
  if (added === undefined) return labelsIn(values.getAll('r')).length > 0 ? null : undefined;
  return requireFolderName(added);
}

function labelsIn(streams: string[]): string[] {
  return streams.flatMap((text) => {
    const stream = parseStream(text);
    return stream && 'label' in stream ? stream.label : [];
  });
}

function requireFolderName(name: string): string {
  const trimmed = name.trim();
  if (trimmed !== '' && trimmed.length <= FOLDER_MAX && !/[\u0000-\u001f\u007f]/.test(trimmed)) return trimmed;
  throw new HttpError(400, `The name of a folder must have 1 to ${FOLDER_MAX} characters.`);
}

/** POST rename-tag: renames the folder `s` to `dest`, which may exist already. Status 400 for an unknown folder. */
export function renameTag(hub: Hub, { viewer, values }: AppRequest): Reply {
  const [[from], [to]] = ['s', 'dest'].map((name) => labelsIn(values.getAll(name))) as [string[], string[]];
  if (from === undefined || to === undefined || !follows(hub).hasFolder(viewer.id, from)) {
    throw new HttpError(400, 'Unknown folder.');
  }
  const name = requireFolderName(to);
  hub.db.write('rename folder of app', () => follows(hub).moveFolder(viewer.id, from, name));
  return plain();
}

/** POST disable-tag: deletes the folders `s`; their sources stay in the list. Unknown folders count as deleted. */
export function disableTags(hub: Hub, { viewer, values }: AppRequest): Reply {
  const names = labelsIn(fewStreams(values, 's', CHANGED_MAX));
  hub.db.write('delete folders of app', () => {
    for (const name of names) follows(hub).moveFolder(viewer.id, name, null);
  });
  return plain();
}

/** GET subscription/export: the viewer's feeds as OPML. */
export function exportSubscriptions(hub: Hub, { viewer }: AppRequest): Reply {
  const headers = { 'content-type': 'text/x-opml; charset=utf-8', 'cache-control': 'no-store' };
  return { status: 200, headers, body: exportOpml(hub, viewer.id) };
}

/** POST subscription/import: adds the feeds of the OPML document in the body. */
export async function importSubscriptions(hub: Hub, request: MemberRequest): Promise<Reply> {
  const document = decodeText(await readBody(request, OPML_LIMIT), request.headers['content-type'] ?? '');
  await importOpml(hub, document, ADDED, request);
  return plain();
}
