import { isoTime } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { adminList } from '../hub/admin-list.ts';
import { sources } from '../sources/source-store.ts';
import { webhooks, type Webhook } from './webhook-store.ts';

type ListedWebhook = Webhook & { title: string; ownerId: number };

export const webhookList = adminList<ListedWebhook, 'sourceId'>({
  name: 'webhooks',
  title: 'Webhooks',
  key: ['sourceId'],
  select: (hub, after, limit) => webhooks(hub).list(after?.sourceId ?? 0, limit).map((webhook) => {
    const source = sources(hub).find(webhook.sourceId);
    return { ...webhook, title: source?.title ?? '', ownerId: source?.ownerId ?? 0 };
  }),
  toJson: webhookJson,
  view: table,
  empty: 'No webhooks.',
  more: 'More webhooks',
});

function webhookJson({ sourceId, title, ownerId, state, ...at }: ListedWebhook) {
  return {
    source: { id: sourceId, title }, ownerId, state, lastEventAt: isoTime(at.lastEventAt),
    previousSecretUntil: isoTime(at.previousUntilAt), createdAt: isoTime(at.createdAt),
  };
}

function table(items: ListedWebhook[], times: Times): Html {
  return html`
<div class="wide"><table>
  <thead><tr><th>Source</th><th>State</th><th>Last event</th><th>Created</th></tr></thead>
  <tbody>${items.map((one) => row(one, times))}</tbody>
</table></div>`;
}

function row({ sourceId, title, state, lastEventAt, createdAt }: ListedWebhook, times: Times): Html {
  return html`
  <tr><td><a href="/sources/${sourceId}">${title}</a></td>
    <td><span class="tag ${state === 'silent' && 'failing'}">${state}</span></td>
    <td>${lastEventAt === null ? 'none yet' : showTime(times, lastEventAt)}</td>
    <td>${showTime(times, createdAt)}</td></tr>`;
}
