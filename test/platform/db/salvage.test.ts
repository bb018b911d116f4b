// Protects the copy of a damaged database: only what cannot be read counts as lost, never what a full disk refuses.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDatabase, type Db } from '../../../src/platform/db/open-database.ts';
import { salvage } from '../../../src/platform/db/salvage.ts';
import { MIGRATIONS, putDatabase } from '../../support/migrated-database.ts';

for (const code of ['SQLITE_FULL', 'SQLITE_IOERR_WRITE']) test(`what a disk does not take (${code}) ends the copy of a damaged database, which then names nothing as lost`, (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'salvage-'));
  putDatabase(join(dir, 'hub.db'));
  const db = openDatabase(join(dir, 'hub.db'));
  t.after(() => (db.close(), rmSync(dir, { recursive: true })));
  const isFull = Object.assign(new Error('database or disk is full'), { code });
  const prepare: Db['prepare'] = (name, sql) => {
    const statement = db.prepare<never, never>(name, sql);
    return { ...statement, run: (...params: never) => {
      if (sql.includes('INTO rescue."accounts"')) throw isFull;
      return statement.run(...params);
    } } as never;
  };
  const onFullDisk = { ...db, prepare, get inTransaction() { return db.inTransaction; } };
  assert.throws(() => salvage(onFullDisk, join(dir, 'full.db'), MIGRATIONS, Date.now), isFull);
  assert.deepEqual(salvage(db, join(dir, 'copy.db'), MIGRATIONS, Date.now), []);
});
