import { SECOND, type Clock, DAY, HOUR, type Random } from '../../platform/clock.ts';
import type { Job } from '../../platform/jobs/claim-jobs.ts';
import { backoff, type Effects, type Fate } from '../../platform/jobs/finish-jobs.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { fetchFailure, fetchFromOperator, percentDecoded, readAnswer } from '../../platform/net/operator-fetch.ts';
import { parseRetryAfter } from '../../platform/net/response-freshness.ts';
import { type Hub, jobs, type JobKind } from '../hub/hub.ts';
import { hubUserAgent } from '../hub/read-config.ts';
import type { AlertFormat } from '../hub/settings.ts';
import { alertDeliveries, DELIVER_ALERT, unsentAlerts } from './alert-store.ts';
import type { Alert } from './alert-text.ts';
import { formatAlert, guessFormat, type AlertRequest } from './format-alert.ts';

export const MAX_ATTEMPTS = 5;

/** Alerts that reached nobody are kept longer. */
export const DELIVERED_KEPT = 30 * DAY;
export const FAILED_KEPT = 90 * DAY;

const LONGEST_RETRY_AFTER = HOUR;

/** Jitter: up to this share of a Retry-After is added, so that refused alerts are not all sent again at once. */
const SPREAD = 0.1;

/** May arrive twice: if the process dies between the receiver's answer and the commit, the alert is sent again. */
export const deliverAlert: JobKind<{ deliveryId: number }> = {
  name: DELIVER_ALERT,
  key: ({ deliveryId }) => String(deliveryId),
  attempts: MAX_ATTEMPTS,
  concurrency: 2,
  afterRestore: 'discard',
  stores: false,
  run: (hub, { deliveryId }, signal, job) => deliver(hub, deliveryId, receiverOf(hub), job, signal),
  failed: (hub, { deliveryId }, error, fate, job) => noteFailure(hub, deliveryId, error, fate, job),
};

/** Makes one attempt. Throws RetryLaterError if the receiver did not accept the alert. */
export async function deliver(
  hub: Hub, deliveryId: number, receiver: Receiver | undefined, { attempts }: Job, signal: AbortSignal,
): Promise<void | Effects> {
  const delivery = alertDeliveries(hub).find(deliveryId);
  if (delivery?.state !== 'pending') return;
  if (!receiver) throw new Error('no receiver is configured any more: ALERT_WEBHOOK_URL is not set');
  const { body: text, createdAt: at, ...said } = delivery;
  const result = await sendAlert(receiver, { ...said, text, at, hubUrl: hub.config.baseUrl }, signal);
  if (result.isDelivered) return () => alertDeliveries(hub).markDelivered(deliveryId, attempts);
  throw new RetryLaterError(result.detail, hub.clock() + pauseAfter(attempts, hub.random, result.retryAfterMs));
}

function noteFailure(hub: Hub, deliveryId: number, error: Error, fate: Fate, { attempts }: Job): void {
  if (fate === 'retrying') {
    const nextAt = error instanceof RetryLaterError ? Math.ceil(error.at) : hub.clock();
    return alertDeliveries(hub).markRetrying(deliveryId, attempts, nextAt, error.message);
  }
  alertDeliveries(hub).markFailed(deliveryId, attempts, error.message);
  jobs(hub).settleFailed(deliverAlert.name, String(deliveryId));
}

/** How long the next attempt waits, in ms: `backoff`, or the Retry-After if that is longer; at most about an hour. */
export function pauseAfter(attempts: number, random: Random, retryAfterMs = 0): number {
  const asked = Math.min(retryAfterMs, LONGEST_RETRY_AFTER) * (1 + SPREAD * random());
  return Math.max(backoff(attempts, random), Math.ceil(asked));
}

/** Repairs the times of deliveries after the clock was set back. Fails deliveries whose job was discarded. */
export function tidyDeliveries(hub: Hub): void {
  alertDeliveries(hub).bringBackTimes();
  for (const { id, attempts } of alertDeliveries(hub).pending()) {
    if (jobs(hub).isLive(deliverAlert.name, String(id))) continue;
    alertDeliveries(hub).markFailed(id, attempts, 'the job that delivers this alert was discarded');
  }
}

/** Removes up to `limit` old alerts. Returns how many. */
export function removeOldAlerts(hub: Hub, limit: number): number {
  const { prune } = alertDeliveries(hub);
  const delivered = prune('delivered', hub.clock() - DELIVERED_KEPT, limit);
  const failed = delivered === limit ? 0 : prune('failed', hub.clock() - FAILED_KEPT, limit - delivered);
  const left = limit - delivered - failed;
  return delivered + failed + (left > 0 ? unsentAlerts(hub).prune(hub.clock() - FAILED_KEPT, left) : 0);
}

/** `retryAfterMs`: the receiver's Retry-After. `detail`: the result in words, which name only the address's host. */
export type SendResult = { isDelivered: boolean; status: number | null; retryAfterMs?: number; detail: string };

type Receiver = {
  url: string;
  format: AlertFormat | 'auto';
  userAgent: string;
  clock: Clock;
  timeoutMs?: number;
};

type Received = ReceiverAnswer & { retryAfter: string | null };

const MAX_ANSWER_BYTES = 16 * 1024;

/** The receiver gave no answer; the message becomes the `detail` of the result. */
class NoAnswer extends Error {}

/** Undefined if ALERT_WEBHOOK_URL is not set. */
export function receiverOf({ config, clock }: Hub): Receiver | undefined {
  const { alertWebhookUrl: url, alertWebhookFormat: format } = config;
  return url === null ? undefined : { url, format, userAgent: hubUserAgent(config), clock };
}

