import { html, type Html } from '../../platform/http/html.ts';
import { moment } from '../../platform/http/readable.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { AlertDelivery, DeliveryState } from './alert-store.ts';

/** `state` is undefined where all are shown. */
type AlertList = {
  items: AlertDelivery[];
  next: string | null;
  state: DeliveryState | undefined;
  states: DeliveryState[];
  destination: string | null;
};

/** What the operator was told, and what became of each message. */
export function alertsPage({ items, next, state, states, destination }: AlertList): Page {
  const older = new URLSearchParams({ ...(state ? { state } : {}), cursor: next ?? '' });
  const main = html`
<header class="page-head">
  <h1>Alerts</h1>
  <p class="lead">${destination === null
    ? html`No receiver is configured (<code>ALERT_WEBHOOK_URL</code>): troubles stand in the log alone.`
    : html`They go to <code>${destination}</code>.`}</p>
  <p class="meta">${choice('', 'all', state)} ${states.map((one) => choice(one, one, state))}</p>
</header>
${items.length > 0 ? html`<ul class="rows">${items.map(item)}</ul>` : html`<p class="empty">There are none.</p>`}
${next && html`<p class="more"><a class="button" rel="next" href="/admin/alerts?${older.toString()}">Older</a></p>`}`;
  return { title: 'Alerts', main, section: 'admin/alerts' };
}

function choice(state: string, label: string, shown: DeliveryState | undefined): Html {
  const isShown = state === (shown ?? '');
  return isShown ? html`<strong>${label}</strong> ` : html`<a href="/admin/alerts?state=${state}">${label}</a> `;
}

function item(delivery: AlertDelivery): Html {
  const { title, body, state, suppressed, attempts, createdAt, lastError } = delivery;
  return html`
  <li><div>
    <p class="title">${title}</p>
    <p class="meta"><span class="tag ${state === 'failed' && 'failing'}">${state}</span>
      <span>${moment(createdAt)}</span>
      ${attempts > 1 && html`<span>${attempts} attempts</span>`}
      ${suppressed > 0 && html`<span>${suppressed} more of the kind</span>`}</p>
    ${body && html`<p class="summary">${body}</p>`}
    ${lastError && html`<p class="summary bad">${lastError}</p>`}
  </div></li>`;
}
