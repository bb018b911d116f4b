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

export const MAX_ATTEMPTS = 5;

/** Alerts that could not be delivered are kept longer, so that an operator can find out the reason. */
export const DELIVERED_KEPT = 30 * DAY;
export const FAILED_KEPT = 90 * DAY;

const LONGEST_RETRY_AFTER = HOUR;

/** Jitter: up to this share of a Retry-After is added, so that refused alerts are not all sent again at once. */
const SPREAD = 0.1;

/** At least once: if the worker dies between the receiver's answer and the commit, the alert is sent again. */
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

function noteFailure(hub: Hub, deliveryId: number, error: Error, fate: Fate, { attempts }: Job): void {
  if (fate === 'retrying') {
    const nextAt = error instanceof RetryLaterError ? Math.ceil(error.at) : hub.clock();
    return alertDeliveries(hub).markRetrying(deliveryId, attempts, nextAt, error.message);
  }
  alertDeliveries(hub).markFailed(deliveryId, attempts, error.message);
  jobs(hub).settleFailed(deliverAlert.name, String(deliveryId));
}

/** The wait before the next attempt grows with each attempt (`backoff`), and is at least the receiver's Retry-After. */
export function planDelivery(
  { outcome, retryAfterMs = 0 }: Pick<SendResult, 'outcome' | 'retryAfterMs'>, attempts: number, random: Random,
): { state: 'delivered' } | { state: 'failed' } | { state: 'pending'; delayMs: number } {
  if (outcome === 'delivered') return { state: 'delivered' };
  if (outcome === 'failed' || attempts >= MAX_ATTEMPTS) return { state: 'failed' };
  const asked = Math.min(retryAfterMs, LONGEST_RETRY_AFTER) * (1 + SPREAD * random());
  return { state: 'pending', delayMs: Math.max(backoff(attempts, random), Math.ceil(asked)) };
}

/** Repairs the times of deliveries after the clock was set back. Fails deliveries whose job was discarded. */
export function tidyDeliveries(hub: Hub): void {
  alertDeliveries(hub).bringBackTimes();
  for (const { id, attempts } of alertDeliveries(hub).pending()) {
    if (jobs(hub).isLive(deliverAlert.name, String(id))) continue;
    alertDeliveries(hub).markFailed(id, attempts, 'the job that delivers this alert was discarded');
  }
}

/** Removes up to `limit` old deliveries of alerts. Returns how many. */
export function removeOldDeliveries(hub: Hub, limit: number): number {
  const { prune } = alertDeliveries(hub);
  const delivered = prune('delivered', hub.clock() - DELIVERED_KEPT, limit);
  return delivered === limit ? limit : prune('failed', hub.clock() - FAILED_KEPT, limit);
}

/** `retryAfterMs`: the receiver's Retry-After. `detail`: the result in words, which name only the address's host. */
export type SendResult = { outcome: DeliveryOutcome; status: number | null; retryAfterMs?: number; detail: string };

type Receiver = {
  url: string;
  format: AlertFormat | 'auto';
  userAgent: string;
  clock: Clock;
  timeoutMs?: number;
};

type Received = ReceiverAnswer & { headers: IncomingHttpHeaders };

const MAX_ANSWER_BYTES = 16 * 1024;

/** Thrown if the alert receiver gave no answer; the error's message becomes the `detail` of the delivery's result. */
class NoAnswer extends Error {}

/** The receiver that the operator has configured for alerts, or null. */
export function receiverOf({ config, clock }: Hub): Receiver | undefined {
  const { alertWebhookUrl: url, alertWebhookFormat: format } = config;
  return url === null ? undefined : { url, format, userAgent: hubUserAgent(config), clock };
}

/** The format in which the configured receiver gets alerts. */
export function formatFor({ url, format }: Pick<Receiver, 'url' | 'format'>): AlertFormat {
  return format === 'auto' ? guessFormat(url) : format;
}

/**
 * A redirect by the receiver counts as 'failed', an abort of the request by `signal` as 'retry'. Throws a TypeError,
 * which does not quote the receiver's address, if the address is no http or https address.
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

/** Reads the receiver's answer up to the size limits. The answer's status counts even if the body breaks off. */
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

/** Leaves out the messages of Node's errors, because some of these messages contain the whole address. */
function reasonOf(error: unknown, host: string): string {
  if (error instanceof NoAnswer) return error.message;
  return `the exchange with ${host} failed (${codeOf(error) ?? 'unknown error'})`;
}

/** `isWhole`: false if the answer broke off or was longer than the limit. */
type ReceiverAnswer = { status: number; contentType: string; body: string; isWhole: boolean };

type DeliveryOutcome = 'delivered' | 'retry' | 'failed';

const WORTH_RETRYING = new Set([408, 425, 429]);

/** After a 2xx answer with an unexpected body, another attempt might deliver the alert twice. */
function judgeAnswer(format: AlertFormat, answer: ReceiverAnswer): DeliveryOutcome {
  const { status, isWhole } = answer;
  if (status >= 500 || WORTH_RETRYING.has(status)) return 'retry';
  if (status < 200 || status > 299) return 'failed';
  if (isAccepted(format, answer)) return 'delivered';
  return isWhole ? 'failed' : 'retry';
}

function isAccepted(format: AlertFormat, { contentType, body }: ReceiverAnswer): boolean {
  if (format === 'json') return true;
  if (/^text\/html\b/i.test(contentType)) return false; // HTML may be a sign-in page, not the receiver's reply
  if (format === 'slack') return body.trim() === 'ok';
  return format !== 'rocketchat' || !/"success"\s*:\s*false/.test(body);
}

const MAX_QUOTED = 160;

/** The hub searches the receiver's answer for every part of a secret that has at least this many characters. */
const WINDOW = 6;

// Path segments that all addresses of a service have, so these segments are not secret.
const COMMON_WORDS = new Set([
  'api', 'hooks', 'incoming', 'invoke', 'manual', 'message', 'messages', 'paths', 'rest', 'services', 'spaces', 'token',
  'triggers', 'v1', 'webhook', 'webhooks', 'workflows',
]);

/** Returns '' for an answer that repeats part of the receiver's address besides the host: "cannot POST /services/…". */
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

/** Parts of an address that may be secret: path segments, query values and credentials, as written and decoded. */
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
