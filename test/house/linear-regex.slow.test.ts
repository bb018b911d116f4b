// Protects everybody from texts that keep a regular expression busy: each one in src reads in linear time.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { attacksOn } from '../support/regex-attacks.ts';
import { regexLiterals } from '../support/regex-literals.ts';
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
