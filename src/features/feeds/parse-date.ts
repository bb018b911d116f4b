import { DAY, HOUR, MINUTE, SECOND } from '../../platform/clock.ts';
import { AMBIGUOUS, ENGLISH, monthsOf, monthsOfAll, plainWords, type MonthNames } from './month-names.ts';
import { CLOCK_TIME, tidyDate, withoutMarkup } from './tidy-date.ts';

type TimeOfDay = { sinceMidnight: number; zone: string; rest: string };
type YearMonthDay = { year: number; month: number; day: number };

const MAX_LENGTH = 120;
const EARLIEST_YEAR = 1900;
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const ISO_DATE = /^(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?=$|[Tt\s])/;
const ORDINAL_DATE = /^(\d{4})-?(\d{3})(?=$|[Tt\s])/;
const COMPACT_DATE = /^(\d{4})(\d\d)(\d\d)(?:[Tt\s]?(\d\d)(\d\d)(\d\d)?)?(?=$|[Zz\s+-])/;
const OFFSET = /^(?:UTC|GMT|UT|Z)?\s*([+-])(\d{1,2}):?(\d{2})?(?!\d)/i;

const USUAL_DATE = /^(?:[A-Z][a-z]{2}, )?(\d\d?) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) ([A-Z]{2,4}|[+-]\d{4})$/;

/** Three numbers of a date with the same sign between them; not the year of an emperor (`令和8`). */
const NUMERIC_DATE = /(?<![\p{L}\d])(\d+)\s?([-/.])\s?(\d+)\s?\2\s?(\d+)/u;
const WEEK_DATE = /^(\d{4})-?W(\d\d)(?:-?([1-7]))?(?=$|[Tt\s])/;

