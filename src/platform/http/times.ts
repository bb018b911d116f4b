import { DAY, HOUR, isoTime, MINUTE, parseIsoTime, type Clock } from '../clock.ts';
import { duration } from '../in-words.ts';
import { html, type Html } from './html.ts';
import type { Viewer } from './router.ts';

/**
 * `now`: the current time for texts such as "5 min ago", null on pages for visitors, which may be cached.
 * `zone`: the time zone in which a page shows times, undefined for the time zone of this machine.
 */
export type Times = { now: number | null; zone: string | undefined };

/** How pages for visitors show times: never relative to the current time, because they may be cached. */
export const EVERYBODY: Times = { now: null, zone: undefined };

/** How pages for a viewer show times: relative to the current time, in the viewer's time zone. */
export function timesOf({ clock }: { clock: Clock }, viewer: Viewer | null): Times {
  return viewer ? { now: clock(), zone: viewer.preferences.timeZone ?? undefined } : EVERYBODY;
}

/**
 * `ago`: such as "5 min ago", "yesterday, 21:14" or "19 November". `row`, for rows below a heading with the day:
 * "5 min" or "21:14". `since`: "21:14", "yesterday" or "Thursday", else as `ago`. `exact`: "19 November 2026 at 21:14".
 */
type TimeForm = 'ago' | 'row' | 'since' | 'exact';

/** A time (unix ms) in words, with the exact time as its tooltip and for machines. */
export function showTime(times: Times, at: number, form: TimeForm = 'ago'): Html {
  const format = formatsOf(times.zone);
  return html`${format.tag(at)}${words(times, at, form, format)}</time>`;
}

/** Formats a time without markup, for the axes of plots: "21:14", "19 Nov", "19 Nov, 21:14". */
export function shortTime({ zone }: Times, at: number, form: 'clock' | 'day' | 'both'): string {
  const { clock, shortDate } = formatsOf(zone);
  if (form === 'clock') return clock(at);
  const day = shortDate.format(at);
  return form === 'day' ? day : `${day}, ${clock(at)}`;
}

/** Unix ms of an RFC 3339 time, or of a form's time (`2026-11-27T09:00`) in `zone`; undefined for other texts. */
export function wallTime(text: string, zone: string | undefined): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return parseIsoTime(text) ?? undefined;
  const wall = parseIsoTime(`${text.padEnd(19, ':00')}Z`);
  if (wall === null) return undefined;
  const { offset } = formatsOf(zone);
  // Near a change of clocks, the zone's offset at the UTC time `wall` may differ from the offset at the sought time.
  return wall - offset(wall - offset(wall));
}

/** A time in the viewer's time zone as forms send it: `2026-11-27T09:00`. */
export function shownWallTime({ zone }: Times, at: number): string {
  return isoTime(at + formatsOf(zone).offset(at)).slice(0, 16);
}

/** The day number of a time in the viewer's calendar: days since 1970, as if in UTC. */
export function dayNumber({ zone }: Times, at: number): number {
  return formatsOf(zone).dayNumber(at);
}

