import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { SECOND, type Clock, DAY, HOUR, type Random } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import type { Job } from '../../platform/jobs/claim-jobs.ts';
import { backoff, type Effects, type Fate } from '../../platform/jobs/finish-jobs.ts';
import { PermanentError, RetryLaterError } from '../../platform/jobs/run-job.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { openRequest, responseTo } from '../../platform/net/outbound-exchange.ts';
import { parseRetryAfter } from '../../platform/net/response-freshness.ts';
import { type Hub, jobs, type JobKind } from '../hub/hub.ts';
import { hubUserAgent } from '../hub/read-config.ts';
import type { AlertFormat } from '../hub/settings.ts';
import { alertDeliveries, DELIVER_ALERT } from './alert-store.ts';
import type { Alert } from './alert-text.ts';
import { decode, formatAlert, guessFormat, type AlertRequest } from './format-alert.ts';

/** Attempts per alert, including the first. */
export const MAX_ATTEMPTS = 5;

/** Failed messages are kept longer, so that an operator can find out why. */
export const DELIVERED_KEPT = 30 * DAY;
export const FAILED_KEPT = 90 * DAY;

/** Upper bound for a receiver's Retry-After. */
const LONGEST_WAIT = HOUR;

/** Jitter: at most this share is added to a Retry-After, so that refused alerts do not return together. */
const SPREAD = 0.1;

/**
 * Sends an alert at least once: if a worker dies between the receiver's answer and the commit, the alert is sent again.
 * A restore discards these jobs, because the alerts in a backup are old.
 */
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

/** Makes one attempt to deliver an alert. */
export async function deliver(
  hub: Hub, deliveryId: number, receiver: Receiver | undefined, { attempts }: Job, signal: AbortSignal,
): Promise<void | Effects> {
  const delivery = alertDeliveries(hub).find(deliveryId);
  if (delivery?.state !== 'pending') return;
  if (!receiver) throw new PermanentError('no receiver is configured any more: ALERT_WEBHOOK_URL is not set');
  const { body: text, createdAt: at, ...said } = delivery;
  const result = await sendAlert(receiver, { ...said, text, at, hubUrl: hub.config.baseUrl }, signal);
  const next = planDelivery(result, attempts, hub.random);
  if (next.state === 'delivered') return () => alertDeliveries(hub).markDelivered(deliveryId, attempts);
  if (next.state === 'failed') throw new PermanentError(result.detail);
  throw new RetryLaterError(result.detail, hub.clock() + next.delayMs);
}

/** Records a failed attempt in its delivery. The failed job need not be kept. */
function noteFailure(hub: Hub, deliveryId: number, error: Error, fate: Fate, { attempts }: Job): void {
  if (fate === 'retrying') {
    const nextAt = error instanceof RetryLaterError ? Math.ceil(error.at) : hub.clock();
    return alertDeliveries(hub).markRetrying(deliveryId, attempts, nextAt, error.message);
  }
  alertDeliveries(hub).markFailed(deliveryId, attempts, error.message);
  jobs(hub).settleFailed(deliverAlert.name, String(deliveryId));
}

/**
 * The next state of a delivery after attempt number `attempts`. Waits grow (`backoff`) and are at least Retry-After.
 * `delayMs`: the time until the next attempt.
 */
export function planDelivery(
  { outcome, retryAfterMs = 0 }: Pick<SendResult, 'outcome' | 'retryAfterMs'>, attempts: number, random: Random,
): { state: 'delivered' } | { state: 'failed' } | { state: 'pending'; delayMs: number } {
  if (outcome === 'delivered') return { state: 'delivered' };
  if (outcome === 'failed' || attempts >= MAX_ATTEMPTS) return { state: 'failed' };
  const asked = Math.min(retryAfterMs, LONGEST_WAIT) * (1 + SPREAD * random());
  return { state: 'pending', delayMs: Math.max(backoff(attempts, random), Math.ceil(asked)) };
}

/** Repairs deliveries after the clock was set back, and fails deliveries whose job was discarded. */
export function tidyDeliveries(hub: Hub): void {
  alertDeliveries(hub).bringBackTimes();
  for (const { id, attempts } of alertDeliveries(hub).pending()) {
    if (jobs(hub).isLive(deliverAlert.name, String(id))) continue;
    alertDeliveries(hub).markFailed(id, attempts, 'the job that delivers this alert was discarded');
  }
}

