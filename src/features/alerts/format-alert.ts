import { isoTime } from '../../platform/clock.ts';
import type { AlertFormat } from '../hub/settings.ts';
import {
  encodeHeaderValue, escapeCard, escapeDiscord, escapeGoogleChat, escapeMarkdown, escapeSlack, fitText, messageLines,
  toMessage, type Alert, type Message,
} from './alert-text.ts';
import type { Severity } from './alert-store.ts';

/** HTTP request that delivers an alert. Headers are ASCII. */
export type AlertRequest = { method: 'POST'; url: string; headers: Record<string, string>; body: string };

const JSON_TYPE = 'application/json; charset=utf-8';

/** Throws a TypeError if `address` is no valid URL. */
export function formatAlert(format: AlertFormat, address: string, alert: Alert): AlertRequest {
  const url = URL.parse(address);
  if (url === null) throw new TypeError('the address of the alert receiver is not valid');
  url.hash = '';
  // Without the parameter `wait`, Discord's answer does not tell whether Discord stored the message.
  if (format === 'discord' && !url.searchParams.has('wait')) url.searchParams.append('wait', 'true');
  const message = toMessage(alert);
  const { headers, body } = format === 'ntfy'
    ? ntfyContent(message, alert.hubUrl)
    : { headers: { 'Content-Type': JSON_TYPE }, body: JSON.stringify(jsonFor(format, alert, message)) };
  return { method: 'POST', url: url.href, headers, body };
}

function jsonFor(format: Exclude<AlertFormat, 'ntfy'>, alert: Alert, message: Message): object {
  switch (format) {
    case 'slack': return slackBody(message);
    case 'mattermost': return { text: markdownText(message, '**', MAX.mattermost) };
    case 'rocketchat': return { text: markdownText(message, '*', MAX.rocketchat) };
    case 'discord': return discordBody(message);
    case 'googlechat': return googleChatBody(message);
    case 'teams': return teamsBody(message);
    case 'gotify': return gotifyBody(message, alert.hubUrl);
    case 'json': return plainBody(alert, message);
  }
}

/** The request body for a receiver that is a program: no text is escaped. */
function plainBody({ event, at, hubUrl, suppressed }: Alert, { title, text, severity }: Message): object {
  return { event, severity, title, text, at: isoTime(at), hubUrl, suppressed };
}

// Reserved names on ntfy servers, which no ntfy topic can have.
const RESERVED_TOPICS = new Set([
  'docs', 'static', 'file', 'app', 'account', 'settings', 'pricing', 'signup', 'login', 'reset-password',
]);

const DISCORD_PATH = /^\/api\/(?:v\d+\/)?webhooks\/\d+\/[\w-]+/;

// The first rule that fits the address decides. Self-hosted receivers are recognised mostly by their paths.
const RULES: { format: AlertFormat; matches: (url: URL) => boolean }[] = [
  { format: 'slack', matches: (url) => isSlack(url) && url.pathname.startsWith('/services/') },
  { format: 'json', matches: isSlack }, // Slack workflows and triggers accept plain JSON only
  { format: 'slack', matches: (url) => isDiscord(url) && url.pathname.endsWith('/slack') },
  { format: 'discord', matches: isDiscord },
  { format: 'googlechat', matches: ({ hostname }) => hostname === 'chat.googleapis.com' },
  { format: 'teams', matches: isTeams },
  { format: 'rocketchat', matches: ({ pathname }) => /^(?:\/.+)?\/hooks\/\w+\/\w+(?:\/\w+)?\/?$/.test(pathname) },
  { format: 'mattermost', matches: ({ pathname }) => /^(?:\/.+)?\/hooks\/[a-z0-9]{26}\/?$/.test(pathname) },
  { format: 'mattermost', matches: ({ host, pathname }) => /^mattermost\..*\/hooks\/\w+$/.test(host + pathname) },
  { format: 'gotify', matches: (url) => url.pathname.endsWith('/message') && url.searchParams.has('token') },
  { format: 'ntfy', matches: (url) => isTopic(url) && isNtfy(url) },
];

/** The format for `auto`; an address that fits no rule gets `json`. */
export function guessFormat(address: string): AlertFormat {
  const url = URL.parse(address);
  return RULES.find(({ matches }) => url !== null && matches(url))?.format ?? 'json';
}

