// Protects what auditors are told: the tables of src/LEDGER.md come from their lists, and the lists name all there is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTIONS } from '../support/connections.ts';
import { RIGHT_NAMES, uses } from '../support/file-marks.ts';
import { LEDGER_TABLES, rowsInLedger } from '../support/ledger-texts.ts';
import { SOURCES } from '../support/source-tree.ts';

test('the tables in src/LEDGER.md equal the lists in the code from which they are made', () => {
  for (const table of LEDGER_TABLES) assert.equal(rowsInLedger(table), table.rows, 'run: node test/support/ledger-texts.ts');
});

test('every file that connects is named by the connection that it decides, and every named file is there', () => {
  const named = new Set<string>(Object.values(CONNECTIONS).flatMap(({ files }) => files).filter((file) => file.endsWith('.ts')));
  const connecting = SOURCES.filter((file) => uses(file, 'opens a socket') || /(?<!function )\b(?:outbound|openRequest|fetchFromOperator)\(/.test(file.code))
    .map(({ name }) => name.slice('src/'.length));
  const unnamed = connecting.filter((file) => !named.has(file));
  assert.deepEqual(unnamed, ['app/clamd-bridge/bridge-server.ts', 'platform/http/server.ts'],
    'only these two files listen; name each file that connects in test/support/connections.ts');
  assert.deepEqual([...named].filter((file) => !SOURCES.some(({ name }) => name === `src/${file}`)), []);
});

test('no source loads a module of Node in a way that the marks of the ledger do not see', () => {
  const hidden = /\bimport\([^'.]|\bimport\('node:|\bgetBuiltinModule\b|\bcreateRequire\b|\brequire\(|\bprocess\.(?:binding|dlopen)\b|\bglobalThis\[/;
  assert.deepEqual(SOURCES.filter(({ code }) => hidden.test(code)).map(({ name }) => name), [], 'import the module at the top of the file');
});

test('a connection, a folder and a statement are seen in every form in which a file can make them', () => {
  const marks = {
    'opens a socket': ["fetch('x')", 'globalThis.fetch(x)', 'const f = fetch;', "import d from 'node:dns';", "import { request as r } from 'node:http';",
      "import n from 'node:net';", "import * as h from 'node:https';", 'new WebSocket(x)'],
    'opens or changes files': ["import { mkdir } from 'node:fs/promises';", "import fs from 'node:fs';"],
    'runs SQL': ['database.exec(x)', 'all.prepare<[]>(db, x)'],
  } as const;
  for (const [right, samples] of Object.entries(marks)) {
    for (const code of samples) assert.ok(uses({ name: '', text: code, code }, right as keyof typeof marks), code);
  }
  const harmless = "import { isIP } from 'node:net'; import type { Server } from 'node:http'; pattern.exec(x); /a/i.exec(x); PHC.exec(x)";
  assert.deepEqual(RIGHT_NAMES.filter((right) => uses({ name: '', text: harmless, code: harmless }, right)), []);
});
