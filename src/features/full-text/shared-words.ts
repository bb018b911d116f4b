/** A pair of ideographs, syllables of Japanese, or a word of another script. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]{1,2}|[\p{L}\p{N}]+/gu;

/** The distinct words of a text that have at least `minLength` letters, in lower case; ideographs in pairs. */
export function wordsOf(text: string, minLength = 1): Set<string> {
  const words = text.normalize('NFKC').toLowerCase().match(WORD) ?? [];
  return new Set(words.filter((word) => word.length >= minLength || /[^\u0000-\u2fff]/.test(word)));
}

/** The share of `words` that `text` has too; 0 without words. */
export function shareOf(words: ReadonlySet<string>, text: ReadonlySet<string>): number {
  let found = 0;
  for (const word of words) if (text.has(word)) found += 1;
  return words.size === 0 ? 0 : found / words.size;
}
