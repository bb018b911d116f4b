// Protects the scripts from what a shell takes otherwise than it was meant.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { requireTool } from '../support/tools.ts';

test('shellcheck has nothing to say about any script', async (t) => {
  if (!requireTool(t, 'shellcheck')) return;
  const scripts = readdirSync(join(PROJECT_ROOT, 'scripts'))
    .map((name) => join('scripts', name))
    .filter((path) => path.endsWith('.sh') || path.endsWith('hubctl'));

  const { status, stdout } = await runProgram('shellcheck', ['-x', ...scripts, '.ci/run'], {
    cwd: PROJECT_ROOT,
    env: { PATH: process.env.PATH ?? '' },
  });

  assert.equal(stdout, '');
  assert.equal(status, 0);
});