/** Removes up to `limit` old deliveries. Returns how many. */
export function removeOldDeliveries(hub: Hub, limit: number): number {
  const { prune } = alertDeliveries(hub);
  const delivered = prune('delivered', hub.clock() - DELIVERED_KEPT, limit);
  return delivered === limit ? limit : prune('failed', hub.clock() - FAILED_KEPT, limit);
}

/** `retryAfterMs`: the receiver's Retry-After. `detail`: contains no part of the address but its host. */
export type SendResult = { outcome: DeliveryOutcome; status: number | null; retryAfterMs?: number; detail: string };

/** The operator's receiver. `timeoutMs`: milliseconds for one whole attempt. */
type Receiver = {
  url: string;
  format: AlertFormat | 'auto';
  userAgent: string;
  clock: Clock;
  timeoutMs?: number;
};

type Received = ReceiverAnswer & { headers: IncomingHttpHeaders };

const MAX_ANSWER_BYTES = 16 * 1024;

/** The receiver gave no answer; the error's message becomes `detail`. */
class NoAnswer extends Error {}

/** The configured receiver, if any. */
export function receiverOf({ config, clock }: Hub): Receiver | undefined {
  const { alertWebhookUrl: url, alertWebhookFormat: format } = config;
  return url === null ? undefined : { url, format, userAgent: hubUserAgent(config), clock };
}

/** The format in which this receiver gets alerts. */
export function formatFor({ url, format }: Pick<Receiver, 'url' | 'format'>): AlertFormat {
  return format === 'auto' ? guessFormat(url) : format;
}

/**
 * Sends an alert to the operator's receiver with one POST, and returns its result. The address may be private.
 * Redirects are failures. An aborted signal ends the attempt as 'retry'. Throws a TypeError, which does not quote the
 * address, if the address is not http or https.
 */
export async function sendAlert(receiver: Receiver, alert: Alert, signal?: AbortSignal): Promise<SendResult> {
  const { url, userAgent, clock, timeoutMs = 15 * SECOND } = receiver;
  const host = hostOf(url);
  const format = formatFor(receiver);
  try {
    const received = await exchange(formatAlert(format, url, alert), host, userAgent, timeoutMs, signal);
    const outcome = judgeAnswer(format, received);
    const retryAt = outcome === 'retry' ? parseRetryAfter(received.headers['retry-after'], clock()) : null;
    const retryAfter = retryAt === null ? {} : { retryAfterMs: Math.max(0, retryAt - clock()) };
    const detail = describe(host, received, outcome, quoteAnswer(received.body, url));
    return { outcome, status: received.status, ...retryAfter, detail };
  } catch (error) {
    return { outcome: 'retry', status: null, detail: reasonOf(error, host) };
  }
}

function hostOf(address: string): string {
  const url = URL.parse(address);
  if (url !== null && /^https?:$/.test(url.protocol)) return url.host;
  throw new TypeError('the address for alerts must be an http or https address');
}

async function exchange(
  alert: AlertRequest, host: string, userAgent: string, timeoutMs: number, signal: AbortSignal | undefined,
): Promise<Received> {
  const tooSlow = AbortSignal.timeout(timeoutMs);
  const request = post(alert, userAgent, AbortSignal.any(signal ? [signal, tooSlow] : [tooSlow]));
  const closed = new NoAnswer(`${host} closed the connection without an answer`);
  try {
    return await readAnswer(await responseTo(request, (cause) => cause ?? closed));
  } catch (error) {
    if (signal?.aborted) throw new NoAnswer(`the attempt to reach ${host} was stopped`);
    throw tooSlow.aborted ? new NoAnswer(`${host} gave no answer within ${timeoutMs / SECOND} s`) : error;
  } finally {
    request.destroy();
  }
}

function post({ method, url, headers, body }: AlertRequest, userAgent: string, signal: AbortSignal): ClientRequest {
  const ours = { 'Content-Length': Buffer.byteLength(body), 'User-Agent': userAgent, 'Accept-Encoding': 'identity' };
  return openRequest(new URL(url), { method, headers: { ...headers, ...ours }, signal }).end(body);
}

