import {
  bytesOf, encodeHeader, escapeCard, escapeDiscord, escapeGoogleChat, escapeMarkdown, escapeSlack, fitText, linesOf,
  type Message,
} from './alert-text.ts';
import type { Severity } from './troubles.ts';

type ChatFormat = 'slack' | 'mattermost' | 'rocketchat' | 'discord' | 'googlechat' | 'teams';

const MARKS: Record<Severity, string> = { error: '🔴', warning: '🟠', info: '🔵', resolved: '🟢' };
const COLOURS: Record<Severity, number> = { error: 0xe01e5a, warning: 0xde9e31, info: 0x3b88c3, resolved: 0x2eb886 };
const CARD_COLOURS: Record<Severity, string> = {
  error: 'Attention', warning: 'Warning', info: 'Accent', resolved: 'Good',
};

// Characters after escaping, but for Teams. Receivers take more or cut by themselves; a phone shows less.
const MAX = { slack: 3_000, mattermost: 4_000, rocketchat: 1_000, discord: 4_000, googlechat: 4_000 };
const MAX_CARD_BYTES = 20_000; // of the text in a card, as JSON; the whole may have 28 KB

/** The JSON body for a chat service, in which nothing of the message formats or mentions anything. */
export function chatBody(format: ChatFormat, message: Message): object {
  switch (format) {
    case 'slack': return slackBody(message);
    case 'mattermost': return { text: markdownText(message, '**', MAX.mattermost) };
    case 'rocketchat': return { text: markdownText(message, '*', MAX.rocketchat) };
    case 'discord': return discordBody(message);
    case 'googlechat': return googleChatBody(message);
    case 'teams': return teamsBody(message);
  }
}

/** `fallback` is what notifications show. Neither text is read as mrkdwn. */
function slackBody(message: Message): object {
  const title = escapeSlack(message.title);
  const text = fitText(message.text, MAX.slack, (part) => escapeSlack(linesOf(message, part)));
  const color = `#${COLOURS[message.severity].toString(16).padStart(6, '0')}`;
  return { text: title, mrkdwn: false, attachments: [{ color, fallback: title, text, mrkdwn_in: [] }] };
}

/** `strong` stands around bold text. Never a channel: receivers refuse one unless that was allowed them. */
function markdownText(message: Message, strong: string, limit: number): string {
  const title = `${MARKS[message.severity]} ${strong}${escapeMarkdown(message.title)}${strong}`;
  return fitText(message.text, limit, (part) => `${title}\n${escapeMarkdown(linesOf(message, part))}`);
}

function discordBody(message: Message): object {
  const description = fitText(message.text, MAX.discord, (part) => escapeDiscord(linesOf(message, part)));
  return {
    content: `**${escapeDiscord(message.title)}**`,
    embeds: [{ description, color: COLOURS[message.severity] }],
    allowed_mentions: { parse: [] },
  };
}

function googleChatBody(message: Message): object {
  const title = `${MARKS[message.severity]} *${escapeGoogleChat(message.title)}*`;
  const render = (part: string) => `${title}\n${escapeGoogleChat(linesOf(message, part))}`;
  return { text: fitText(message.text, MAX.googlechat, render) };
}

/** An Adaptive Card, as the Workflows app takes it. */
function teamsBody(message: Message): object {
  const text = fitText(message.text, MAX_CARD_BYTES, escapeCard, (part) => bytesOf(JSON.stringify(part)));
  const footer = escapeCard([message.repeats, message.origin].filter(Boolean).join('\n'));
  const color = CARD_COLOURS[message.severity];
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

const NTFY: Record<Severity, { priority: string; tag: string }> = {
  error: { priority: 'high', tag: 'red_circle' },
  warning: { priority: 'default', tag: 'orange_circle' },
  info: { priority: 'low', tag: 'blue_circle' },
  resolved: { priority: 'default', tag: 'green_circle' },
};
const GOTIFY_PRIORITIES: Record<Severity, number> = { error: 8, warning: 5, info: 2, resolved: 5 };

const MAX_NTFY_BYTES = 4_000; // a longer message becomes an attachment from 4,096 on
const MAX_GOTIFY = 4_000; // characters

/** The headers of a message to a topic's address; JSON would have to go to another address, the server's root. */
export function ntfyHeaders({ title, severity }: Message, hubUrl: string): Record<string, string> {
  const { priority, tag } = NTFY[severity];
  return { Title: encodeHeader(title), Priority: priority, Tags: tag, Click: encodeHeader(hubUrl) };
}

/** The message itself, which ntfy shows as it is. */
export function ntfyText(message: Message): string {
  return fitText(message.text, MAX_NTFY_BYTES, (part) => linesOf(message, part), bytesOf);
}

export function gotifyBody(message: Message, hubUrl: string): object {
  return {
    title: message.title,
    message: fitText(message.text, MAX_GOTIFY, (part) => linesOf(message, part)),
    priority: GOTIFY_PRIORITIES[message.severity],
    extras: {
      'client::display': { contentType: 'text/plain' },
      'client::notification': { click: { url: hubUrl } },
    },
  };
}
