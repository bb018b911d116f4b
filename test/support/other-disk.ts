import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { cannotRun } from './tools.ts';

/** A folder on another file system than that path; the test is skipped where this machine has none to write to. */
export function otherDisk(t: TestContext, path: string): string | undefined {
  const parent = ['/dev/shm', '/tmp', '/var/tmp'].find((one) => existsSync(one) && statSync(one).dev !== statSync(path).dev);
  if (parent === undefined) {
    cannotRun(t, 'there is no second file system to write to');
    return undefined;
  }
  const folder = mkdtempSync(join(parent, 'other-disk-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