/** Formats the heading for the day of a time: "Today", "Yesterday", "Thursday 19 November". */
export function dayName(times: Times, at: number): string {
  const format = formatsOf(times.zone);
  const days = daysAgo(times.now, at, format);
  if (days === 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return (isOfThisYear(times.now, at, format) ? format.weekday : format.wholeDay).format(at).replace(',', '');
}

function words({ now }: Times, at: number, form: TimeForm, format: Formats): string {
  if (form === 'exact') return format.exact.format(at);
  const days = daysAgo(now, at, format);
  if (form === 'row') return rowText(now, days as number, at, format);
  if (now === null) return format.wholeDate.format(at);
  if (form === 'since' && days !== null && days >= 0 && days < 7) {
    return days === 0 ? format.clock(at) : days === 1 ? 'yesterday' : format.dayOfWeek.format(at);
  }
  if (at > now + MINUTE) return comingText(now, days as number, at, format);
  if (days === 0 || now - at < 3 * HOUR) return now - at < MINUTE ? 'just now' : `${duration(now - at)} ago`;
  if (days === 1) return `yesterday, ${format.clock(at)}`;
  return (isOfThisYear(now, at, format) ? format.date : format.wholeDate).format(at);
}

function rowText(now: number | null, days: number, at: number, format: Formats): string {
  if (now === null || days < 0) return format.date.format(at);
  if (days > 0 || at > now + MINUTE) return format.clock(at);
  return now - at < MINUTE ? 'now' : duration(now - at);
}

function comingText(now: number, days: number, at: number, format: Formats): string {
  if (at - now < DAY && days === 0) return `in ${duration(at - now)}`;
  if (days === -1) return `tomorrow, ${format.clock(at)}`;
  return (isOfThisYear(now, at, format) ? format.date : format.wholeDate).format(at);
}

/** Calendar days from a time to today, negative for coming days; null if `now` is null. */
function daysAgo(now: number | null, at: number, { dayNumber }: Formats): number | null {
  return now === null ? null : dayNumber(now) - dayNumber(at);
}

function isOfThisYear(now: number | null, at: number, { year }: Formats): boolean {
  return now !== null && year(now) === year(at);
}

type Formats = ReturnType<typeof makeFormats>;

/** The most time zones whose Intl.DateTimeFormat objects are cached; making them takes 0.1 ms, the first time 15 ms. */
const MOST_ZONES = 50;
const byZone = new Map<string | undefined, Formats>();

function formatsOf(zone: string | undefined): Formats {
  const found = byZone.get(zone);
  if (found) return found;
  if (byZone.size >= MOST_ZONES) byZone.clear();
  const made = makeFormats(isTimeZone(zone) ? zone : 'UTC');
  byZone.set(zone, made);
  return made;
}

function makeFormats(timeZone: string | undefined) {
  const make = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { ...options, timeZone });
  const time = { hour: '2-digit', minute: '2-digit' } as const;
  const date = { day: 'numeric', month: 'long' } as const;
  const numbers = make({ year: 'numeric', month: 'numeric', day: 'numeric' });
  const zone = make({ timeZoneName: 'short' });
  const longZone = make({ timeZoneName: 'longOffset' });
  const yearFormat = make({ year: 'numeric' });
  const exact = make({ ...date, year: 'numeric', ...time });
  const clock = make(time);
  const zoneName = known(QUARTER, (at) =>
    zone.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '');
  return {
    clock: known(MINUTE, (at) => clock.format(at)),
    date: make(date),
    shortDate: make({ day: 'numeric', month: 'short' }),
    dayOfWeek: make({ weekday: 'long' }),
    weekday: make({ ...date, weekday: 'long' }),
    wholeDay: make({ ...date, weekday: 'long', year: 'numeric' }),
    wholeDate: make({ ...date, year: 'numeric' }),
    exact,
    year: known(QUARTER, (at) => yearFormat.format(at)),
    /** The start tag of `<time>`, cached because many pages show the times of the same posts. */
    tag: known(1, (at) => html`<time datetime="${isoTime(at)}" title="${exact.format(at)} ${zoneName(at)}" dir="ltr">`),
    /** Milliseconds by which the time zone is ahead of UTC at a time. */
    offset(at: number): number {
      const [, sign, hours = '0', minutes = '0'] = /GMT([+-])(\d\d):?(\d\d)?/.exec(longZone.format(at)) ?? [];
      return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR + Number(minutes) * MINUTE);
    },
    dayNumber: known(QUARTER, (at) => {
      const [day = 0, month = 1, year = 0] = numbers.format(at).split('/').map(Number);
      return Date.UTC(year, month - 1, day) / DAY;
    }),
  };
}

/** Calendar days, and in our time nearly all time zone offsets, change at full quarters of an hour. */
const QUARTER = 15 * MINUTE;

const MOST_KNOWN = 1_000;

/** Caches values that hold for a whole span of time, because Intl takes longer than all other work for a list row. */
function known<Value>(span: number, read: (at: number) => Value): (at: number) => Value {
  const bySpan = new Map<number, Value>();
  return (at) => {
    const key = Math.floor(at / span);
    const found = bySpan.get(key);
    if (found !== undefined) return found;
    if (bySpan.size >= MOST_KNOWN) bySpan.clear();
    const value = read(at);
    bySpan.set(key, value);
    return value;
  };
}

/** Whether Intl knows a time zone; undefined stands for this machine's time zone. */
export function isTimeZone(name: string | undefined): boolean {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
}
