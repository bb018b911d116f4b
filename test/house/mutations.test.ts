// Protects npm run test:mutations itself: what it calls caught was caught, by the test that was named.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { MUTATIONS } from '../mutations/mutations.ts';
import { tryMutations, type Mutation } from '../mutations/try-mutations.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-project.ts';

const SUM = 'export const sum = (a: number, b: number): number => a + b;\n';

const TESTS = `
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sum } from '../src/sum.ts';
test('adds (2, 3)', () => assert.equal(sum(2, 3), 5));
test('adds (2, 3), and more', () => assert.equal(sum(0, 0), 0));
test('never holds', () => assert.equal(sum(1, 1), 3));
test('has no machine to run on', { skip: 'no machine' }, () => {});
test('is there twice', () => {});
test('is there twice', () => {});
`;

const WRONG: Mutation = {
  promise: 'sums are right', file: 'src/sum.ts', from: 'a + b', to: 'a - b', test: 'test/sum.test.ts', name: 'adds (2, 3)',
};

/** How each variation of the mutation above is judged. */
const VARIATIONS: [Partial<Mutation>, result: string, why: RegExp][] = [
  [{}, 'caught', /-1 !== 5/],
  [{ name: 'adds (2, 3), and more' }, 'missed', /passes all the same/],
  [{ from: 'a * b' }, 'unusable', /stands in src\/sum\.ts 0 times: a \* b$/],
  [{ from: 'number' }, 'unusable', /stands in src\/sum\.ts 3 times/],
  [{ to: 'a + b' }, 'unusable', /changes nothing/],
  [{ to: 'a + ' }, 'unusable', /does not start/],
  [{ file: 'src/difference.ts' }, 'unusable', /stands in src\/difference\.ts 0 times, once in src\/sum\.ts: a \+ b$/],
  [{ test: 'test/difference.test.ts' }, 'unusable', /there is no file test\/difference\.test\.ts/],
  [{ name: 'adds' }, 'unusable', /there is no such test: adds/],
  [{ name: 'never holds' }, 'unusable', /the test fails without it/],
  [{ name: 'has no machine to run on' }, 'unusable', /the test is skipped here: no machine/],
  [{ name: 'is there twice' }, 'unusable', /2 tests have this name/],
];

test('a mutation is caught by its named test alone; what shows nothing is told apart, and the project is left as it is', async (t) => {
  const root = temporaryFolder(t);
  writeFiles(root, { 'package.json': '{ "type": "module" }', 'src/sum.ts': SUM, 'test/sum.test.ts': TESTS });
  const mutations = VARIATIONS.map(([change]) => ({ ...WRONG, ...change }));
  const copies = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith(`mutated-${process.pid}-`));

  const verdicts = await tryMutations({ root, mutations, atOnce: 2 });

  for (const [index, [change, result, why]] of VARIATIONS.entries()) {
    const verdict = verdicts.find(({ mutation }) => mutation === mutations[index]);
    assert.deepEqual(verdict?.result, result, JSON.stringify(change));
    assert.match(verdict?.why ?? '', why);
  }
  assert.equal(readFileSync(join(root, 'src/sum.ts'), 'utf8'), SUM);
  assert.deepEqual(copies(), []);
});

test('each mutation of the list changes one place of its file, and names a file of tests that is there', () => {
  const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const unusable = MUTATIONS.filter(({ file, from, test: suite }) => read(file).split(from).length !== 2 || !read(suite));
  assert.deepEqual(unusable.map(({ promise, file }) => `${promise}: ${file}`), []);
});
