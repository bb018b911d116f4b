import { isoTime } from '../../platform/clock.ts';
import type { AlertFormat } from '../hub/settings.ts';
import { chatBody, gotifyBody, ntfyHeaders, ntfyText } from './alert-bodies.ts';
import { messageOf, type Alert, type Message } from './alert-text.ts';

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

type Rule = { format: AlertFormat; matches: (url: URL) => boolean };

// Names that a topic of ntfy cannot have.
const RESERVED_TOPICS = new Set([
  'docs', 'static', 'file', 'app', 'account', 'settings', 'pricing', 'signup', 'login', 'reset-password',
]);

const DISCORD_PATH = /^\/api\/(?:v\d+\/)?webhooks\/\d+\/[\w-]+/;

// The first that matches counts. Self-hosted receivers are told by their paths, whatever their hosts are called.
const RULES: Rule[] = [
  { format: 'slack', matches: (url) => isSlack(url) && url.pathname.startsWith('/services/') },
  { format: 'json', matches: isSlack }, // workflows and triggers there take JSON of their owner's making
  { format: 'slack', matches: (url) => isDiscord(url) && url.pathname.endsWith('/slack') },
  { format: 'discord', matches: isDiscord },
  { format: 'googlechat', matches: ({ hostname }) => hostname === 'chat.googleapis.com' },
  { format: 'teams', matches: isTeams },
  { format: 'rocketchat', matches: ({ pathname }) => /^(?:\/.+)?\/hooks\/\w+\/\w+(?:\/\w+)?\/?$/.test(pathname) },
  { format: 'mattermost', matches: ({ pathname }) => /^(?:\/.+)?\/hooks\/[a-z0-9]{26}\/?$/.test(pathname) },
  { format: 'mattermost', matches: ({ host, pathname }) => /^mattermost\..*\/hooks\/\w+$/.test(host + pathname) },
  { format: 'gotify', matches: (url) => url.pathname.endsWith('/message') && url.searchParams.has('token') },
  { format: 'ntfy', matches: isTopic },
];

/**
 * The format that an address looks like, for `auto`. A single path segment is taken for an ntfy topic; `json` for
 * whatever is not recognised.
 */
export function guessFormat(address: string): AlertFormat {
  const url = URL.parse(address);
  return RULES.find(({ matches }) => url !== null && matches(url))?.format ?? 'json';
}

function isSlack({ hostname }: URL): boolean {
  return hostname === 'hooks.slack.com' || hostname === 'hooks.slack-gov.com';
}

function isDiscord({ hostname, pathname }: URL): boolean {
  return /^(?:(?:ptb|canary)\.)?discord(?:app)?\.com$/.test(hostname) && DISCORD_PATH.test(pathname);
}

function isTeams({ hostname, pathname }: URL): boolean {
  return /\/workflows\/[^/]+\/triggers\/manual\/paths\/invoke\/?$/.test(pathname)
    || /\.(?:logic\.azure\.com|api\.powerplatform\.com|webhook\.office\.com)$/.test(hostname);
}

function isTopic({ pathname }: URL): boolean {
  const topic = /^\/([\w-]{1,64})\/?$/.exec(pathname)?.[1];
  return topic !== undefined && !RESERVED_TOPICS.has(topic);
}
