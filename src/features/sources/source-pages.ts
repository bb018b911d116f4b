import { readForm } from '../../platform/http/body.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { pathId } from '../../platform/http/input.ts';
import { cursorOf, pageOf, readCursor } from '../../platform/http/paging.ts';
import { page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route, type Viewer } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { Html } from '../../platform/http/html.ts';
import type { AddingSources, WebhookAccess } from './add-source.ts';
import type { ChangingSources } from './change-source.ts';
import { OPML_LIMIT, type ImportOpml } from './import-opml.ts';
import { mayManage } from './source-access.ts';
import type { Source, SourceStore } from './source-store.ts';
import { confirmDeletePage, importedPage, sourcePage, sourcesPage, type AddForm } from './source-views.ts';

const SOURCES_PER_PAGE = 100;

/** Bytes; what the API takes, with room for the percent signs that a form puts in. */
const OPML_FORM_LIMIT = 3 * OPML_LIMIT;

/** Posts of the source as they stand on its page, with the cursor of the next ones; given by app. */
export type PostsOfSource = (req: HubRequest, sourceId: number) => { list: Html | null; next: string | null };

/** What pages show of a webhook; given by app. */
export type WebhookViews = {
  /** For its owner, on the source's page. */
  panel(sourceId: number): Html | null;
  /** The answer to its making, which shows the secret. */
  created(source: Source, access: WebhookAccess): Page;
};

type Deps = {
  sources: SourceStore;
  adding: AddingSources;
  changing: ChangingSources;
  importOpml: ImportOpml;
  postsOfSource: PostsOfSource;
  webhookViews: WebhookViews;
  /** Whether a job for the source waits or runs. */
  isSyncing(sourceId: number): boolean;
  /** Whether the viewer hears of new posts of the source; given by app. */
  isFollowed(viewer: Viewer, sourceId: number): boolean;
};

export function sourcePages(deps: Deps): Route[] {
  const { sources, adding, changing, importOpml, postsOfSource, webhookViews, isSyncing, isFollowed } = deps;
  return [
    route('GET /sources', 'public', 'Page: sources, and adding one', showSources),
    route('POST /sources', 'member', 'Form: add a source', addSource),
    route('POST /sources/import', 'member', 'Form: add the feeds of an OPML document', importSources),
    route('GET /sources/:id', 'public', 'Page: one source with its posts', showSource),
    route('POST /sources/:id', 'member', 'Form: change title and visibility', changeSource),
    route('POST /sources/:id/pause', 'member', 'Form: pause', (req) => setPaused(req, true)),
    route('POST /sources/:id/resume', 'member', 'Form: resume', (req) => setPaused(req, false)),
    route('POST /sources/:id/sync', 'member', 'Form: synchronise now', syncSource),
    route('GET /sources/:id/delete', 'member', 'Page: really delete this source?', askDelete),
    route('POST /sources/:id/delete', 'member', 'Form: delete a source', deleteSource),
  ];

  function showSources(req: HubRequest): Reply {
    const [after = 0] = readCursor(req.query, 1) ?? [];
    return page(listing(req.viewer, after, {}));
  }

  function listing(viewer: Viewer | null, after: number, form: AddForm) {
    const rows = sources.list(viewer, { ownedOnly: false, after, limit: SOURCES_PER_PAGE + 1 });
    return sourcesPage({ ...pageOf(rows, SOURCES_PER_PAGE, (last) => cursorOf(last.id)), viewer, form });
  }

  async function addSource(req: MemberRequest): Promise<Reply> {
    const values = await readForm(req);
    try {
      const { source, webhook } = await adding.add({ kind: 'feed', ...values }, req.viewer, actorOf(req));
      if (webhook) return page(webhookViews.created(source, webhook), 201, { 'cache-control': 'no-store' });
      return seeOther(`/sources/${source.id}`);
    } catch (problem) {
      return formAgain(req, problem, { values });
    }
  }

  async function importSources(req: MemberRequest): Promise<Reply> {
    const values = await readForm(req, OPML_FORM_LIMIT);
    try {
      return page(importedPage(importOpml(values['opml'] ?? '', req.viewer, actorOf(req))));
    } catch (problem) {
      return formAgain(req, problem, { opml: values['opml'] ?? '' });
    }
  }

  function formAgain(req: MemberRequest, problem: unknown, form: AddForm): Reply {
    if (!(problem instanceof HttpError) || problem.status === 401) throw problem;
    return page(listing(req.viewer, 0, { ...form, problem }), problem.status, problem.headers);
  }

  function showSource(req: HubRequest): Reply {
    return page(detail(changing.visible(pathId(req.params), req.viewer), req));
  }

  function detail(source: Source, req: HubRequest, problem?: HttpError) {
    const { list, next } = postsOfSource(req, source.id);
    const mayChange = mayManage(source, req.viewer);
    const webhook = mayChange && source.kind === 'webhook' ? webhookViews.panel(source.id) : null;
    const isUnderWay = mayChange && isSyncing(source.id);
    const isFollowedByViewer = req.viewer && isFollowed(req.viewer, source.id);
    return sourcePage({
      source, posts: list, next, mayChange, isFollowed: isFollowedByViewer, isSyncing: isUnderWay, webhook, problem,
    });
  }

  async function changeSource(req: MemberRequest): Promise<Reply> {
    const id = pathId(req.params);
    const { title, visibility } = await readForm(req);
    try {
      changing.change(id, { title, visibility }, req.viewer, actorOf(req));
      return seeOther(`/sources/${id}`);
    } catch (problem) {
      if (!(problem instanceof HttpError) || problem.status !== 422) throw problem;
      return page(detail(changing.visible(id, req.viewer), req, problem), problem.status);
    }
  }

  function setPaused(req: MemberRequest, paused: boolean): Reply {
    const source = changing.change(pathId(req.params), { paused }, req.viewer, actorOf(req));
    return seeOther(`/sources/${source.id}`);
  }

  function syncSource(req: MemberRequest): Reply {
    return seeOther(`/sources/${changing.syncNow(pathId(req.params), req.viewer).id}`);
  }

  function askDelete(req: MemberRequest): Reply {
    return page(confirmDeletePage(changing.manageable(pathId(req.params), req.viewer)));
  }

  function deleteSource(req: MemberRequest): Reply {
    changing.delete(pathId(req.params), req.viewer, actorOf(req));
    return seeOther('/sources');
  }
}