/** Reads an answer up to the limits. The answer's status counts even if its body breaks off. */
async function readAnswer(response: IncomingMessage): Promise<Received> {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  let size = 0;
  let isBroken = false;
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > MAX_ANSWER_BYTES) break;
    }
  } catch {
    isBroken = true;
  }
  const body = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString('utf8');
  const isWhole = !isBroken && response.complete && size <= MAX_ANSWER_BYTES;
  return { status, headers, contentType: headers['content-type'] ?? '', body, isWhole };
}

function describe(host: string, { status, isWhole }: ReceiverAnswer, outcome: DeliveryOutcome, quoted: string): string {
  const said = `${host} answered ${status}${quoted === '' ? '' : `: ${quoted}`}`;
  if (outcome === 'delivered') return said;
  if (status >= 300 && status < 400) return `${host} answered ${status}, a redirect, which is not followed`;
  if (status >= 300) return said;
  return isWhole ? `${said} (not what this kind of receiver answers)` : `${said} (the answer broke off)`;
}

/** Does not pass on Node's own messages, because some contain the whole address. */
function reasonOf(error: unknown, host: string): string {
  if (error instanceof NoAnswer) return error.message;
  return `the exchange with ${host} failed (${codeOf(error) ?? 'unknown error'})`;
}

/** The receiver's answer. `isWhole`: false if the answer broke off or exceeded the limit. */
type ReceiverAnswer = { status: number; contentType: string; body: string; isWhole: boolean };

type DeliveryOutcome = 'delivered' | 'retry' | 'failed';

const WORTH_RETRYING = new Set([408, 425, 429]);

/**
 * Whether an alert arrived. A 2xx counts if its body is what this format's receivers answer. Temporary statuses (408,
 * 425, 429, 5xx) and a 2xx that broke off are retried. Other answers are final: a new attempt would fail or repeat it.
 */
function judgeAnswer(format: AlertFormat, answer: ReceiverAnswer): DeliveryOutcome {
  const { status, isWhole } = answer;
  if (status >= 500 || WORTH_RETRYING.has(status)) return 'retry';
  if (status < 200 || status > 299) return 'failed';
  if (isAccepted(format, answer)) return 'delivered';
  return isWhole ? 'failed' : 'retry';
}

function isAccepted(format: AlertFormat, { contentType, body }: ReceiverAnswer): boolean {
  if (format === 'json') return true;
  if (/^text\/html\b/i.test(contentType)) return false; // perhaps a sign-in page
  if (format === 'slack') return body.trim() === 'ok';
  return format !== 'rocketchat' || !/"success"\s*:\s*false/.test(body);
}

const MAX_QUOTED = 160;

/** The answer is searched for every part of a secret that has this many characters. */
const WINDOW = 6;

// Path segments that are the same in all addresses of a service.
const COMMON_WORDS = new Set([
  'api', 'hooks', 'incoming', 'invoke', 'manual', 'message', 'messages', 'paths', 'rest', 'services', 'spaces', 'token',
  'triggers', 'v1', 'webhook', 'webhooks', 'workflows',
]);

/**
 * The receiver's answer as one short line for the log. Empty if it repeats a part of the address other than the host,
 * as in "cannot POST /services/…".
 */
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

/** Parts of an address that may be secret: path segments, values, credentials; as written and decoded. */
function secretsOf(url: URL): string[] {
  const pair = Buffer.from(`${url.username}:${url.password}`).toString('base64');
  const query = url.search.slice(1).split('&').map((parameter) => parameter.slice(parameter.indexOf('=') + 1));
  const written = [...url.pathname.split('/'), ...query, url.username, url.password, url.hash.slice(1), pair];
  const both = written.flatMap((part) => [part, decode(part)]);
  return both.filter((part) => part.length > 1 && !COMMON_WORDS.has(part.toLowerCase()));
}

function windowsOf(secret: string): string[] {
  if (secret.length <= WINDOW) return [secret];
  return Array.from({ length: secret.length - WINDOW + 1 }, (_, start) => secret.slice(start, start + WINDOW));
}
