// Protects scripts that call one another from starting Node again and again, and from a Node that is too old.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-project.ts';

const FIND = 'set -eu; . "$root/scripts/find-node.sh"; echo "$node"';

test('scripts that call one another ask a Node for its version once, and another Node of their own', async (t) => {
  const folder = temporaryFolder(t);
  const asked = join(folder, 'asked');
  const node = (name: string, version: string): Record<string, string> =>
    ({ [name]: `#!/bin/sh\necho ${name} >>'${asked}'\necho ${version}\n` });
  writeFiles(folder, { ...node('one', 'v24.7.0'), ...node('other', 'v24.8.0'), ...node('old', 'v24.6.9') }, 0o755);
  writeFileSync(asked, '');
  const run = (script: string) =>
    runProgram('sh', ['-c', script], { env: { PATH: `${folder}:/usr/bin:/bin`, root: PROJECT_ROOT, HUB_NODE: 'one' } });

  const { stdout, stderr } = await run(`${FIND}; export FIND='${FIND}'; sh -c "$FIND"; HUB_NODE=other sh -c "$FIND"; sh -c "$FIND"`);
  assert.deepEqual([stdout, stderr], [['one', 'one', 'other', 'one'].map((name) => `${join(folder, name)}\n`).join(''), '']);
  assert.equal(readFileSync(asked, 'utf8'), 'one\nother\n');

  const old = await run(`${FIND}; HUB_NODE=old sh -c '${FIND}'`);
  assert.deepEqual([old.status, old.stderr], [2, 'HUB_NODE=old is not Node 24.7 or newer\n']);
  const gone = await run(`${FIND}; rm '${join(folder, 'one')}'; sh -c '${FIND}'`);
  assert.deepEqual([gone.status, gone.stderr], [2, 'HUB_NODE=one is not Node 24.7 or newer\n']);
});
