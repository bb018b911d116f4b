import { readForm } from '../../platform/http/body.ts';
import type { Html } from '../../platform/http/html.ts';
import { cursorOf, pageOf, pathId, readCursor } from '../../platform/http/input.ts';
import { HttpError, page, type Page, type Reply, seeOther } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import { isSyncing } from '../feeds/sync-source.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { sourcePostList } from '../posts/post-pages.ts';
import { manageableSource, mayManage, maySee, sources, visibleSource, type Source } from '../sources/source-store.ts';
import { webhookUrl } from '../webhooks/manage-webhooks.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import { newWebhookPage, webhookPanel } from '../webhooks/webhook-views.ts';
import { addSource } from './add-source.ts';
import { changeSource, transferSource } from './change-source.ts';
import { importOpml, OPML_LIMIT } from './opml.ts';
import {
  confirmDeletePage, importedPage, sourcePage, sourcesPage, transferPage, type AddForm,
} from './source-views.ts';

const SOURCES_PER_PAGE = 100;

/** Bytes; what the API takes, with room for the percent signs that a form puts in. */
const OPML_FORM_LIMIT = 3 * OPML_LIMIT;

export function showSources(hub: Hub, req: HubRequest): Reply {
  const [after = 0] = readCursor(req.query, 1) ?? [];
  return page(listing(hub, req.viewer, after, {}));
}

function listing(hub: Hub, viewer: Viewer | null, after: number, form: AddForm): Page {
  const rows = sources(hub).list(viewer, after, SOURCES_PER_PAGE + 1);
  return sourcesPage({ ...pageOf(rows, SOURCES_PER_PAGE, (last) => cursorOf(last.id)), viewer, form });
}

export async function submitSource(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  try {
    const { source, webhook } = await addSource(hub, { kind: 'feed', ...values }, req.viewer, actorOf(req));
    if (webhook) return page(newWebhookPage(source, webhook), 201, { 'cache-control': 'no-store' });
    return seeOther(`/sources/${source.id}`);
  } catch (problem) {
    return listingAgain(hub, req, problem, { values });
  }
}

export async function submitOpml(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { opml = '' } = await readForm(req, OPML_FORM_LIMIT);
  try {
    return page(importedPage(importOpml(hub, opml, req.viewer, actorOf(req))));
  } catch (problem) {
    return listingAgain(hub, req, problem, { opml });
  }
}

function listingAgain(hub: Hub, req: MemberRequest, problem: unknown, form: AddForm): Reply {
  if (!(problem instanceof HttpError) || problem.status === 401) throw problem;
  return page(listing(hub, req.viewer, 0, { ...form, problem }), problem.status, problem.headers);
}

export function showSource(hub: Hub, req: HubRequest): Reply {
  return page(detail(hub, visibleSource(hub, pathId(req.params), req.viewer), req));
}

function detail(hub: Hub, source: Source, req: HubRequest, problem?: HttpError): Page {
  const mayChange = mayManage(source, req.viewer);
  return sourcePage({
    source, mayChange, problem,
    ...sourcePostList(hub, req, source.id),
    isFollowed: req.viewer && follows(hub).isFollowed(req.viewer.id, source.id),
    isSyncing: mayChange && isSyncing(hub, source.id),
    webhook: mayChange ? webhookOf(hub, source) : null,
  });
}

function webhookOf(hub: Hub, { id, kind }: Source): Html | null {
  const webhook = kind === 'webhook' ? webhooks(hub).find(id) : undefined;
  return webhook ? webhookPanel(webhook, webhookUrl(hub, id)) : null;
}

export async function submitSourceChange(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  const { title, visibility } = await readForm(req);
  try {
    changeSource(hub, id, { title, visibility }, req.viewer, actorOf(req));
    return seeOther(`/sources/${id}`);
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.status !== 422) throw problem;
    return page(detail(hub, visibleSource(hub, id, req.viewer), req, problem), problem.status);
  }
}

export function submitPause(hub: Hub, req: MemberRequest): Reply {
  return setPaused(hub, req, true);
}

export function submitResume(hub: Hub, req: MemberRequest): Reply {
  return setPaused(hub, req, false);
}

function setPaused(hub: Hub, req: MemberRequest, paused: boolean): Reply {
  const source = changeSource(hub, pathId(req.params), { paused }, req.viewer, actorOf(req));
  return seeOther(`/sources/${source.id}`);
}

export function showDeleteSource(hub: Hub, req: MemberRequest): Reply {
  return page(confirmDeletePage(manageableSource(hub, pathId(req.params), req.viewer)));
}

export function showTransfer(hub: Hub, req: MemberRequest): Reply {
  return page(transferPage(manageableSource(hub, pathId(req.params), req.viewer), {}));
}

export async function submitTransfer(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  const id = pathId(req.params);
  try {
    const source = transferSource(hub, id, values, req.viewer, actorOf(req));
    return seeOther(maySee(source, req.viewer) ? `/sources/${id}` : '/sources');
  } catch (problem) {
    if (!(problem instanceof HttpError) || ![409, 422].includes(problem.status)) throw problem;
    return page(transferPage(manageableSource(hub, id, req.viewer), { values, problem }), problem.status);
  }
}
