import { isoTime } from '../clock.ts';
import { html, type Html } from './html.ts';

const DATE: Intl.DateTimeFormatOptions = { day: 'numeric', year: 'numeric', timeZone: 'UTC' };
const DAY: Intl.DateTimeFormatOptions = { ...DATE, month: 'long' };
const TIME: Intl.DateTimeFormatOptions = { ...DATE, month: 'short', hour: '2-digit', minute: '2-digit' };

// Made at their first use: the first Intl object of a process takes 15 ms.
let dayFormat: Intl.DateTimeFormat | undefined;
let timeFormat: Intl.DateTimeFormat | undefined;
const timeText = (at: number): string => (timeFormat ??= new Intl.DateTimeFormat('en-GB', TIME)).format(at);

/** A day for people, in UTC, with the exact time for machines; `at` in unix ms. Never "3 hours ago": pages are kept. */
export function day(at: number): Html {
  dayFormat ??= new Intl.DateTimeFormat('en-GB', DAY);
  const [machine, exact] = [isoTime(at), timeText(at)];
  return html`<time datetime="${machine}" title="${exact} UTC">${dayFormat.format(at)}</time>`;
}

/** A day and time for people, in UTC; `at` in unix ms. */
export function moment(at: number): Html {
  return html`<time datetime="${isoTime(at)}">${timeText(at)} UTC</time>`;
}
