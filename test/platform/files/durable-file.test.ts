// Protects durability where Node refuses fsync: files are written through instead.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFile, sync } from '../../../src/platform/files/durable-file.ts';
import { watchSyncs } from '../../support/watched-syncs.ts';

/** The flags with which a descriptor is open (proc(5)). */
function flagsOf(fd: number): number {
  return parseInt(/^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '', 8);
}

// In a file of its own: what a process may do is found out once.
test('where fsync is refused, the very first file is written through, as all others are', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'durable-'));
  t.after(() => rmSync(folder, { recursive: true }));
  let asked = 0;
  await watchSyncs(t, () => {
    asked++;
    throw Object.assign(new Error('fsync API is disabled when Permission Model is enabled.'), { code: 'ERR_ACCESS_DENIED' });
  });

  for (const name of ['first', 'second']) {
    const handle = await createFile(join(folder, name));
    assert.equal(flagsOf(handle.fd) & constants.O_DSYNC, constants.O_DSYNC, name);
    await handle.writeFile(name);
    await sync(handle);
    await handle.close();
    assert.equal(readFileSync(join(folder, name), 'utf8'), name);
    await assert.rejects(createFile(join(folder, name)), { code: 'EEXIST' });
  }
  assert.equal(asked, 1, 'it is asked once');
});
