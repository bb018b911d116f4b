/** A part of a regular expression, as often as its quantifier says. `ways` is empty for a single character. */
type Part = { atom: string; ways: Part[][]; isLook: boolean; min: number; isEndless: boolean };

/** One of these matches any class and escape. Those that several repetitions may take come first. */
const CANDIDATES = [...' a\t\n0<-./"\'&;:=,>()[]{}!?#*+@\\|~^$%_Azx\r\0é漢\u{1f600}\ufffd\ue000α'];
const ESCAPE = /^\\(?:u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|p\{[^}]*\}|k<\w+>|c\w|[^])/i;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;

/**
 * Texts on which a regular expression takes long if it is not linear: what comes before a repetition that may go on
 * without end, then over and over what it takes, or what begins it, then what nothing takes.
 */
export function attacksOn(regex: RegExp): ((length: number) => string)[] {
  const [prefixes, pieces] = [new Set(['']), new Set<string>()];
  const flags = regex.flags.replace(/[gy]/g, '');

  function walk(ways: Part[][], before: string[]): void {
    for (const way of ways) {
      let here = before;
      for (const part of way) {
        const examples = examplesOf(part, flags);
        for (const example of examples) pieces.add(example);
        if (part.isEndless) for (const text of here) [prefixes, pieces].forEach((texts) => texts.add(text));
        walk(part.ways, here);
        const [first = ''] = part.isLook ? [] : examples;
        const short = first.repeat(part.min);
        here = [...new Set([...here.map((text) => text + short), (here.at(-1) ?? '') + first])].slice(-3);
      }
      for (const text of here) pieces.add(text);
    }
  }

  walk(waysOf(regex.source, regex.unicodeSets), ['']);
  const repeated = [...pieces].filter((piece) => piece !== '' && piece.length < 60).slice(0, 30);
  const begun = [...prefixes].filter((prefix) => prefix.length < 100).slice(0, 12);
  return begun.flatMap((prefix) => repeated.map((piece) => (length: number) =>
    `${prefix}${piece.repeat(Math.ceil(length / piece.length))}\u{10fffd}`));
}

/** What the part matches once: up to three different characters, or one text for each of its ways. */
function examplesOf({ atom, ways, isLook }: Part, flags: string): string[] {
  if (ways.length > 0) {
    const texts = ways.map((way) => way.map((part) => examplesOf(part, flags)[0]?.repeat(part.min || 1) ?? '').join(''));
    return isLook ? texts.slice(0, 1) : texts.slice(0, 3);
  }
  if (/^(?:\^|\$|\\[bB]|\\k<.*|\\[1-9])$/.test(atom)) return [];
  const one = new RegExp(`^(?:${atom})$`, flags);
  return CANDIDATES.filter((candidate) => one.test(candidate)).slice(0, 3);
}

function waysOf(source: string, isNested: boolean): Part[][] {
  const ways: Part[][] = [[]];
  for (let at = 0; at < source.length; ) {
    if (source[at] === '|') {
      ways.push([]);
      at++;
      continue;
    }
    const atom = source.slice(at, endOfAtom(source, at, isNested));
    QUANTIFIER.lastIndex = at + atom.length;
    const [all = '', sign, least, comma, most] = QUANTIFIER.exec(source) ?? [];
    const min = sign === undefined ? Number(least ?? 1) : sign === '+' ? 1 : 0;
    const isEndless = sign === undefined ? comma === ',' && most === '' : sign !== '?';
    const [opening] = /^\((?:\?(?:<?[=!]|<\w+>|[a-z-]*:))?/.exec(atom) ?? [];
    const inner = opening === undefined ? [] : waysOf(atom.slice(opening.length, -1), isNested);
    ways.at(-1)?.push({ atom, ways: inner, isLook: /^\(\?<?[=!]/.test(atom), min, isEndless });
    at += atom.length + all.length;
  }
  return ways;
}

/** Behind a character, an escape, a class (nested with the flag v) or a group. */
function endOfAtom(source: string, at: number, isNested: boolean): number {
  if (source[at] === '\\') {
    return at + (ESCAPE.exec(source.slice(at, at + 60))?.[0] ?? '\\').length;
  }
  if (source[at] === '[') {
    let end = at + 1;
    while (source[end] !== ']') {
      if (source[end] === '[' && isNested) end = endOfAtom(source, end, true);
      else end += source[end] === '\\' ? 2 : 1;
    }
    return end + 1;
  }
  if (source[at] !== '(') return at + String.fromCodePoint(source.codePointAt(at) ?? 0).length;
  let end = at + 1;
  while (source[end] !== ')') end = endOfAtom(source, end, isNested);
  return end + 1;
}
