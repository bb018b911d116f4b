import type { Clock } from '../../platform/clock.ts';
import { readBody, readJson } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, noContent, text, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route, type Viewer } from '../../platform/http/router.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { actorOf } from '../audit/audit.ts';
import type { AddingSources } from './add-source.ts';
import type { ChangingSources } from './change-source.ts';
import { OPML_LIMIT, type ImportOpml } from './import-opml.ts';
import { writeOpml } from './opml.ts';
import { sourceJson, type FollowedAmong } from './source-json.ts';
import { mayManage } from './source-access.ts';
import type { Source, SourceStore } from './source-store.ts';

const OPML_TYPES = /^(text\/x-opml(\+xml)?|application\/xml|text\/xml|application\/octet-stream)\b/i;
const EXPORT_BATCH = 1_000;

type Deps = {
  sources: SourceStore;
  adding: AddingSources;
  changing: ChangingSources;
  importOpml: ImportOpml;
  followedAmong: FollowedAmong;
  baseUrl: string;
  clock: Clock;
};

export function sourceRoutes({ sources, adding, changing, importOpml, followedAmong, baseUrl, clock }: Deps): Route[] {
  return [
    route('GET /api/sources', 'public', 'Public sources, and your own; with whether you follow each', listSources),
    route('POST /api/sources', 'member', 'Add a source', addSource),
    route('GET /api/sources.opml', 'member', 'Your feeds as OPML 2.0', exportOpml),
    route('POST /api/sources/import', 'member', 'Add the feeds of an OPML document', importSources),
    route('GET /api/sources/:id', 'public', 'One source; its owner also sees how its feed or webhook does', showSource),
    route('PATCH /api/sources/:id', 'member', 'Change title, visibility or paused', changeSource),
    route('DELETE /api/sources/:id', 'member', 'Delete a source with its posts', deleteSource),
    route('POST /api/sources/:id/sync', 'member', 'Synchronise now', syncSource),
  ];

  function listSources(req: HubRequest): Reply {
    const limit = readLimit(req.query);
    const [after = 0] = readCursor(req.query, 1) ?? [];
    const rows = sources.list(req.viewer, { ownedOnly: false, after, limit: limit + 1 });
    const { items, next } = pageOf(rows, limit, (last) => cursorOf(last.id));
    const followed = followedBy(req.viewer, items);
    const body = { items: items.map((source) => asJson(source, req.viewer, followed)), next };
    return json(body, 200, nextLink(req.path, req.query, next));
  }

  async function addSource(req: MemberRequest): Promise<Reply> {
    const { source, webhook } = await adding.add(await readJson(req), req.viewer, actorOf(req));
    const shown = asJson(source, req.viewer);
    const body = webhook ? { ...shown, webhook: { ...shown.webhook, ...webhook } } : shown;
    const noStore = webhook ? { 'cache-control': 'no-store' } : {};
    return json(body, 201, { location: `${baseUrl}/api/sources/${source.id}`, ...noStore });
  }

  function showSource(req: HubRequest): Reply {
    return json(asJson(changing.visible(pathId(req.params), req.viewer), req.viewer));
  }

  async function changeSource(req: MemberRequest): Promise<Reply> {
    const id = pathId(req.params);
    return json(asJson(changing.change(id, await readJson(req), req.viewer, actorOf(req)), req.viewer));
  }

  function deleteSource(req: MemberRequest): Reply {
    changing.delete(pathId(req.params), req.viewer, actorOf(req));
    return noContent();
  }

  function syncSource(req: MemberRequest): Reply {
    return json(asJson(changing.syncNow(pathId(req.params), req.viewer), req.viewer), 202);
  }

  function exportOpml(req: MemberRequest): Reply {
    const feeds = ownSources(req.viewer).filter(({ kind }) => kind === 'feed');
    const headers = { 'content-disposition': 'attachment; filename="content-hub.opml"' };
    return text(writeOpml(feeds, clock()), 'text/x-opml; charset=utf-8', headers);
  }

  function ownSources(viewer: Viewer): Source[] {
    const all: Source[] = [];
    for (let rows: Source[] = []; ; all.push(...rows)) {
      rows = sources.list(viewer, { ownedOnly: true, after: all.at(-1)?.id ?? 0, limit: EXPORT_BATCH });
      if (rows.length === 0) return all;
    }
  }

  async function importSources(req: MemberRequest): Promise<Reply> {
    const contentType = req.headers['content-type'] ?? '';
    if (!OPML_TYPES.test(contentType)) {
      throw new HttpError(415, 'The body must be an OPML document, as text/x-opml or application/xml.');
    }
    const document = decodeText(await readBody(req, OPML_LIMIT), contentType);
    return json(importOpml(document, req.viewer, actorOf(req)));
  }

  function followedBy(viewer: Viewer | null, all: Source[]): Set<number> | null {
    return viewer && followedAmong(viewer, all.map(({ id }) => id));
  }

  function asJson(source: Source, viewer: Viewer | null, followed = followedBy(viewer, [source])) {
    return sourceJson(source, { isOwner: mayManage(source, viewer), isFollowed: followed && followed.has(source.id) });
  }
}
