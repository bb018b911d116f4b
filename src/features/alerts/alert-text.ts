import { utcTime } from '../../platform/in-words.ts';
import { excerpt, singleLine, withoutControls } from '../../platform/markup/tidy-text.ts';
import type { Severity } from './alert-store.ts';

export type Alert = {
  title: string;
  text: string;
  severity?: Severity;
  event: string; // the alert's name for programs
  at: number; // unix ms
  hubUrl: string;
  suppressed: number; // how many alerts, raised since the last message about the condition, `text` leaves out
};

/** An alert whose texts are cleaned and cut to length, with the lines that follow the text. */
export type Message = {
  title: string;
  text: string;
  severity: Severity;
  repeats: string; // says how many alerts were not sent; empty if no alert was left out
  origin: string; // the alert's time, the alert's name, and the hub's address
};

const MAX = { title: 150, text: 20_000, event: 100 }; // characters
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g; // characters that change the direction of text

/** An empty title becomes the event, or “Alert” without one; an empty text becomes the title. */
export function toMessage(alert: Alert): Message {
  const event = excerpt(lineOf(alert.event), MAX.event);
  const title = excerpt(lineOf(alert.title), MAX.title) || event || 'Alert';
  const text = withoutControls(tidy(alert.text.slice(0, MAX.text))).trim();
  return {
    title,
    text: text || title,
    severity: alert.severity ?? 'warning',
    repeats: repeatsOf(alert.suppressed),
    origin: [utcTime(alert.at), event, alert.hubUrl].filter(Boolean).join(' · '),
  };
}

/** Joins the lines of an alert message: `text` (already escaped or cut to length), the repeats and the origin. */
export function messageLines({ repeats, origin }: Message, text: string): string {
  return [text, repeats, origin].filter(Boolean).join('\n');
}

function repeatsOf(suppressed: number): string {
  if (suppressed <= 0) return '';
  const subject = suppressed === 1 ? '1 more alert like this was' : `${suppressed} more alerts like this were`;
  return `(${subject} not sent since the last message)`;
}

function lineOf(text: string): string {
  return singleLine(tidy(text.slice(0, MAX.text)));
}

function tidy(text: string): string {
  return text.toWellFormed().replace(BIDI_CONTROLS, '');
}

const ZERO_WIDTH_SPACE = '\u200b';

const LINK = /(https?:\/\/[^\s<>"'`|\\()[\]*]+)/;
const BROADCAST = /@(?=(?:all|channel|everyone|here|group)\b)/gi;

/** Escapes Slack's control characters (& < >), and breaks up @, because some receivers read @ as a mention. */
export function escapeSlack(text: string): string {
  return outsideLinks(text, breakMentions)
    .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Escapes Markdown for Mattermost and Rocket.Chat; links stay links. Also replaces angle brackets: Mattermost and
 * Rocket.Chat obey Slack's `<!channel>` and `<url|label>`, and Markdown has no escape for the brackets.
 */
export function escapeMarkdown(text: string): string {
  const escape = (part: string) => breakMentions(escapeMarks(part)).replaceAll('<', '‹').replaceAll('>', '›');
  return outsideLinks(text, escape);
}

/** Escapes Markdown for Discord. The request to Discord turns off mentions. */
export function escapeDiscord(text: string): string {
  return outsideLinks(text, (part) => escapeMarks(part).replace(/[<>]/g, '\\$&'));
}

/** Inserts a zero-width space after `<`, because Google Chat has no escape for `<users/all>` and `<url|label>`. */
export function escapeGoogleChat(text: string): string {
  return text.replaceAll('<', `<${ZERO_WIDTH_SPACE}`);
}

/** Escapes the Markdown of Adaptive Cards: breaks up labelled links, and doubles line breaks. */
export function escapeCard(text: string): string {
  return text.replaceAll('](', `]${ZERO_WIDTH_SPACE}(`).replace(/\n+/g, '\n\n');
}

function escapeMarks(text: string): string {
  return text
    .replace(/[\\`*_~|[\]#]/g, '\\$&')
    .replace(/^([ \t]*)([-+]|\d+[.)])(?=\s)/gm, (_, space: string, mark: string) => {
      return `${space}${mark.slice(0, -1)}\\${mark.slice(-1)}`;
    });
}

function breakMentions(text: string): string {
  return text.replaceAll('@', `@${ZERO_WIDTH_SPACE}`);
}

/** Applies `change` to an alert's text except in links. In links, breaks up only mentions of everybody (@all). */
function outsideLinks(text: string, change: (part: string) => string): string {
  return text.split(LINK).map((part, index) => {
    return index % 2 === 0 ? change(part) : part.replace(BROADCAST, `@${ZERO_WIDTH_SPACE}`);
  }).join('');
}

const SHRINK = 0.85;

/**
 * Renders a text, shortened until `measure` of the result is at most `limit`. It is cut before `render` escapes it, so
 * that no escape is cut in half.
 */
export function fitText(
  text: string, limit: number, render: (text: string) => string,
  measure: (rendered: string) => number = ({ length }) => length,
): string {
  for (let length = Math.min(text.length, limit); ; length = Math.floor(length * SHRINK)) {
    const rendered = render(excerpt(text, length));
    if (length === 0 || measure(rendered) <= limit) return rendered;
  }
}

const WORD_START = '=?UTF-8?B?';
const WORD_END = '?=';
const WORD_BYTES = 45; // bytes: 60 characters of base64, because an encoded word has at most 75 (RFC 2047, section 2)

/** Keeps a header value of ASCII without `=?`; encodes others in words (RFC 2047) that never split a character. */
export function encodeHeaderValue(text: string): string {
  const line = text.toWellFormed().replace(/\s+/g, ' ').trim();
  if (/^[ -~]*$/.test(line) && !line.includes('=?')) return line;
  return chunksOf(line).map((chunk) => WORD_START + Buffer.from(chunk).toString('base64') + WORD_END).join(' ');
}

function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let chunk = '';
  for (const character of text) {
    if (Buffer.byteLength(chunk + character) > WORD_BYTES) {
      chunks.push(chunk);
      chunk = '';
    }
    chunk += character;
  }
  return [...chunks, chunk];
}
