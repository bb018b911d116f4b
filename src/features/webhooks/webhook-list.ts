import { choice, from, id, madeOf, named, object, orNull, text, time } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { adminList } from '../hub/lists.ts';
import { sources } from '../sources/source-store.ts';
import { WEBHOOK_STATES, webhooks, type Webhook } from './webhook-store.ts';

type ListedWebhook = Webhook & { title: string; ownerId: number };

const WEBHOOK = named('Webhook', madeOf(object({
  source: object({ id, title: text }), ownerId: id, state: choice(WEBHOOK_STATES), lastEventAt: orNull(time),
  previousSecretUntil: from('previousUntilAt', orNull(time)), createdAt: time,
}), ({ sourceId, title, ...webhook }: ListedWebhook) => ({ ...webhook, source: { id: sourceId, title } })));

export const webhookList = adminList<ListedWebhook, 'sourceId'>({
  name: 'webhooks',
  title: 'Webhooks',
  summary: 'Webhooks, and when each last received an event',
  key: ['sourceId'],
  select: (hub, { after, limit }) => webhooks(hub).list(after?.sourceId ?? 0, limit).map((webhook) => {
    const source = sources(hub).find(webhook.sourceId);
    return { ...webhook, title: source?.title ?? '', ownerId: source?.ownerId ?? 0 };
  }),
  shape: WEBHOOK,
  rows: table,
  empty: 'No webhooks.',
  more: 'More webhooks',
});

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
