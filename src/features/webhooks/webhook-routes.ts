import { isoTime } from '../../platform/clock.ts';
import { readBody } from '../../platform/http/body.ts';
import { day, html, type Html, moment } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError, json, page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import { adminList } from '../hub/admin-list.ts';
import { bufferedCounts, type Hub } from '../hub/hub.ts';
import { manageableSource, sources } from '../sources/source-store.ts';
import { rotateSecret } from './manage-webhooks.ts';
import { receiveEvent, type IncomingEvent } from './receive-event.ts';
import { webhooks, type Webhook } from './webhook-store.ts';
import { rotatedSecretPage } from './webhook-views.ts';

const EVENT_LIMIT = 1024 * 1024; // bytes

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

const NO_STORE = { 'cache-control': 'no-store' };

/** API; the event is on the disk before the answer. */
export async function receiveWebhookEvent(hub: Hub, req: HubRequest): Promise<Reply> {
  try {
    await receiveEvent(hub, await readIncoming(req));
    return json({ accepted: true }, 202, NO_STORE);
  } catch (error) {
    const isRefusal = error instanceof HttpError && error.status < 500;
    if (isRefusal) bufferedCounts(hub).add('webhook_events_total', 'rejected');
    throw error;
  }
}

async function readIncoming(req: HubRequest): Promise<IncomingEvent> {
  const sourceId = pathId(req.params);
  if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) {
    throw new HttpError(415, 'An event must be application/json.', { headers: { accept: 'application/json' } });
  }
  const body = await readBody(req, EVENT_LIMIT);
  const headerType = req.headers['x-github-event'];
  const { rawHeaders } = req.stream;
  return { sourceId, body, rawHeaders, headerType: typeof headerType === 'string' ? headerType : null };
}

/** API: the new secret, shown this once. */
export function rotateWebhookSecret(hub: Hub, req: MemberRequest): Reply {
  const source = manageableSource(hub, pathId(req.params), req.viewer);
  return json({ webhook: rotateSecret(hub, source, actorOf(req)) }, 200, NO_STORE);
}

/** Form: a page with the new secret. */
export function submitRotateSecret(hub: Hub, req: MemberRequest): Reply {
  const source = manageableSource(hub, pathId(req.params), req.viewer);
  return page(rotatedSecretPage(source, rotateSecret(hub, source, actorOf(req))), 200, NO_STORE);
}

/** A webhook among all others, with its source's title and owner. */
type ListedWebhook = Webhook & { title: string; ownerId: number };

/** All webhooks and whether they are heard. Secrets are not read. */
export const webhookList = adminList<ListedWebhook, 'sourceId'>({
  name: 'webhooks',
  title: 'Webhooks',
  summary: 'Webhooks, and when each last received an event',
  key: ['sourceId'],
  select: (hub, after, limit) => webhooks(hub).list(after?.sourceId ?? 0, limit).map((webhook) => listed(hub, webhook)),
  toJson: webhookJson,
  view: table,
  empty: 'No webhooks.',
  more: 'More webhooks',
});

function listed(hub: Hub, webhook: Webhook): ListedWebhook {
  const source = sources(hub).find(webhook.sourceId);
  return { ...webhook, title: source?.title ?? '', ownerId: source?.ownerId ?? 0 };
}

function webhookJson({ sourceId, title, ownerId, state, ...at }: ListedWebhook) {
  return {
    source: { id: sourceId, title }, ownerId, state, lastEventAt: isoTime(at.lastEventAt),
    previousSecretUntil: isoTime(at.previousUntilAt), createdAt: isoTime(at.createdAt),
  };
}

function table(items: ListedWebhook[]): Html {
  return html`
<div class="wide"><table>
  <thead><tr><th>Source</th><th>State</th><th>Last event</th><th>Created</th></tr></thead>
  <tbody>${items.map(row)}</tbody>
</table></div>`;
}

function row({ sourceId, title, state, lastEventAt, createdAt }: ListedWebhook): Html {
  return html`
  <tr><td><a href="/sources/${sourceId}">${title}</a></td>
    <td><span class="tag ${state === 'silent' && 'failing'}">${state}</span></td>
    <td>${lastEventAt === null ? 'none yet' : moment(lastEventAt)}</td><td>${day(createdAt)}</td></tr>`;
}
