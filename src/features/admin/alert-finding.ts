import { alertDeliveries } from '../alerts/alert-store.ts';
import type { Hub } from '../hub/hub.ts';
import { finding, type Finding } from './finding.ts';

/** How the last message to the operator went: without them nobody is told of the rest. */
export function alertFinding(hub: Hub): Finding {
  const subject = 'Alerts';
  if (hub.config.alertWebhookUrl === null) {
    return finding({
      subject, level: 'off', state: 'not set up', detail: 'problems are only logged', href: '/admin/alerts',
      whatToDo: 'Set ALERT_WEBHOOK_URL to where you read messages, so that the hub can tell you of problems.',
    });
  }
  const [last] = alertDeliveries(hub).list({ limit: 1 });
  const common = { subject, href: '/admin/alerts', detail: last?.title ?? null, at: last?.createdAt ?? null };
  if (!last) return finding({ ...common, state: 'none sent yet' });
  if (last.state === 'delivered') return finding({ ...common, state: 'the last arrived' });
  if (last.state === 'pending' && last.attempts === 0) return finding({ ...common, state: 'one on its way' });
  const hasFailed = last.state === 'failed';
  return finding({
    ...common, level: hasFailed ? 'bad' : 'warn', state: hasFailed ? 'the last was lost' : 'the last is late',
    since: last.createdAt, problem: hasFailed ? 'The last alert reached nobody.' : 'An alert has not arrived yet.',
    whatToDo: `Look at ALERT_WEBHOOK_URL and at its receiver${last.lastError ? `: ${last.lastError}` : ''}.`,
  });
}