const ENGLISH_STEMS = new Map(ENGLISH.map((name, month) => [name.slice(0, 3), month]));
const NEITHER_ENGLISH_NOR_CLDR = new Map([['mrz', 2], ['maerz', 2]]);
/** What a weekday is called where its name begins like a month: mar. (mardi, martes, martedì). */
const LIKE_A_WEEKDAY = 'mar';
const ENGLISH_WEEKDAY = /^(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?$/;

/** Minutes east of Greenwich by zone abbreviation, as feeds use them. Military letters mean UTC (RFC 5322, 4.3). */
const ZONES = new Map<string, number>([
  ['z', 0], ['ut', 0], ['utc', 0], ['gmt', 0], ['wet', 0], ['west', 60], ['bst', 60], ['cet', 60], ['cest', 120],
  ['met', 60], ['mest', 120], ['mez', 60], ['mesz', 120], ['eet', 120], ['eest', 180], ['sast', 120], ['msk', 180],
  ['msd', 240], ['trt', 180], ['gst', 240], ['pkt', 300], ['ist', 330], ['npt', 345], ['ict', 420], ['wib', 420],
  ['sgt', 480], ['hkt', 480], ['awst', 480], ['pht', 480], ['jst', 540], ['kst', 540], ['acst', 570], ['acdt', 630],
  ['aest', 600], ['aedt', 660], ['nzst', 720], ['nzdt', 780], ['nst', -210], ['ndt', -150], ['ast', -240],
  ['adt', -180], ['est', -300], ['edt', -240], ['et', -300], ['cst', -360], ['cdt', -300], ['ct', -360],
  ['mst', -420], ['mdt', -360], ['mt', -420], ['pst', -480], ['pdt', -420], ['pt', -480], ['akst', -540],
  ['akdt', -480], ['hst', -600], ['brt', -180], ['art', -180], ['clt', -240],
]);

/**
 * Unix ms, or null if the text is no date; a date without a time zone counts as UTC. Reads ISO 8601 with missing parts,
 * RFC 822, RFC 850 and asctime with common errors, month names of the languages that CLDR knows, and unix times. A year
 * before 1900 gives null, and a year after 9999 the end of 9999. `language` (BCP 47) decides names of two months.
 */
export function parseDate(text: string, language: string | null = null): number | null {
  const written = text.includes('<') ? withoutMarkup(text) : text;
  const trimmed = written.trim();
  if (trimmed === '' || trimmed.length > MAX_LENGTH || !/\p{Nd}/u.test(trimmed)) return null;
  const usual = fromUsual(trimmed);
  if (usual !== null) return usual;
  const tidy = tidyDate(trimmed);
  return fromNumber(tidy) ?? fromCompact(tidy) ?? fromIso(tidy) ?? fromWeek(tidy) ?? fromWords(tidy, language);
}

/** Parses RFC 822 as most feeds write it: this is quicker than to look for the parts of a date. */
function fromUsual(text: string): number | null {
  const parts = USUAL_DATE.exec(text);
  const month = ENGLISH_STEMS.get(parts?.[2]?.toLowerCase() ?? '');
  const zone = parts?.[7] ?? '';
  if (parts === null || month === undefined || zoneMinutes(zone, 0) === null) return null; // PM is no zone
  const time = timeOfDay(Number(parts[4]), Number(parts[5]), Number(parts[6]));
  return time === null ? null : instant({ year: Number(parts[3]), month, day: Number(parts[1]) }, time, zone);
}

/** Parses a number as unix seconds; a number with 12 or more digits as unix milliseconds. */
function fromNumber(text: string): number | null {
  if (!/^\d{9,13}(?:\.\d+)?$/.test(text) || /^(?:19|20)\d{10}$/.test(text)) return null;
  const value = Number(text);
  return Math.round(value >= 1e11 ? value : value * SECOND);
}

/** Parses dates such as `20031231`, `20031231T101455Z` and `200312311014`. */
function fromCompact(text: string): number | null {
  const parts = COMPACT_DATE.exec(text);
  if (parts === null) return null;
  const [all, year, month, day, hours = 0, minutes = 0, seconds = 0] = parts;
  const clock = parts[4] === undefined ? readTime(text.slice(all.length)) : null;
  const time = clock?.sinceMidnight ?? timeOfDay(Number(hours), Number(minutes), Number(seconds)) ?? 0;
  const date = { year: Number(year), month: Number(month) - 1, day: Number(day) };
  return instant(date, time, clock?.zone ?? text.slice(all.length));
}

/** Parses `2003`, `2003-12`, `2003-12-31` and the ordinal date `2003-365`; a time may follow a date that has a day. */
function fromIso(text: string): number | null {
  const ordinal = ORDINAL_DATE.exec(text);
  const parts = ordinal ?? ISO_DATE.exec(text);
  if (parts === null) return null;
  const [all, year, second, third] = parts;
  const rest = text.slice(all.length).replace(/^[Tt]/, '').trim();
  if (ordinal === null && third === undefined && rest !== '') return null;
  const time = readTime(rest);
  const sinceMidnight = time?.sinceMidnight ?? 0;
  if (ordinal !== null) {
    const days = Number(second) - 1;
    const isInYear = new Date(Date.UTC(Number(year), 0, days + 1)).getUTCFullYear() === Number(year);
    const newYear = { year: Number(year), month: 0, day: 1 };
    return isInYear ? instant(newYear, days * DAY + sinceMidnight, time?.zone ?? '') : null;
  }
  const date = { year: Number(year), month: Number(second ?? 1) - 1, day: Number(third ?? 1) };
  return instant(date, sinceMidnight, time?.zone ?? '');
}

/** Parses the week dates of ISO 8601, such as `2026-W11-6`. Week 1 is the week of 4 January, and begins on a Monday. */
function fromWeek(text: string): number | null {
  const parts = WEEK_DATE.exec(text);
  if (parts === null) return null;
  const [all, year, week, day = 1] = parts;
  const fourth = Date.UTC(Number(year), 0, 4);
  const sinceMonday = (new Date(fourth).getUTCDay() + 6) % 7;
  const time = readTime(text.slice(all.length).replace(/^[Tt]/, '').trim());
  if (Number(week) < 1 || Number(week) > 53) return null;
  const days = (Number(week) - 1) * 7 + Number(day) - 1 - sinceMonday;
  return instant({ year: Number(year), month: 0, day: 4 }, days * DAY + (time?.sinceMidnight ?? 0), time?.zone ?? '');
}

/** Parses a date in words, such as "3 May 2024, 10:00 GMT": takes out time and zone, then finds day, month and year. */
function fromWords(text: string, language: string | null): number | null {
  const time = readTime(text);
  const date = readDate(time?.rest ?? text, time !== null, language);
  return date === null ? null : instant(date, time?.sinceMidnight ?? date.sinceMidnight, time?.zone ?? date.zone);
}

function readTime(text: string): TimeOfDay | null {
  const match = CLOCK_TIME.exec(text);
  if (match === null) return null;
  const [all, hours, minutes, seconds = '0', fraction = ''] = match;
  const after = text.slice(match.index + all.length).trimStart();
  const half = /^(?:([ap])\.?\s?m\b\.?|π\.?\s?μ\.?|ص|(μ\.?\s?μ\.?|م)(?!\p{L}))/iu.exec(after);
  const zoned = half === null ? after : after.slice(half[0].length).trimStart();
  const zone = OFFSET.exec(zoned)?.[0] ?? /^[a-z]+(?:[/_][a-z_]+)*/i.exec(zoned)?.[0] ?? '';
  const isZone = zone === '' || zoneMinutes(zone, 0) !== null;
  const isLate = half !== null && (half[1]?.toLowerCase() === 'p' || half[2] !== undefined);
  const hour = half === null ? Number(hours) : hourOfHalf(Number(hours), isLate);
  const whole = timeOfDay(hour, Number(minutes), Number(seconds));
  if (whole === null) return null;
  const sinceMidnight = whole + Math.floor(Number(`0.${fraction || 0}`) * SECOND);
  const rest = `${text.slice(0, match.index)} ${isZone ? zoned.slice(zone.length) : zoned}`;
  return { sinceMidnight, zone: isZone ? zone : '', rest };
}

/** Converts a time to milliseconds since midnight; accepts 24:00 and leap seconds; null for an impossible time. */
function timeOfDay(hours: number, minutes: number, seconds: number): number | null {
  if (hours > 24 || minutes > 59 || seconds > 60) return null;
  return hours * HOUR + minutes * MINUTE + seconds * SECOND;
}

function hourOfHalf(hours: number, isLate: boolean): number {
  return hours > 12 ? hours : (hours % 12) + (isLate ? 12 : 0);
}

/** Day, month and year in words or numbers; four digits may be a time if no time of day was found before. */
function readDate(
  text: string, hasTime: boolean, language: string | null,
): (YearMonthDay & { sinceMidnight: number; zone: string }) | null {
  const zone = (text.match(/[a-z]{2,5}/gi) ?? []).find((word) => zoneOffset(word) !== null) ?? '';
  const numeric = numericDate(text);
  if (numeric !== null) return { ...numeric, sinceMidnight: 0, zone };
  const [a, b, c] = text.match(/\d+/g) ?? [];
  const month = a === undefined || (b === undefined && a.length !== 4) ? null : monthIn(text, language);
  if (a === undefined || month === null) return null;
  if (b === undefined) return { year: Number(a), month, day: 1, sinceMidnight: 0, zone };
  const isTime = !hasTime && c?.length === 4 && Number(c) < 2400;
  const sinceMidnight = isTime ? Number(c.slice(0, 2)) * HOUR + Number(c.slice(2)) * MINUTE : 0;
  const [year, day] = a.length > 2 ? [a, b] : [b, a];
  return { year: fullYear(year), month, day: Number(day), sinceMidnight, zone };
}

/**
 * The first number is the year if it has four digits or the form is `99-12-31`, otherwise the day if dots or dashes
 * separate the numbers or if it exceeds 12, otherwise the month.
 */
function numericDate(text: string): YearMonthDay | null {
  const [, a, sign, b, c] = NUMERIC_DATE.exec(text) ?? [];
  if (a === undefined || b === undefined || c === undefined) return null;
  const isShortIso = sign === '-' && a.length === 2 && b.length === 2 && c.length === 2 && Number(c) <= 31;
  if (a.length >= 4 || isShortIso) return { year: fullYear(a), month: Number(b) - 1, day: Number(c) };
  const dayFirst = sign !== '/' || Number(a) > 12;
  const [day, month] = dayFirst ? [a, b] : [b, a];
  return { year: fullYear(c), month: Number(month) - 1, day: Number(day) };
}

/** A year of two digits means 1950 to 2049; a year of three digits counts from 1900 (RFC 5322, 4.3). */
function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length === 3) return 1900 + year;
  return digits.length > 2 ? year : year + (year < 50 ? 2000 : 1900);
}

