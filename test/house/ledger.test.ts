// Protects what auditors are told: the tables of src/LEDGER.md come from their lists, and the lists name all there is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTIONS } from '../../src/app/connections.ts';
import { LEDGER_TABLES, rowsInLedger } from '../support/ledger-texts.ts';
import { SOURCES } from '../support/source-tree.ts';

test('the tables of the ledger are those of their lists', () => {
  for (const table of LEDGER_TABLES) assert.equal(rowsInLedger(table), table.rows, 'run: node test/support/ledger-texts.ts');
});

test('every file that connects is named by the connection that it decides, and every named file is there', () => {
  const named = new Set<string>(Object.values(CONNECTIONS).flatMap(({ files }) => files).filter((file) => file.endsWith('.ts')));
  const connects = /(?<!function |\.)\b(?:outbound|openRequest|fetch|connect)\(|\btls\.connect\(|\bhttps?\.(?:get|request)\b|\bcreateSocket\b/;
  const connecting = SOURCES.filter(({ code }) => connects.test(code)).map(({ name }) => name.slice('src/'.length));
  assert.ok(connecting.length >= 8, connecting.join());
  assert.deepEqual(connecting.filter((file) => !named.has(file)), []);
  assert.deepEqual([...named].filter((file) => !SOURCES.some(({ name }) => name === `src/${file}`)), []);
});
