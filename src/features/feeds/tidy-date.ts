import { ENGLISH } from './month-names.ts';

export const CLOCK_TIME = /(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?/;
const DOTTED_TIME = /(?<=\s)(\d{1,2})\.(\d\d)(?:\.(\d\d)(?:\.\d{3,9})?)?(?!\d|\.\d)/;
const THAI = /\p{Script=Thai}/u;

/** The time that a `<time>` of HTML gives, as Drupal writes dates; of other markup the text. */
export function withoutMarkup(text: string): string {
  return /<time\s[^<>]*\bdatetime\s*=\s*["']([^"'<>]+)/i.exec(text)?.[1] ?? text.replace(/<[^<>]*>/g, ' ');
}

/** Writes a date as English publishers would, with colons in its time and single spaces. */
export function tidyDate(text: string): string {
  const plain = /[^\0-\x7f]|thg/i.test(text) ? inAscii(text) : text;
  const timed = CLOCK_TIME.test(plain) ? plain : withColons(plain);
  return timed.replace(/\([^()]*\)/g, ' ').replace(/[,\s]+/g, ' ').trim()
    .replace(/^(\d{1,4}) (\d{1,2}) (\d{1,4})(?= |$)/, '$1/$2/$3');
}

/** Writes the digits, signs and some words of dates in other scripts as in English. */
function inAscii(text: string): string {
  return text.normalize('NFC').replace(/(?!\d)\p{Nd}/gu, asciiDigit)
    .replace(/[−‐‑]/g, '-').replaceAll('：', ':').replace(/[，、،]/g, ' ').replace(/（[^（）]*）/g, ' ')
    .replace(/(\d{1,2})\s*[時时시点點](?:\s*(\d{1,2})\s*[分분])?(?:\s*(\d{1,2})\s*[秒초])?/g,
      (_, hours: string, minutes = '00', seconds = '00') => `${hours}:${minutes}:${seconds}`)
    .replace(/(?<=\d{4}\s*)[年년]\s*/g, '-').replace(/(?<=\d)\s*[月월]\s*/g, '-').replace(/[日일]/g, ' ')
    .replace(/(?:(오전|上午|午前|凌晨|早上)|오후|下午|午後|晚上)\s*(\d+:[\d:]+)/g,
      (_, am: string | undefined, time: string) => `${time} ${am ? 'AM' : 'PM'}`)
    .replace(/thứ\s*\d\b/gi, ' ').replace(/(?:tháng|\bthg)\.?\s*(\d{1,2})(?!\d)/gi, vietnameseMonth)
    .replace(/\b2[45]\d\d\b/, (year, _, all) => THAI.test(all) ? String(Number(year) - 543) : year); // Buddhist era
}

/** In Unicode, the digits of a script follow each other, from 0 to 9. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return String((code - first) % 10);
}

function vietnameseMonth(written: string, number: string): string {
  return ` ${ENGLISH[Number(number) - 1] ?? written} `;
}

/** Writes times such as 10h30, 10u30 and, after a date, 10.30 with colons. */
function withColons(text: string): string {
  return text.replace(/\b(\d{1,2})(?:\s?h\s?|u)(\d\d)(?!\d)(?:min|mn|m)?/i, '$1:$2')
    .replace(/\b(\d{1,2})\s?h\b/i, '$1:00')
    .replace(DOTTED_TIME, (written, hours: string, minutes: string, seconds = '00', at: number, all: string) =>
      /\d\D+\d/.test(all.slice(0, at)) ? `${hours}:${minutes}:${seconds}` : written);
}
