export const ENGLISH = [
  'january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november',
  'december',
];

const FORMS: Intl.DateTimeFormatOptions[] = [
  { month: 'long' }, { month: 'short' }, { month: 'long', day: 'numeric' }, { month: 'short', day: 'numeric' },
];
/** Regions and scripts whose names of months are others than those of the language elsewhere. */
const OTHER_NAMES = ['ar-SY', 'ar-DZ', 'ar-MA', 'de-AT', 'sr-Latn', 'uz-Cyrl', 'az-Cyrl', 'bs-Cyrl'];
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const SHORTEST = 3; // the fewest letters of an abbreviation

/** The value of a name that means two months, such as “listopada”: October in Croatian, November in Polish. */
export const AMBIGUOUS = -1;

/** Months (0 to 11, or AMBIGUOUS) by name or its beginning, as `plainWords` writes them, words joined by spaces. */
export type MonthNames = ReadonlyMap<string, number>;

const byLanguage = new Map<string, MonthNames>();
let all: MonthNames | undefined;

/** The words of a text in lower case and without the accents of Latin, Greek and Cyrillic letters. */
export function plainWords(text: string): string[] {
  return text.toLowerCase().normalize('NFD').replace(/[\u0300-\u036f]/g, '').match(/[\p{L}\p{M}]+/gu) ?? [];
}

/** The names of months in a language (BCP 47), built at first use; none if CLDR does not know it. */
export function monthsOf(tag: string): MonthNames {
  const language = tag.slice(0, 3).replace(/-.*/, '').toLowerCase();
  const known = byLanguage.get(language) ?? monthNames(Intl.DateTimeFormat.supportedLocalesOf(language));
  if (known.size > 0) byLanguage.set(language, known);
  return known;
}

/**
 * The names of months in all languages that have a code of two letters, built at first use (about 270 ms): few feeds
 * have names that are not English and not of the feed's own language.
 */
export function monthsOfAll(): MonthNames {
  all ??= monthNames([...localesOfAll(), ...OTHER_NAMES]);
  return all;
}

function localesOfAll(): string[] {
  const codes = [...LETTERS].flatMap((first) => [...LETTERS].map((second) => first + second));
  return Intl.DateTimeFormat.supportedLocalesOf(codes);
}

function monthNames(locales: string[]): MonthNames {
  const whole = new Map<string, number>();
  for (const locale of locales) {
    for (const form of FORMS) writtenMonths(locale, form).forEach((name, month) => note(whole, name, month));
  }
  const names = new Map<string, number>();
  for (const [name, month] of whole) {
    for (let length = SHORTEST; length < name.length; length += 1) note(names, name.slice(0, length), month);
  }
  for (const [name, month] of whole) names.set(name, month);
  return names;
}

/** How a language writes the twelve months in a form, without the words that all twelve share, such as “de”. */
function writtenMonths(locale: string, form: Intl.DateTimeFormatOptions): string[] {
  const format = new Intl.DateTimeFormat(locale, { ...form, calendar: 'gregory', timeZone: 'UTC' });
  const months = Array.from({ length: 12 }, (_, month) => plainWords(format.format(Date.UTC(2026, month, 14))));
  return months.map((words) => words.filter((word) => !months.every((other) => other.includes(word))).join(' '));
}

function note(names: Map<string, number>, name: string, month: number): void {
  // Short words of Latin letters, such as “ut”, mean other things in dates.
  if (name.length < (/^[a-z]/.test(name) ? SHORTEST : 2)) return;
  names.set(name, (names.get(name) ?? month) === month ? month : AMBIGUOUS);
}
