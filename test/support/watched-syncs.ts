import { readlinkSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { TestContext } from 'node:test';

/** Has every fsync of this process told first, with the path of what is synced; it may throw to refuse it (Linux). */
export async function watchSyncs(t: TestContext, onSync: (path: string) => void): Promise<void> {
  const handle = await open(tmpdir(), 'r');
  const prototype = Object.getPrototypeOf(handle) as Pick<FileHandle, 'sync'>;
  await handle.close();
  const real = prototype.sync;
  prototype.sync = async function sync(this: FileHandle): Promise<void> {
    onSync(readlinkSync(`/proc/self/fd/${this.fd}`));
    return real.call(this);
  };
  t.after(() => void (prototype.sync = real));
}
