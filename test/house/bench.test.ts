// Protects `npm run bench` on machines without a tool: a bench that lacks one is skipped, and nothing fails.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-project.ts';

for (const [bench, lack] of [
  ['backup', 'there is no sqlite3, which its twin needs'], ['reading', 'there is no chromedriver, which paints the pages'],
]) {
  test(`without its tools the bench ${bench} says at once what it lacks, is skipped, and is no failure`, async (t) => {
    const program = join(PROJECT_ROOT, 'test/bench/run-bench.ts');
    const outcome = await runProgram(process.execPath, [program, `${bench}`], { env: { PATH: temporaryFolder(t) } });
    assert.deepEqual(outcome, { status: 0, stdout: `\n${bench}\n  skipped: ${lack}\n`, stderr: '' });
  });
}
