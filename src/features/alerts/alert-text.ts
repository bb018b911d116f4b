import { utcTime } from '../../platform/in-words.ts';
import { excerpt, singleLine, withoutControls } from '../../platform/markup/tidy-text.ts';
import type { Severity } from './alert-store.ts';

/**
 * What is to be told. `event` is the event's name for programs, `at` unix ms, `hubUrl` the hub's public address,
 * `suppressed` how many like it were held back since the last message. Title and text are plain, of any characters.
 */
export type Alert = {
  title: string;
  text: string;
  severity?: Severity;
  event: string;
  at: number;
  hubUrl: string;
  suppressed: number;
};

/** An alert made tidy and bounded, with the lines that every receiver gets below its text. */
export type Message = {
  title: string;
  text: string;
  severity: Severity;
  /** How many more there were; empty where none was held back. */
  repeats: string;
  /** When, which event, which hub. */
  origin: string;
};

const MAX = { title: 150, text: 20_000, event: 100 }; // characters
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g; // they would reorder what stands around them

/** The parts of a message; a title or text that is empty gets words of its own. */
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

/** Text, repeats and origin below one another; `text` may be another writing of the message's. */
export function messageLines({ repeats, origin }: Message, text: string): string {
  return [text, repeats, origin].filter(Boolean).join('\n');
}

function repeatsOf(suppressed: number): string {
  if (suppressed <= 0) return '';
  const subject = suppressed === 1 ? '1 more like this was' : `${suppressed} more like this were`;
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

/** Slack's control characters (& < >) as entities, and no @ that another receiver of its format takes for a mention. */
export function escapeSlack(text: string): string {
  return outsideLinks(text, breakMentions)
    .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Markdown as Mattermost and Rocket.Chat read it, without formatting and mentions; links stay links. Angle brackets
 * are replaced, since both read Slack's `<!channel>` and `<url|label>` too and know no escape for them.
 */
export function escapeMarkdown(text: string): string {
  const escape = (part: string) => breakMentions(escapeMarks(part)).replaceAll('<', '‹').replaceAll('>', '›');
  return outsideLinks(text, escape);
}

/** As `escapeMarkdown`; mentions are turned off in Discord's request itself. */
export function escapeDiscord(text: string): string {
  return outsideLinks(text, (part) => escapeMarks(part).replace(/[<>]/g, '\\$&'));
}

/** Google Chat has no escape: what follows `<`, as in `<users/all>` or `<url|label>`, is moved away from it. */
export function escapeGoogleChat(text: string): string {
  return text.replaceAll('<', `<${ZERO_WIDTH_SPACE}`);
}

/** The Markdown of Adaptive Cards: no links with a label of their own, and every line a line. */
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

/** Changes what stands between links. Within one, an @ that would call everybody is broken all the same. */
function outsideLinks(text: string, change: (part: string) => string): string {
  return text.split(LINK).map((part, index) => {
    return index % 2 === 0 ? change(part) : part.replace(BROADCAST, `@${ZERO_WIDTH_SPACE}`);
  }).join('');
}

const SHRINK = 0.85;

/**
 * What `render` makes of as much of the text as leaves it within `limit`, in characters unless `measure` counts
 * otherwise. The text is cut before it is escaped, so that no escape is cut in half.
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
const WORD_BYTES = 45; // as 60 characters of base64; an encoded word may have 75 in all (RFC 2047, section 2)

/**
 * Text as a header value in ASCII: as it is where it is visible ASCII that does not look encoded, else as encoded words
 * (RFC 2047), none of which holds part of a character.
 */
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
