import { isoTime } from '../../platform/clock.ts';
import { messageOf, type Alert, type Message } from './alert.ts';
import { chatBody } from './chat-bodies.ts';
import { gotifyBody, ntfyHeaders, ntfyText } from './push-bodies.ts';
import type { AlertFormat } from '../hub/settings.ts';

/** One request, ready to be sent; everything in the headers is ASCII. */
export type AlertRequest = { method: 'POST'; url: string; headers: Record<string, string>; body: string };

const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * The request that tells a receiver of this format of an alert. Credentials in the address become Basic
 * authorization (RFC 7617). Throws a TypeError that does not repeat the address where that is not valid.
 */
export function formatAlert(format: AlertFormat, address: string, alert: Alert): AlertRequest {
  const url = URL.parse(address);
  if (url === null) throw new TypeError('the address for alerts is not valid');
  const authorization = authorizationOf(url);
  [url.username, url.password, url.hash] = ['', '', ''];
  // Otherwise Discord does not say whether the message was kept.
  if (format === 'discord' && !url.searchParams.has('wait')) url.searchParams.append('wait', 'true');
  const { headers, body } = contentFor(format, alert);
  return { method: 'POST', url: url.href, headers: { ...headers, ...authorization }, body };
}

function contentFor(format: AlertFormat, alert: Alert): { headers: Record<string, string>; body: string } {
  const message = messageOf(alert);
  if (format === 'ntfy') {
    const headers = { 'Content-Type': 'text/plain; charset=utf-8', ...ntfyHeaders(message, alert.hubUrl) };
    return { headers, body: ntfyText(message) };
  }
  return { headers: { 'Content-Type': JSON_TYPE }, body: JSON.stringify(jsonFor(format, alert, message)) };
}

function jsonFor(format: Exclude<AlertFormat, 'ntfy'>, alert: Alert, message: Message): object {
  switch (format) {
    case 'gotify': return gotifyBody(message, alert.hubUrl);
    case 'json': return plainBody(alert, message);
    default: return chatBody(format, message);
  }
}

/** For programs: nothing is escaped. */
function plainBody(alert: Alert, { title, text, severity }: Message): object {
  const { event, hubUrl, suppressed } = alert;
  return { event, severity, title, text, at: isoTime(alert.at), hubUrl, suppressed };
}

function authorizationOf(url: URL): { Authorization: string } | undefined {
  if (url.username === '' && url.password === '') return undefined;
  const pair = `${decode(url.username)}:${decode(url.password)}`;
  return { Authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that stands for itself
  }
}
