import { deliveryJson } from '../features/alerts/deliver-alert.ts';
import { alertDeliveries, DELIVERY_STATES, type AlertDelivery } from '../features/alerts/alert-store.ts';
import { receiverOf, sendAlert } from '../features/alerts/send-alert.ts';
import { isoTime } from '../platform/clock.ts';
import {
  LISTED, tellNewest, UsageError, type Command, type CommandContext, type ExitCode, type Values,
} from './command.ts';

const WORDS = { delivered: 'delivered', retry: 'not delivered, a later attempt may succeed', failed: 'not delivered' };

/** The operator's receiver of alerts: whether it works, and what it was sent. */
export const alertsCommand: Command = {
  options: { state: { type: 'string' }, json: { type: 'boolean' } },
  operands: 1,

  run([act], values, context) {
    if (act === 'test') return test(context);
    if (act === 'list') return list(values, context);
    throw new UsageError('expected test or list');
  },
};

/** Sent at once and once, past the queue. The address itself is never shown: it is a secret. */
async function test({ out, err, openHub, config }: CommandContext): Promise<ExitCode> {
  const hub = await openHub();
  const receiver = receiverOf(hub);
  if (!receiver) {
    err('no receiver is configured: ALERT_WEBHOOK_URL is not set\n');
    return 1;
  }
  const { outcome, detail } = await sendAlert(receiver, {
    title: 'Test alert',
    text: 'The operator of this hub sent this message to test its alerts.',
    severity: 'info',
    event: 'test',
    at: hub.clock(),
    hubUrl: config.baseUrl,
    suppressed: 0,
  });
  out(`${WORDS[outcome]}: ${detail}\n`);
  return outcome === 'delivered' ? 0 : 1;
}

async function list({ state, json }: Values, context: CommandContext): Promise<ExitCode> {
  const known = DELIVERY_STATES.find((one) => one === state);
  if (state !== undefined && !known) throw new UsageError(`--state must be one of ${DELIVERY_STATES.join(', ')}`);
  const found = alertDeliveries(await context.openHub()).list({ limit: LISTED + 1, state: known });
  return tellNewest(found, json, json ? deliveryJson : line, known ? `no ${known} alerts` : 'no alerts', context);
}

function line({ id, state, event, attempts, createdAt, title, suppressed, lastError }: AlertDelivery): string {
  const more = suppressed > 0 ? ` (and ${suppressed} more)` : '';
  const when = isoTime(createdAt);
  return `${[id, state, event, `${attempts} attempts`, when, title + more, lastError ?? ''].join('\t')}\n`;
}
