/** The name in `a@example.org (Ann)` and `Ann <a@example.org>`; the address where there is no name. */
export function personName(text: string): string | null {
  const inBrackets = /^\S+@\S+\s*\(([^()]+)\)$/.exec(text)?.[1];
  const beforeAddress = /^"?([^"<>]+?)"?\s*<[^<>\s]+@[^<>\s]+>$/.exec(text)?.[1];
  const name = (inBrackets ?? beforeAddress ?? text.replace(/^mailto:/i, '')).trim();
  return name === '' ? null : name;
}
