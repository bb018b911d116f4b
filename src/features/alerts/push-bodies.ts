import { linesOf, type Message, type Severity } from './alert.ts';
import { encodeHeader } from './encode-header.ts';
import { bytesOf, fitText } from './fit-text.ts';

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
