import { html, type Html } from '../../platform/http/html.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import type { Source } from '../sources/source-store.ts';
import type { Webhook } from '../webhooks/webhook-store.ts';

type Level = 'good' | 'warn' | 'bad' | 'off';

/** Only managers of the source see the reason for its state. */
export function stateLine(source: Source, times: Times, mayManage: boolean, webhook?: Webhook): Html {
  const [level, words] = stateOf(source, times, mayManage, webhook);
  return html`<span class="state ${level}">${words}</span>`;
}

function stateOf(source: Source, times: Times, mayManage: boolean, webhook: Webhook | undefined): [Level, Html] {
  const { kind, state, stateReason, lastSuccessAt } = source;
  const reason = mayManage && stateReason ? html`: ${inSentence(stateReason)}` : '';
  if (state === 'failing') return ['bad', html`Failing${since(source, times)}${reason}`];
  if (state === 'paused') return ['off', html`Paused${since(source, times)}${reason}`];
  if (kind === 'native') return ['good', html`Posts written on this hub`];
  if (kind === 'webhook') return webhookState(webhook, times);
  if (lastSuccessAt === null) return ['off', html`Waiting for the first fetch`];
  if (mayManage && stateReason) return ['warn', html`${stateReason}`];
  return ['good', html`Fetched ${showTime(times, lastSuccessAt)}`];
}

function since({ stateSince }: Source, times: Times): Html | '' {
  return stateSince === null ? '' : html` since ${showTime(times, stateSince, 'since')}`;
}

function webhookState(webhook: Webhook | undefined, times: Times): [Level, Html] {
  if (!webhook) return ['good', html`Receives posts from a program`];
  const { state, lastEventAt } = webhook;
  if (lastEventAt === null) return ['off', html`Nothing received yet`];
  const last = showTime(times, lastEventAt);
  if (state === 'silent') return ['warn', html`Silent: last event ${last}`];
  return ['good', html`Listening, last event ${last}`];
}

/** Returns a reason as a sentence: with an end mark and, unless a host name comes first, a capital letter. */
export function asSentence(reason: string): string {
  const first = /^[a-z]+ /.test(reason) ? reason.charAt(0).toUpperCase() : reason.charAt(0);
  const sentence = first + reason.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** Returns a reason as text after a colon: without a full stop, and with a small letter in a first word like `The`. */
export function inSentence(reason: string): string {
  const first = /^(?:The|This|Its|It|A|No|Could)\b/.test(reason) ? reason.charAt(0).toLowerCase() : reason.charAt(0);
  return (first + reason.slice(1)).replace(/\.$/, '');
}
