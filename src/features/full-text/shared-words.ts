const IDEOGRAPH = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]';
/** Ideographs in a row, or a word of another script. */
const WORD = new RegExp(`${IDEOGRAPH}+|(?:(?!${IDEOGRAPH})[\\p{L}\\p{N}])+`, 'gu');
/** The first character of Korean syllables: a Korean word counts at any length, because Korean words are short. */
const KOREAN = '가';
const BEGINS_IDEOGRAPHIC = new RegExp(`^${IDEOGRAPH}`, 'u');

/** The distinct words of a text that have at least `minLength` letters, in lower case; ideographs in pairs. */
export function wordsOf(text: string, minLength = 1): Set<string> {
  const normalized = text.normalize('NFKC').slice(0, 2 * text.length); // NFKC makes 18 characters of `ﷺ`
  const words = normalized.toLowerCase().match(WORD) ?? [];
  return new Set(words.flatMap((word) => {
    if (BEGINS_IDEOGRAPHIC.test(word)) return Array.from(word, (_, at) => word.slice(at, at + 2));
    return word.length >= minLength || word >= KOREAN ? [word] : [];
  }));
}

/** The share of `words` that `text` has too; 0 without words. */
export function shareOf(words: ReadonlySet<string>, text: ReadonlySet<string>): number {
  let found = 0;
  for (const word of words) if (text.has(word)) found += 1;
  return words.size === 0 ? 0 : found / words.size;
}