/** Whether version 1.0, with the format `auto`, took this address for an ntfy topic; later versions send JSON to it. */
export function wasTakenForTopic(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && isTopic(url) && !RULES.some(({ matches }) => matches(url));
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

function isNtfy({ hostname, password, searchParams }: URL): boolean {
  return /^ntfy(?:\.|$)/.test(hostname) || password.startsWith('tk_') || searchParams.has('auth');
}

function isTopic({ pathname }: URL): boolean {
  const topic = /^\/([\w-]{1,64})\/?$/.exec(pathname)?.[1];
  return topic !== undefined && !RESERVED_TOPICS.has(topic);
}

const LOOKS = {
  error: { mark: '🔴', colour: 0xe01e5a, card: 'Attention', tag: 'red_circle', ntfy: 'high', gotify: 8 },
  warning: { mark: '🟠', colour: 0xde9e31, card: 'Warning', tag: 'orange_circle', ntfy: 'default', gotify: 5 },
  info: { mark: '🔵', colour: 0x3b88c3, card: 'Accent', tag: 'blue_circle', ntfy: 'low', gotify: 2 },
  resolved: { mark: '🟢', colour: 0x2eb886, card: 'Good', tag: 'green_circle', ntfy: 'default', gotify: 5 },
} satisfies Record<Severity, object>;

// The most characters of an escaped message (to Slack and Discord, without its title). The services accept more, or cut
// the message off.
const MAX = { slack: 3_000, mattermost: 4_000, rocketchat: 1_000, discord: 4_000, googlechat: 4_000 };
const MAX_CARD_BYTES = 20_000; // the text of a card as JSON; Teams limits the whole card to 28 KB

/** Slack parses none of its texts as markup (mrkdwn). `fallback`: what notifications show. */
function slackBody(message: Message): object {
  const title = escapeSlack(message.title);
  const text = fitText(message.text, MAX.slack, (part) => escapeSlack(messageLines(message, part)));
  const color = `#${LOOKS[message.severity].colour.toString(16).padStart(6, '0')}`;
  return { text: title, mrkdwn: false, attachments: [{ color, fallback: title, text, mrkdwn_in: [] }] };
}

/** `strong`: the characters around bold text. The body names no channel: receivers may refuse one that is named. */
function markdownText(message: Message, strong: string, limit: number): string {
  const title = `${LOOKS[message.severity].mark} ${strong}${escapeMarkdown(message.title)}${strong}`;
  return fitText(message.text, limit, (part) => `${title}\n${escapeMarkdown(messageLines(message, part))}`);
}

function discordBody(message: Message): object {
  const description = fitText(message.text, MAX.discord, (part) => escapeDiscord(messageLines(message, part)));
  return {
    content: `**${escapeDiscord(message.title)}**`,
    embeds: [{ description, color: LOOKS[message.severity].colour }],
    allowed_mentions: { parse: [] },
  };
}

function googleChatBody(message: Message): object {
  const title = `${LOOKS[message.severity].mark} *${escapeGoogleChat(message.title)}*`;
  const render = (part: string) => `${title}\n${escapeGoogleChat(messageLines(message, part))}`;
  return { text: fitText(message.text, MAX.googlechat, render) };
}

function teamsBody(message: Message): object {
  const text = fitText(message.text, MAX_CARD_BYTES, escapeCard, (part) => Buffer.byteLength(JSON.stringify(part)));
  const footer = escapeCard([message.repeats, message.origin].filter(Boolean).join('\n'));
  const color = LOOKS[message.severity].card;
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      { type: 'TextBlock', text: escapeCard(message.title), weight: 'Bolder', size: 'Medium', wrap: true, color },
      { type: 'TextBlock', text, wrap: true },
      { type: 'TextBlock', text: footer, wrap: true, isSubtle: true, size: 'Small' },
    ],
    msteams: { width: 'full' },
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
}

const MAX_NTFY_BYTES = 4_000; // ntfy turns a message of 4,096 bytes or more into an attachment
const MAX_GOTIFY = 4_000; // characters

/** The request for an ntfy topic: a text with headers, because ntfy takes JSON only at the server's root. */
function ntfyContent(message: Message, hubUrl: string): Pick<AlertRequest, 'headers' | 'body'> {
  const { ntfy, tag } = LOOKS[message.severity];
  const headers = {
    'Content-Type': 'text/plain; charset=utf-8',
    Title: encodeHeaderValue(message.title), Priority: ntfy, Tags: tag, Click: encodeHeaderValue(hubUrl),
  };
  const write = (text: string): string => messageLines(message, text);
  return { headers, body: fitText(message.text, MAX_NTFY_BYTES, write, Buffer.byteLength) };
}

function gotifyBody(message: Message, hubUrl: string): object {
  return {
    title: message.title,
    message: fitText(message.text, MAX_GOTIFY, (part) => messageLines(message, part)),
    priority: LOOKS[message.severity].gotify,
    extras: { 'client::display': { contentType: 'text/plain' }, 'client::notification': { click: { url: hubUrl } } },
  };
}
