// Protects `npm run bench`: without a tool a bench is skipped, and two versions are compared row by row.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { compareRounds, readRows } from '../bench/compare-versions.ts';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-project.ts';

const PROGRAM = join(PROJECT_ROOT, 'test/bench/run-bench.ts');

for (const [bench, lack] of [
  ['backup', 'there is no sqlite3, which its twin needs'], ['reading', 'there is no chromedriver, which paints the pages'],
]) {
  test(`without its tools the bench ${bench} says at once what it lacks, is skipped, and is no failure`, async (t) => {
    const outcome = await runProgram(process.execPath, [PROGRAM, `${bench}`], { env: { PATH: temporaryFolder(t) } });
    assert.deepEqual(outcome, { status: 0, stdout: `\n${bench}\n  skipped: ${lack}\n`, stderr: '' });
  });
}

test('rows are read as they are printed, a small ratio from the figures beside it', () => {
  const output = '\nfeeds\n  parse: 1,234 MB/s; feedsmith: 617 MB/s; ratio 2.00 (wanted ≥ 1)\n\nscrape\n  skipped: no posts\n' +
    '  a scrape: 4.70 ms; an empty answer: 0.123 ms; ratio 0.03 (wanted ≥ 0.01)\n';
  assert.deepEqual(readRows(output), [
    { bench: 'feeds', name: 'parse', figure: 2 }, { bench: 'scrape', name: 'a scrape', figure: 0.123 / 4.7 },
  ]);
  const least = (document: string, peer: string) => `  least gain (${document}): 4 MB/s; ${peer}: 2 MB/s; ratio 2.00 (wanted ≥ 1)\n`;
  assert.deepEqual(readRows(`feeds\n${least('a.xml', 'one')}${least('b.xml', 'two')}`).map(({ name }) => name),
    ['least gain, beside one', 'least gain, beside two']);
});

test('a row is marked whose spread over the rounds ends below 0.95, or that one version lacks without a reason', () => {
  const rounds = (...figures: Record<string, number>[]) =>
    figures.map((rows) => Object.entries(rows).map(([name, figure]) => ({ bench: 'feeds', name, figure })));
  const here = rounds({ slower: 0.9, unsteady: 0.8, new: 1 }, { slower: 0.94, unsteady: 0.96, new: 1 });
  const there = rounds({ slower: 1, unsteady: 1, old: 1, renamed: 1 }, { slower: 1, unsteady: 1, old: 1, renamed: 1 });

  const compared = compareRounds(here, there, [{ row: /^feeds renamed$/, why: 'has another name' }]);
  assert.deepEqual(compared.map((row) => [row.name, row.isMarked, 'lacking' in row ? row.why ?? row.lacking : row.spread]), [
    ['slower', true, [0.9, 0.94]], ['unsteady', false, [0.8, 0.96]], ['new', true, 'there'], ['old', true, 'here'],
    ['renamed', false, 'has another name'],
  ]);
});

test('what cannot be compared is refused, and the help lists each bench', async () => {
  const run = async (...args: string[]) => {
    const { status, stdout, stderr } = await runProgram(process.execPath, [PROGRAM, ...args]);
    return [status, (stderr || stdout).split('\n')[0]];
  };
  assert.deepEqual(await run('feeds', '--against', 'no-such-tag'), [2, 'this project has no commit no-such-tag']);
  assert.deepEqual(await run('feeds', '--against', 'HEAD', '--rounds', '4'), [2, '--rounds must be at least 5']);
  assert.deepEqual(await run('--against', 'HEAD'), [2, 'name the benches to compare, or all']);
  assert.match((await runProgram(process.execPath, [PROGRAM, '--help'])).stdout, /--against REF[^]*\n {2}feeds +parsing real feeds/);
});
