import { readForm } from '../../platform/http/body.ts';
import type { Html } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError, page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { isSyncing } from '../feeds/sync-source.ts';
import { sourceIcons } from '../attachments/icon-store.ts';
import { sourceIcon } from '../attachments/icon-views.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { sourcePosts } from '../reading/list-pages.ts';
import { manageableSource, mayManage, maySee, visibleSource, type Source } from '../sources/source-store.ts';
import { webhookUrl } from '../webhooks/manage-webhooks.ts';
import { newWebhookPage, webhookPanel } from '../webhooks/webhook-pages.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import { addSource } from './add-source.ts';
import { changeSource, transferSource } from './change-source.ts';
import { importOpml, OPML_LIMIT } from './opml.ts';
import { sourcesAfter } from './source-routes.ts';
import {
  confirmDeletePage, importedPage, sourcePage, sourcesPage, transferPage, type AddForm,
} from './source-views.ts';

const SOURCES_PER_PAGE = 100;

/** Bytes; what the API takes, with room for the percent signs that a form puts in. */
const OPML_FORM_LIMIT = 3 * OPML_LIMIT;

export function showSources(hub: Hub, req: HubRequest): Reply {
  return page(listing(hub, req.viewer, req.query, {}));
}

function listing(hub: Hub, viewer: Viewer | null, query: URLSearchParams, form: AddForm): Page {
  return sourcesPage({ ...sourcesAfter(hub, viewer, query, SOURCES_PER_PAGE), viewer, form });
}

export async function submitSource(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  try {
    const { source, webhook } = await addSource(hub, { kind: 'feed', ...withPassword(values) }, req);
    if (webhook) return page(newWebhookPage(source, webhook), 201, { 'cache-control': 'no-store' });
    return seeOther(`/sources/${source.id}`);
  } catch (problem) {
    return listingAgain(hub, req, problem, { values });
  }
}

/** What a form says of a feed's password: nothing where its fields are empty. With one a feed is private. */
function withPassword({ username, password, ...values }: Record<string, string>): Record<string, string> {
  return username || password ? { ...values, username: username ?? '', password: password ?? '', visibility: 'private' }
    : values;
}

export async function submitOpml(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { opml = '' } = await readForm(req, OPML_FORM_LIMIT);
  try {
    return page(importedPage(await importOpml(hub, opml, req)));
  } catch (problem) {
    return listingAgain(hub, req, problem, { opml });
  }
}

function listingAgain(hub: Hub, req: MemberRequest, problem: unknown, form: AddForm): Reply {
  if (!(problem instanceof HttpError) || problem.status === 401) throw problem;
  return page(listing(hub, req.viewer, new URLSearchParams(), { ...form, problem }), problem.status, problem.headers);
}

export function showSource(hub: Hub, req: HubRequest): Reply {
  return page(detail(hub, visibleSource(hub, pathId(req.params), req.viewer), req));
}

function detail(hub: Hub, source: Source, req: HubRequest, problem?: HttpError): Page {
  const mayChange = mayManage(source, req.viewer);
  const isFetching = mayChange && isSyncing(hub, source.id);
  const empty = isFetching ? 'The first posts are being fetched.' : 'There are no posts here yet.';
  return sourcePage({
    source, mayChange, problem, icon: sourceIcon(hub, source), iconIs: iconState(hub, source),
    ...sourcePosts(hub, req, source.id, empty),
    isFollowed: req.viewer && follows(hub).isFollowed(req.viewer.id, source.id),
    isSyncing: isFetching,
    webhook: mayChange ? webhookOf(hub, source) : null,
  });
}

function iconState(hub: Hub, { id, kind }: Source): 'there' | 'cleared' | 'none' {
  if (sourceIcons(hub).hashOf(id) !== undefined) return 'there';
  return kind === 'feed' && sourceIcons(hub).isCleared(id) ? 'cleared' : 'none';
}

function webhookOf(hub: Hub, { id, kind }: Source): Html | null {
  const webhook = kind === 'webhook' ? webhooks(hub).find(id) : undefined;
  return webhook ? webhookPanel(webhook, webhookUrl(hub, id)) : null;
}

export async function submitSourceChange(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  const { title, visibility, username, password, forget } = withPassword(await readForm(req));
  const forgotten = forget ? { username: null, password: null } : {};
  try {
    await changeSource(hub, id, { title, visibility, username, password, ...forgotten }, req);
    return seeOther(`/sources/${id}`);
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.status !== 422) throw problem;
    return page(detail(hub, visibleSource(hub, id, req.viewer), req, problem), problem.status);
  }
}

export async function pauseSource(hub: Hub, req: MemberRequest): Promise<void> {
  await changeSource(hub, pathId(req.params), { paused: true }, req);
}

export async function resumeSource(hub: Hub, req: MemberRequest): Promise<void> {
  await changeSource(hub, pathId(req.params), { paused: false }, req);
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
    const source = await transferSource(hub, id, values, req);
    return seeOther(maySee(source, req.viewer) ? `/sources/${id}` : '/sources');
  } catch (problem) {
    if (!(problem instanceof HttpError) || ![409, 422].includes(problem.status)) throw problem;
    return page(transferPage(manageableSource(hub, id, req.viewer), { values, problem }), problem.status);
  }
}
