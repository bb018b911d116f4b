/**
 * What a person typed, as an FTS5 expression: every word must occur, the last one may be the beginning of a word,
 * "quoted words" stand together. Undefined when there is nothing to search for. Operators of FTS5 have no meaning.
 */
export function searchWords(typed: string): string | undefined {
  const phrases = [...typed.slice(0, 500).matchAll(/"([^"]*)"|[^\s"]+/g)].map(([whole, quoted]) => quoted ?? whole);
  const useful = phrases.filter((phrase) => /[\p{L}\p{N}]/u.test(phrase)).slice(0, 20);
  if (useful.length === 0) return undefined;
  const endsOpen = /[\p{L}\p{N}]$/u.test(typed);
  return useful.map((phrase) => `"${phrase.replaceAll('\0', '')}"`).join(' ') + (endsOpen ? '*' : '');
}
