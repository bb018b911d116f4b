// Protects everybody from texts that keep a regular expression busy: each one in src reads in linear time.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { SOURCES } from '../support/source-tree.ts';

/** At the first two only what grows faster than the square of the length takes long. */
const [TINY, SMALL, LARGE] = [24, 1_000, 16_000];

/** Milliseconds. What is linear takes 16 times as long for 16 times the length, what is quadratic 256 times. */
const [SHORT, GROWTH] = [10, 64];

/** What functions make at run time, as it may come out. Others are seen when their file is loaded. */
const MADE_BY_FUNCTIONS: Record<string, RegExp[]> = {
  'src/platform/http/router.ts': [/^\/sources\/([^/]+?)\/posts\/([^/]+?)$/, /^\/sources\/([^/]+?)\.atom$/],
  'src/platform/metrics/process-metrics.ts': [/^VmRSS:\s+(\d+) kB$/m],
  'src/features/feeds/page-links.ts': [/<\/script/gi],
};

/** Processor time of reading the text from one end to the other, in milliseconds. */
function timeOf(regex: RegExp, text: string): number {
  const everywhere = regex.sticky ? regex : new RegExp(regex.source, regex.flags.replace('g', '') + 'g');
  everywhere.lastIndex = 0;
  const start = process.cpuUsage();
  if (regex.sticky) regex.exec(text);
  else text.replace(everywhere, '');
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

/** The beginning of a text that takes more than linear time; undefined where none was found. */
function slowText(regex: RegExp): string | undefined {
  return attacksOn(regex).find((textOf) => {
    for (const length of [TINY, SMALL]) {
      if (timeOf(regex, textOf(length)) > SHORT && timeOf(regex, textOf(length)) > SHORT) return true;
    }
    if (timeOf(regex, textOf(LARGE)) <= SHORT) return false;
    const [large = 0, small = 0] = [LARGE, SMALL].map((length) => Math.min(...[1, 2, 3].map(() => timeOf(regex, textOf(length)))));
    return large > SHORT && large / small > GROWTH;
  })?.(TINY);
}

test('every regular expression in src takes linear time', () => {
  const found = SOURCES.flatMap(({ name, text }) => regexLiterals(text).map((regex) => ({ name, regex })));
  assert.ok(found.length > 250, String(found.length));
  const slow = found.map(({ name, regex }) => ({ name, regex: String(regex), text: slowText(regex) }));
  assert.deepEqual(slow.filter(({ text }) => text !== undefined), []);
});

test('every regular expression that src puts together is known and linear', async () => {
  const { RegExp: original } = globalThis;
  for (const { name, code } of SOURCES.filter((source) => /\bRegExp\(/.test(source.code))) {
    const made: RegExp[] = [];
    const madeAt = new Set<string>();
    globalThis.RegExp = new Proxy(original, {
      construct(target, [pattern, flags]: [string | RegExp, string | undefined]) {
        const regex = new target(pattern, flags);
        made.push(regex);
        const line = new Error().stack?.split('\n').find((one) => one.includes('?loaded-once-more'));
        if (line !== undefined) madeAt.add(line); // else another file that is loaded with it
        return regex;
      },
    });
    try {
      await import(`${join(PROJECT_ROOT, name)}?loaded-once-more`);
    } finally {
      globalThis.RegExp = original;
    }
    const places = code.match(/\bnew RegExp\(/g)?.length ?? 0;
    const byFunctions = MADE_BY_FUNCTIONS[name] ?? [];
    assert.equal(byFunctions.length > 0, places > madeAt.size, `${name}: some of ${places} are made later`);
    assert.ok(byFunctions.length >= places - madeAt.size, name);
    for (const regex of [...made, ...byFunctions]) assert.equal(slowText(regex), undefined, `${name}: ${regex}`);
  }
});

/** Ways to write a regular expression in which the two tests above do not see it. */
const UNSEEN: Record<string, RegExp> = {
  'RegExp called without new, or under another name': /(?<!new )\bRegExp\(|=\s*RegExp\b|\bRegExp\.(?!prototype)/,
  'a text that match or search make one of': /\.(?:match|matchAll|search)\((?![/A-Z{])/,
};

test('no regular expression in src is written so that these tests do not see it', () => {
  const found = SOURCES.flatMap(({ name, code }) =>
    Object.keys(UNSEEN).filter((way) => UNSEEN[way]?.test(code)).map((way) => `${name}: ${way}`));
  assert.deepEqual(found, []);
  for (const code of ["RegExp('b+$')", 'const R = RegExp;', "text.match('b+$')", 'text.search(typed)']) {
    assert.ok(Object.values(UNSEEN).some((way) => way.test(code)), code);
  }
  assert.throws(() => regexLiterals('if (a) /b+$/.test(c)'), /may divide/);
});

test('the search finds what is not linear, and every literal', () => {
  const quadratic = [
    /\s+$/, /^[^/?#]*\.[^/?#]*:\d/, /<!--.*?-->/, /(a|b)*c/, /^(.*?),(.*?);/, /x*y*x*$/, /\w+@\w+\.\w+/,
    /[[a-c]--[b]]+d/v,
  ];
  for (const regex of quadratic) assert.notEqual(slowText(regex), undefined, String(regex));
  assert.notEqual(slowText(/^(a+)+$/), undefined, 'exponential');
  for (const regex of [/^\s+/, /a+/, /[^"]*/g, /^[^:]*:\d/, /\s{1,20}$/]) assert.equal(slowText(regex), undefined, String(regex));

  const text = String.raw`const a = b / c / d; // /no/
    /* /no/ */ f(/a[/\]]\/"/g, '/no/', "/no/", ${'`/no/ ${x.replace(/b/, `${/c/u.test(`y`)}`)} /no/`'}); return /d/.test(e) ? 1 / 2 : g / h / i;`;
  assert.deepEqual(regexLiterals(text).map(String), ['/a[/\\]]\\/"/g', '/b/', '/c/u', '/d/']);
});

/** After these a slash begins a regular expression: it cannot divide anything. */
const BEFORE_REGEX = /(?:^|[-(,=:[!&|?{};+*%<>~^]|\b(?:return|typeof|case|of|in|await|yield))$/;

/** Every regular expression that stands in a TypeScript text as such. Throws where that cannot be told. */
function regexLiterals(text: string): RegExp[] {
  const found: RegExp[] = [];
  const templates: number[] = []; // how many braces are open within each `${`
  let before = ''; // the code before, without white space
  for (let at = 0; at < text.length; ) {
    const sign = text[at] ?? '';
    const rest = text.slice(at, at + 2);
    if (/\s/.test(sign)) at++;
    else if (rest === '//') at = indexOrEnd(text, '\n', at);
    else if (rest === '/*') at = indexOrEnd(text, '*/', at) + 2;
    else if (sign === '"' || sign === "'") at = (before = '"', endOfText(text, at));
    else if (sign === '`' || (sign === '}' && templates.at(-1) === 0)) {
      if (sign === '}') templates.pop();
      at = endOfTemplate(text, at + 1);
      before = text[at - 1] === '`' ? '"' : '{';
      if (before === '{') templates.push(0);
    } else if (sign === '/' && BEFORE_REGEX.test(before)) {
      const end = endOfRegex(text, at);
      const [flags = ''] = /^[a-z]*/.exec(text.slice(end, end + 10)) ?? [];
      found.push(new RegExp(text.slice(at + 1, end - 1), flags));
      at = end + flags.length;
      before = '"';
    } else {
      if (sign === '/' && text[at + 1] !== ' ') throw new Error(`${rest} may divide or begin a regular expression`);
      const depth = templates.length - 1;
      if (sign === '{' && depth >= 0) templates[depth] = (templates[depth] ?? 0) + 1;
      if (sign === '}' && depth >= 0) templates[depth] = (templates[depth] ?? 0) - 1;
      before = /\w/.test(sign) && /\w$/.test(before) && /\w/.test(text[at - 1] ?? '') ? before + sign : sign;
      at++;
    }
  }
  return found;
}

function indexOrEnd(text: string, wanted: string, from: number): number {
  const index = text.indexOf(wanted, from);
  return index < 0 ? text.length : index;
}

function endOfText(text: string, start: number): number {
  let end = start + 1;
  while (text[end] !== text[start]) end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

/** Behind the closing sign, or behind the `${` of the first thing within. */
function endOfTemplate(text: string, start: number): number {
  let end = start;
  while (text[end] !== '`') {
    if (text.startsWith('${', end)) return end + 2;
    end += text[end] === '\\' ? 2 : 1;
  }
  return end + 1;
}

function endOfRegex(text: string, start: number): number {
  let isClass = false;
  let end = start + 1;
  for (; text[end] !== '/' || isClass; end++) {
    if (text[end] === '\\') end++;
    else if (text[end] === '[') isClass = true;
    else if (text[end] === ']') isClass = false;
  }
  return end + 1;
}

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
function attacksOn(regex: RegExp): ((length: number) => string)[] {
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