function instant(date: YearMonthDay, sinceMidnight: number, zone: string): number | null {
  const { year, month, day } = date;
  if (year < EARLIEST_YEAR || month < 0 || month > 11) return null;
  const midnight = Date.UTC(Math.min(year, 10_000), month, day);
  if (new Date(midnight).getUTCDate() !== day) return null; // Date.UTC turns 31 April into 1 May
  const asUtc = midnight + sinceMidnight;
  return Math.min(asUtc - (zoneMinutes(zone.trim(), asUtc) ?? 0) * MINUTE, LATEST);
}

/** Converts `+01:00`, `GMT+1`, `EST` or `America/New_York` to minutes east of Greenwich; returns null otherwise. */
function zoneMinutes(zone: string, at: number): number | null {
  const offset = OFFSET.exec(zone);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3] ?? 0);
    return Math.max(-12 * 60, Math.min(14 * 60, offset[1] === '-' ? -minutes : minutes));
  }
  return zone.includes('/') ? placeOffset(zone, at) : zoneOffset(zone);
}

/** Minutes east of Greenwich at about the given time, for a name of the time zone database. */
function placeOffset(place: string, at: number): number | null {
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: place, timeZoneName: 'longOffset' });
    const name = format.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? '';
    const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)/.exec(name) ?? [];
    const total = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
    return sign === '-' ? -total : total;
  } catch {
    return null;
  }
}

