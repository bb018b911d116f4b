// Protects the reading of .env: the same rules as documented, mistakes named by line, and no value repeated.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEnvFile } from '../../../src/features/hub/env-file.ts';
import { settingsSource } from '../../../src/features/hub/read-config.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';

const CASES: [title: string, text: string, expected: Record<string, string>][] = [
  ['a plain assignment', 'PORT=80', { PORT: '80' }],
  ['an export', 'export PORT=80\n', { PORT: '80' }],
  ['Windows line ends and a byte order mark', '\uFEFFA=1\r\nB=2\r\n', { A: '1', B: '2' }],
  ['spaces around', '  A  =  one two  ', { A: 'one two' }],
  ['comments and empty lines', '# A=1\n\n   # B=2\nC=3 # why\nD=4\t#why', { C: '3', D: '4' }],
  ['a # inside a value', 'A=b#c\nB=#c\nC="d # e"\nD=\'f # g\' # h', { A: 'b#c', B: '#c', C: 'd # e', D: 'f # g' }],
  ['a comment instead of a value', 'A= # nothing', { A: '' }],
  ['no value at all', 'A=\nB=""', { A: '', B: '' }],
  ['quotes that keep spaces', 'A=" b "\nB=\' c \'', { A: ' b ', B: ' c ' }],
  ['escapes between double quotes only', 'A="\\"b\\" \\\\c \\n"\nB=\'\\"\'', { A: '"b" \\c \\n', B: '\\"' }],
  ['a quotation mark inside a bare value', "A=it's", { A: "it's" }],
  ['an equals sign in the value', 'A=b=c==', { A: 'b=c==' }],
  ['what a shell would run or expand', 'A=$(touch x)`y`$HOME', { A: '$(touch x)`y`$HOME' }],
  ['a later line wins', 'A=1\nA=2', { A: '2' }],
  ['a name that objects know', '__proto__=1', Object.fromEntries([['__proto__', '1']])],
];

for (const [title, text, expected] of CASES) {
  test(`an env file holds ${title}`, () => {
    assert.deepEqual(parseEnvFile(text), { entries: expected, problems: [] });
  });
}

test('every malformed line of an env file is named by number and kind, and no value is repeated', () => {
  const text = 'A=1\nhunter2\n2B=hunter2\nC="hunter2\nD=\'hunter2\nE="x" hunter2\n-F=hunter2\n';

  assert.deepEqual(parseEnvFile(text).problems, [
    'line 2 is not of the form KEY=value',
    'line 3 is not of the form KEY=value',
    'line 4 has an unclosed quotation mark',
    'line 5 has an unclosed quotation mark',
    'line 6 has text after the closing quotation mark',
    'line 7 is not of the form KEY=value',
  ]);
});

test('a variable of the environment wins over the file, even when it is empty', (t) => {
  const folder = temporaryFolder(t);
  writeFiles(folder, { '.env': 'A=file\nB=file\nC=file' });
  const { env } = settingsSource({ A: 'environment', B: '' }, folder);

  assert.deepEqual(env, { A: 'environment', B: '', C: 'file' });
});
