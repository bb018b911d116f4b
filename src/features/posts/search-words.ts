/**
 * What a person typed, as an FTS5 expression: every word must occur, "quoted words" stand together, and the last one
 * may be the beginning of a word. Undefined when there is nothing to search for. Operators of FTS5 have no meaning.
 */
export function searchWords(typed: string): string | undefined {
  const phrases = [...typed.slice(0, 500).matchAll(/"([^"]*)"|[^\s"]+/g)].map(([whole, quoted]) => quoted ?? whole);
  const useful = phrases.filter((phrase) => /[\p{L}\p{N}]/u.test(phrase)).slice(0, 20);
  if (useful.length === 0) return undefined;
  const expression = useful.map((phrase) => `"${phrase.replaceAll('\0', '')}"`).join(' ');
  return expression + (mayGoOn(typed) ? '*' : '');
}

/**
 * One Latin letter begins too many words: looking them all up may take a second with 100,000 posts. Scripts without
 * spaces between words need the beginning from the first sign.
 */
function mayGoOn(typed: string): boolean {
  return /[\p{L}\p{N}]{2}$|[^\p{Script=Latin}\p{N}\P{L}]$/u.test(typed);
}