/** The month that a date names: in English, else in the feed's language, else in any; null if none or ambiguous. */
function monthIn(text: string, language: string | null): number | null {
  const words = plainWords(text).filter((word) => zoneOffset(word) === null && !ENGLISH_WEEKDAY.test(word));
  const at = words.findLastIndex((word) => english(word) !== undefined);
  const weekday = at === 0 && words[0] === LIKE_A_WEEKDAY && words.some((word) => word.length > 2 && word !== words[0]);
  if (at !== -1 && !weekday) return english(words[at] ?? '') ?? null;
  const own = language === null ? undefined : lastMonth(words, monthsOf(language));
  const found = own ?? lastMonth(words, monthsOfAll()) ?? misspelt(words);
  return found === undefined || found === AMBIGUOUS ? null : found;
}

function english(word: string): number | undefined {
  const month = ENGLISH_STEMS.get(word.slice(0, 3));
  return month !== undefined && ENGLISH[month]?.startsWith(word) ? month : NEITHER_ENGLISH_NOR_CLDR.get(word);
}

/** The month of the last word, or pair of words, that names one; a weekday before it may have such a name, too. */
function lastMonth(words: string[], names: MonthNames): number | undefined {
  for (let at = words.length - 1; at >= 0; at -= 1) {
    const word = words[at] ?? '';
    const month = (at > 0 ? names.get(`${words[at - 1]} ${word}`) : undefined) ?? names.get(word);
    if (month !== undefined) return month;
  }
  return undefined;
}

function misspelt(words: string[]): number | undefined {
  const word = words.findLast((each) => ENGLISH_STEMS.has(each.slice(0, 3)) && !each.startsWith(LIKE_A_WEEKDAY));
  return ENGLISH_STEMS.get(word?.slice(0, 3) ?? '');
}

/** Converts the abbreviation of a time zone to minutes east of Greenwich; returns null for any other text. */
function zoneOffset(word: string): number | null {
  return ZONES.get(word.toLowerCase()) ?? (/^[a-ik-z]$/i.test(word) ? 0 : null);
}
