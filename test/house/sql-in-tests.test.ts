// Protects who renames a column: tests ask the hub, its stores or helpers of support/, whose SQL stands in one place.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { isAboutSql, SQL } from '../support/sql-subjects.ts';

test('only tests whose subject is SQL contain any', () => {
  const cwd = join(PROJECT_ROOT, 'test');
  const withSql = globSync('**/*.test.ts', { cwd }).filter((name) => SQL.test(readFileSync(join(cwd, name), 'utf8')));
  assert.ok(withSql.includes('platform/db/migrate.test.ts'));
  assert.deepEqual(withSql.filter((name) => !isAboutSql(name)), [], 'call a helper of support/, such as stored-rows.ts');
});
