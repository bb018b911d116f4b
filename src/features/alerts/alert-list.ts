import { isoTime } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { adminList, byState } from '../hub/admin-list.ts';
import type { Hub } from '../hub/hub.ts';
import { alertDeliveries, DELIVERY_STATES, type AlertDelivery, type DeliveryState } from './alert-store.ts';

/** What the operator was told, and what became of each message. */
export const alertList = adminList<AlertDelivery, 'id', DeliveryState | undefined>({
  name: 'alerts',
  title: 'Alerts',
  key: ['id'],
  select: (hub, after, limit, state) => alertDeliveries(hub).list({ state, before: after?.id, limit }),
  filter: byState('alerts', DELIVERY_STATES),
  toJson: deliveryJson,
  lead: (hub) => html`<p class="lead">${receiver(hub)}</p>`,
  view: (items, times) => html`<ul class="items">${items.map((one) => item(one, times))}</ul>`,
  empty: 'No alerts.',
});

/** A delivery as the API and the command line show it. */
export function deliveryJson({ createdAt, nextAt, finishedAt, ...delivery }: AlertDelivery) {
  return { ...delivery, createdAt: isoTime(createdAt), nextAt: isoTime(nextAt), finishedAt: isoTime(finishedAt) };
}

function receiver({ config }: Hub): Html {
  return config.alertWebhookUrl === null
    ? html`No receiver is configured (<code>ALERT_WEBHOOK_URL</code>): problems are only logged.`
    : html`Sent to <code>${describeDestination(config.alertWebhookUrl)}</code>.`;
}

function item(delivery: AlertDelivery, times: Times): Html {
  const { title, body, state, suppressed, attempts, createdAt, lastError } = delivery;
  return html`
  <li><div>
    <p class="title">${title}</p>
    <p class="meta"><span class="tag ${state === 'failed' && 'failing'}">${state}</span>
      <span>${showTime(times, createdAt)}</span>
      ${attempts > 1 && html`<span>${attempts} attempts</span>`}
      ${suppressed > 0 && html`<span>${suppressed} more like this</span>`}</p>
    ${body && html`<p class="summary">${body}</p>`}
    ${lastError && html`<p class="summary bad">${lastError}</p>`}
  </div></li>`;
}

/** Scheme, host and port of the receiver, which are all of its address that may be shown. */
export function describeDestination(address: string): string {
  const url = URL.parse(address);
  return url === null ? 'an address that is not valid' : `${url.protocol}//${url.host}`;
}