export function formatFor({ url, format }: Pick<Receiver, 'url' | 'format'>): AlertFormat {
  return format === 'auto' ? guessFormat(url) : format;
}

/** Makes one attempt. Throws a TypeError if the address is not http or https, without quoting it. */
export async function sendAlert(receiver: Receiver, alert: Alert, signal?: AbortSignal): Promise<SendResult> {
  const { url, userAgent, clock, timeoutMs = 15 * SECOND } = receiver;
  const host = hostOf(url);
  const format = formatFor(receiver);
  try {
    const received = await exchange(formatAlert(format, url, alert), host, userAgent, timeoutMs, signal);
    const isDelivered = isAccepted(format, received);
    const retryAt = parseRetryAfter(received.retryAfter ?? undefined, clock());
    const retryAfter = isDelivered || retryAt === null ? {} : { retryAfterMs: Math.max(0, retryAt - clock()) };
    const detail = describe(host, received, isDelivered, quoteAnswer(received.body, url));
    return { isDelivered, status: received.status, ...retryAfter, detail };
  } catch (error) {
    const detail = error instanceof NoAnswer ? error.message : fetchFailure(error, host);
    return { isDelivered: false, status: null, detail };
  }
}

function hostOf(address: string): string {
  const url = URL.parse(address);
  if (url !== null && /^https?:$/.test(url.protocol)) return url.host;
  throw new TypeError('the address for alerts must be an http or https address');
}

/** The answer's status counts even if its body breaks off. */
async function exchange(
  { url, ...alert }: AlertRequest, host: string, userAgent: string, timeoutMs: number, signal: AbortSignal | undefined,
): Promise<Received> {
  const tooSlow = AbortSignal.timeout(timeoutMs);
  const headers = { ...alert.headers, 'User-Agent': userAgent };
  const ends = AbortSignal.any(signal ? [signal, tooSlow] : [tooSlow]);
  try {
    const response = await fetchFromOperator(new URL(url), { ...alert, headers, signal: ends });
    const [contentType, retryAfter] = [response.headers.get('content-type') ?? '', response.headers.get('retry-after')];
    return { status: response.status, contentType, retryAfter, ...await readAnswer(response, MAX_ANSWER_BYTES) };
  } catch (error) {
    if (signal?.aborted) throw new NoAnswer(`the attempt to reach ${host} was stopped`);
    throw tooSlow.aborted ? new NoAnswer(`${host} gave no answer within ${timeoutMs / SECOND} s`) : error;
  }
}

function describe(host: string, { status, isWhole }: ReceiverAnswer, isDelivered: boolean, quoted: string): string {
  const said = `${host} answered ${status}${quoted === '' ? '' : `: ${quoted}`}`;
  if (isDelivered) return said;
  if (status >= 300 && status < 400) return `${host} answered ${status}, a redirect, which is not followed`;
  if (status >= 300) return said;
  return isWhole ? `${said} (not what this kind of receiver answers)` : `${said} (the answer broke off)`;
}

/** `isWhole`: false if the answer broke off or was longer than the limit. */
type ReceiverAnswer = { status: number; contentType: string; body: string; isWhole: boolean };

/** A receiver that answers 2xx with something unexpected may get the alert several times: better than not at all. */
function isAccepted(format: AlertFormat, { status, contentType, body }: ReceiverAnswer): boolean {
  if (status < 200 || status > 299) return false;
  if (format === 'json') return true;
  if (/^text\/html\b/i.test(contentType)) return false; // HTML may be a sign-in page, not the receiver's reply
  if (format === 'slack') return body.trim() === 'ok';
  return format !== 'rocketchat' || !/"success"\s*:\s*false/.test(body);
}

const MAX_QUOTED = 160;

/** An answer is not quoted if it repeats this many characters of a secret in a row, or a whole shorter secret. */
const WINDOW = 6;

// Parts that are common in receivers' addresses, and no secrets.
const COMMON_WORDS = new Set([
  'api', 'hooks', 'incoming', 'invoke', 'manual', 'message', 'messages', 'paths', 'rest', 'services', 'spaces', 'token',
  'triggers', 'v1', 'webhook', 'webhooks', 'workflows',
]);

/** Returns '' for an answer that repeats what may be secret in the receiver's address: "cannot POST /services/…". */
function quoteAnswer(body: string, address: string): string {
  const visible = body.slice(0, 4 * MAX_QUOTED).toWellFormed().replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
  const quoted = excerpt(singleLine(visible), MAX_QUOTED);
  const url = URL.parse(address);
  return url !== null && !repeats(quoted, url) ? quoted : '';
}

function repeats(quoted: string, url: URL): boolean {
  const folded = quoted.toLowerCase();
  return secretsOf(url).some((secret) => windowsOf(secret.toLowerCase()).some((part) => folded.includes(part)));
}

/** The parts that may be secret: path segments, query values, fragment and credentials, as written and decoded. */
function secretsOf(url: URL): string[] {
  const pair = Buffer.from(`${url.username}:${url.password}`).toString('base64');
  const query = url.search.slice(1).split('&').map((parameter) => parameter.slice(parameter.indexOf('=') + 1));
  const written = [...url.pathname.split('/'), ...query, url.username, url.password, url.hash.slice(1), pair];
  const both = written.flatMap((part) => [part, percentDecoded(part)]);
  return both.filter((part) => part.length > 1 && !COMMON_WORDS.has(part.toLowerCase()));
}

function windowsOf(secret: string): string[] {
  if (secret.length <= WINDOW) return [secret];
  return Array.from({ length: secret.length - WINDOW + 1 }, (_, start) => secret.slice(start, start + WINDOW));
}
