const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const TIME = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})';

// The three forms of RFC 9110 section 5.6.7: IMF-fixdate, RFC 850, asctime. All are UTC.
const FORMS = [
  new RegExp(`^\\w{3}, (?<day>\\d{2}) (?<month>\\w{3}) (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^\\w{6,9}, (?<day>\\d{2})-(?<month>\\w{3})-(?<year>\\d{2}) ${TIME} GMT$`),
  new RegExp(`^\\w{3} (?<month>\\w{3}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

// A delay too large to hold is to be taken as this many seconds (RFC 9111 section 1.2.2).
const MAX_DELTA_SECONDS = 2 ** 31;

/** Unix milliseconds of an HTTP-date, null when it is none. `now` places a two-digit year. */
export function parseHttpDate(text: string, now: number): number | null {
  for (const form of FORMS) {
    const parts = form.exec(text.trim())?.groups;
    if (parts) return instantOf(parts, now);
  }
  return null;
}

/** Whole seconds, capped at 2^31; null when the text is not a plain non-negative number. */
export function parseDeltaSeconds(text: string): number | null {
  return /^\d+$/.test(text) ? Math.min(Number(text), MAX_DELTA_SECONDS) : null;
}

function instantOf(parts: Record<string, string>, now: number): number | null {
  const [month, day] = [MONTHS.indexOf(parts['month'] ?? ''), Number(parts['day'])];
  const [hour, minute, second] = [Number(parts['hour']), Number(parts['minute']), Number(parts['second'])];
  const year = fullYear(parts['year'] ?? '', now);
  const date = new Date(Date.UTC(year, month, day, hour, minute, Math.min(second, 59))); // 60 is a leap second
  const exists = month >= 0 && date.getUTCDate() === day && date.getUTCHours() === hour && minute < 60 && second <= 60;
  return exists ? date.getTime() : null;
}

/** A two-digit year more than 50 years ahead is the last one that ended in those digits. */
function fullYear(text: string, now: number): number {
  if (text.length === 4) return Number(text);
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(text);
  return year > thisYear + 50 ? year - 100 : year;
}
