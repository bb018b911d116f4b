import { choice, id, integer, named, object, orNull, text, time } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { postButton } from '../../platform/http/page-parts.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import { adminList, byState, each } from '../hub/lists.ts';
import type { Hub } from '../hub/hub.ts';
import { ALERT_STATES, alertDeliveries, storedAlerts, TEST, type AlertState, type StoredAlert } from './alert-store.ts';
import { sendTestAlert } from './raise-alerts.ts';
import { formatFor, receiverOf } from './send-alert.ts';

const LOOK_AGAIN = 3; // seconds
const BODY_SHOWN_MAX = 4_000; // characters

export const TEST_BUTTON = postButton('/admin/alerts/test', 'Send a test alert', '');

export const ALERT_ROUTES: Endpoint[] = act({
  form: 'POST /admin/alerts/test', access: 'admin', summary: 'Send a test alert',
  run: sendTestAlert, to: '/admin/alerts',
});

const ALERT_DELIVERY = named('AlertDelivery', object({
  id, event: text, title: text, body: text, severity: text, suppressed: integer, state: choice(ALERT_STATES),
  attempts: integer, createdAt: time, nextAt: orNull(time), finishedAt: orNull(time), lastError: orNull(text),
}));

/** An alert as the API and the command line show it. */
export const alertJson = ALERT_DELIVERY.show;

export const alertList = adminList<StoredAlert, 'id', AlertState | undefined>({
  name: 'alerts',
  title: 'Alerts',
  summary: 'Alert deliveries, newest first; state filters them',
  key: ['id'],
  select: (hub, { after, limit, filter: state }) => storedAlerts(hub, { state, before: after?.id, limit }),
  filter: byState('alerts', ALERT_STATES),
  shape: ALERT_DELIVERY,
  lead: (hub) => html`<p class="lead">${receiver(hub)}</p>`,
  above: (hub) => hub.config.alertWebhookUrl !== null && html`${lastTest(hub)}${TEST_BUTTON}`,
  refreshSeconds: (items) => (items.some(isUnderWay) ? LOOK_AGAIN : undefined),
  rows: each(item),
  empty: 'No alerts.',
});

function receiver(hub: Hub): Html {
  const known = receiverOf(hub);
  return known === undefined
    ? html`No receiver is configured: alerts are only listed here. Set <code>ALERT_WEBHOOK_URL</code> to the address
of a service whose messages you read, such as a webhook of Slack, Mattermost, Discord or ntfy, and restart the hub.`
    : html`Alerts are sent to <code>${describeDestination(known.url)}</code> in the format <code>${
formatFor(known)}</code>${known.format === 'auto' &&
html`, which <code>ALERT_WEBHOOK_FORMAT=auto</code> derives from the address`}.`;
}

/** The result of the last test alert, if no other alert was sent after it. */
function lastTest(hub: Hub): Html | false {
  const [last] = alertDeliveries(hub).list({ limit: 1 });
  const known = receiverOf(hub);
  if (last?.event !== TEST || !known) return false;
  const format = formatFor(known);
  if (last.state === 'delivered') {
    return html`<p class="done" role="status">The test alert arrived (format ${format}).</p>`;
  }
  if (isUnderWay(last)) return html`<p class="done" role="status">The test alert is on its way.</p>`;
  const isLost = last.state === 'failed';
  return html`<div class="problem" role="alert"><p>The test alert ${isLost ? 'did not arrive' : 'has not arrived yet'}
(format ${format}): ${last.lastError}.</p>${!isLost && html`<p>The hub will try again later.</p>`}</div>`;
}

function isUnderWay({ state, attempts }: StoredAlert): boolean {
  return state === 'pending' && attempts === 0;
}

function item(alert: StoredAlert, times: Times): Html {
  const { title, body, state, suppressed, attempts, createdAt, lastError } = alert;
  return html`
  <li><div>
    <p class="title">${title}</p>
    <p class="meta"><span class="tag ${state === 'failed' && 'failing'}">${state}</span>
      <span>${showTime(times, createdAt)}</span>
      ${attempts > 1 && html`<span>${attempts} attempts</span>`}
      ${suppressed > 0 && html`<span>${suppressed} more problems</span>`}</p>
    ${body && html`<p class="summary">${excerpt(body, BODY_SHOWN_MAX)}</p>`}
    ${lastError && html`<p class="summary bad">${lastError}</p>`}
  </div></li>`;
}

/** Scheme, host and port only: the path and the query may contain a token. */
export function describeDestination(address: string): string {
  const url = URL.parse(address);
  return url === null ? 'an address that is not valid' : `${url.protocol}//${url.host}`;
}
