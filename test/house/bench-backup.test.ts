// Protects `npm run bench` on machines without sqlite3: the bench of backups is skipped and nothing fails.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-project.ts';

test('without sqlite3 the bench of backups is skipped, and is no failure of npm run bench', async (t) => {
  const bench = join(PROJECT_ROOT, 'test/bench/run-bench.ts');
  const outcome = await runProgram(process.execPath, [bench, 'backup'], { env: { PATH: temporaryFolder(t) } });
  const stdout = '\nbackup\n  skipped: there is no sqlite3, which its twin needs\n';
  assert.deepEqual(outcome, { status: 0, stdout, stderr: '' });
});
