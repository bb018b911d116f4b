// Protects what auditors are told: the tables of src/LEDGER.md come from their lists, and the lists name all there is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTIONS } from '../../src/app/connections.ts';
import { uses } from '../support/file-marks.ts';
import { LEDGER_TABLES, rowsInLedger } from '../support/ledger-texts.ts';
import { SOURCES } from '../support/source-tree.ts';

test('the tables of the ledger are those of their lists', () => {
  for (const table of LEDGER_TABLES) assert.equal(rowsInLedger(table), table.rows, 'run: node test/support/ledger-texts.ts');
});

test('every file that connects is named by the connection that it decides, and every named file is there', () => {
  const named = new Set<string>(Object.values(CONNECTIONS).flatMap(({ files }) => files).filter((file) => file.endsWith('.ts')));
  const connecting = SOURCES.filter((file) => uses(file, 'opens a socket') || /(?<!function )\b(?:outbound|openRequest)\(/.test(file.code))
    .map(({ name }) => name.slice('src/'.length));
  const unnamed = connecting.filter((file) => !named.has(file));
  assert.deepEqual(unnamed, ['app/clamd-bridge/bridge-server.ts', 'platform/http/server.ts'],
    'only these two files listen; name each file that connects in src/app/connections.ts');
  assert.deepEqual([...named].filter((file) => !SOURCES.some(({ name }) => name === `src/${file}`)), []);
});

test('no source loads a module of Node in a way that the marks of the ledger do not see', () => {
  const hidden = /\bimport\([^'.]|\bimport\('node:|\bgetBuiltinModule\b|\bcreateRequire\b|\brequire\(|\bprocess\.(?:binding|dlopen)\b|\bglobalThis\[/;
  assert.deepEqual(SOURCES.filter(({ code }) => hidden.test(code)).map(({ name }) => name), [], 'import the module at the top of the file');
});
