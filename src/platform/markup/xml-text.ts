import { decodeEntities } from './entities.ts';

/** Longest reference looked for, in characters; no name of HTML is longer than 33. */
const MAX_REFERENCE = 40;
const SEMICOLON = 0x3b;
const LETTER_A = 0x61;
const LETTER_G = 0x67;
const LETTER_L = 0x6c;
const LETTER_M = 0x6d;
const LETTER_Q = 0x71;
const LETTER_T = 0x74;
const LETTER_U = 0x75;

/**
 * Decodes the references of XML text once: numeric ones, the five of XML and those of HTML, each with its semicolon.
 * A bare `&`, as in an unescaped address, and an unknown name stay as they are.
 */
export function decodeXmlText(text: string): string {
  let at = text.indexOf('&');
  if (at === -1) return text;
  const parts: string[] = [];
  let copied = 0;
  while (at !== -1) {
    const length = commonLength(text, at);
    const end = length === 0 ? referenceEnd(text, at) : at + length;
    if (end !== -1) {
      if (at > copied) parts.push(text.slice(copied, at));
      parts.push(length === 0 ? decodeEntities(text.slice(at, end)) : commonCharacter(text.charCodeAt(at + 1)));
      copied = end;
    }
    at = text.indexOf('&', end === -1 ? at + 1 : end);
  }
  parts.push(text.slice(copied));
  return parts.join('');
}

/** The length of one of the four references that escaped HTML is full of, or 0. */
function commonLength(text: string, at: number): number {
  const second = text.charCodeAt(at + 2);
  switch (text.charCodeAt(at + 1)) {
    case LETTER_L:
    case LETTER_G:
      return second === LETTER_T && text.charCodeAt(at + 3) === SEMICOLON ? 4 : 0;
    case LETTER_A:
      return second === LETTER_M && text.startsWith('p;', at + 3) ? 5 : 0;
    case LETTER_Q:
      return second === LETTER_U && text.startsWith('ot;', at + 3) ? 6 : 0;
    default:
      return 0;
  }
}

function commonCharacter(initial: number): string {
  if (initial === LETTER_L) return '<';
  if (initial === LETTER_G) return '>';
  return initial === LETTER_A ? '&' : '"';
}

/** The index after the semicolon of the reference that begins at `at`, or -1 where there is none. */
function referenceEnd(text: string, at: number): number {
  const last = Math.min(text.length, at + MAX_REFERENCE);
  for (let index = at + 1; index < last; index += 1) {
    const code = text.charCodeAt(index);
    if (code === SEMICOLON) return index > at + 1 ? index + 1 : -1;
    if (!isReferenceCharacter(code)) return -1;
  }
  return -1;
}

/** Letters, digits and `#`. */
function isReferenceCharacter(code: number): boolean {
  const letter = code | 0x20;
  return (letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x23;
}
