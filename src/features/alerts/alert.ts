import { isoTime } from '../../platform/clock.ts';
import { excerpt, singleLine, withoutControls } from '../../platform/markup/plain-text.ts';

export type Severity = 'error' | 'warning' | 'info' | 'resolved';

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
export function messageOf(alert: Alert): Message {
  const event = excerpt(lineOf(alert.event), MAX.event);
  const title = excerpt(lineOf(alert.title), MAX.title) || event || 'Alert';
  const text = withoutControls(tidy(alert.text.slice(0, MAX.text))).trim();
  const when = `${isoTime(alert.at).slice(0, 16).replace('T', ' ')} UTC`;
  return {
    title,
    text: text || title,
    severity: alert.severity ?? 'warning',
    repeats: repeatsOf(alert.suppressed),
    origin: [when, event, alert.hubUrl].filter(Boolean).join(' · '),
  };
}

/** Text, repeats and origin below one another; `text` may be another writing of the message's. */
export function linesOf({ repeats, origin }: Message, text: string): string {
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
