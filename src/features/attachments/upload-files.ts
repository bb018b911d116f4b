import { createHash, randomUUID } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFile, syncPath, writeBehind } from '../../platform/files/durable-file.ts';
import { once, type Hub } from '../hub/hub.ts';

/** A file in tmp/, whole and written through, that nothing names yet. */
export type ReceivedBytes = { path: string; bytes: number; sha256: string };

/** The place of an uploaded file in DATA_DIR, and its name in the archive of a backup. */
export function uploadPath(sha256: string): string {
  return `uploads/${sha256.slice(0, 2)}/${sha256}`;
}

/** The folders of uploaded files: tmp/ while they come in, then uploads/<first two digits>/<sha256>, written once. */
export const uploadFiles = once(({ config }: Pick<Hub, 'config'>) => {
  const uploads = join(config.dataDir, 'uploads');
  const tmp = join(config.dataDir, 'tmp');
  const pathOf = (sha256: string): string => join(config.dataDir, uploadPath(sha256));

  return {
    pathOf,

    /**
     * Writes the chunks to a temporary file, each shown to `look` first. Leaves nothing behind when anything fails, and
     * nothing in the chunks.
     */
    async receive(chunks: AsyncIterable<Buffer>, look: (chunk: Buffer) => void): Promise<ReceivedBytes> {
      const path = join(tmp, `upload-${randomUUID()}`);
      const handle = await createFile(path);
      const writer = writeBehind(handle);
      const hash = createHash('sha256');
      let bytes = 0;
      try {
        for await (const chunk of chunks) {
          look(chunk);
          hash.update(chunk);
          bytes += chunk.length;
          await writer.write(chunk);
          free(chunk);
        }
        await writer.end();
        return { path, bytes, sha256: hash.digest('hex') };
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      } finally {
        await handle.close().finally(writer.release);
      }
    },

    /** Moves a received file to its place. The same bytes a second time take that of the first: equal, and whole. */
    async keep({ path, sha256 }: ReceivedBytes): Promise<void> {
      const target = pathOf(sha256);
      const folder = dirname(target);
      const made = await mkdir(folder, { recursive: true, mode: 0o700 });
      await rename(path, target);
      await syncPath(folder);
      if (made !== undefined) await syncPath(uploads);
    },

    discard: ({ path }: ReceivedBytes): Promise<void> => rm(path, { force: true }),

    /**
     * At once, and without waiting: called within write transactions, so that a sweep and an upload of the same bytes
     * come one after the other. Whoever writes a row for a file asks `isThere` in the same transaction.
     */
    removeNow: (sha256: string): void => rmSync(pathOf(sha256), { force: true }),
    isThere: (sha256: string): boolean => statSync(pathOf(sha256), { throwIfNoEntry: false }) !== undefined,

    /** When its last byte was written (unix ms), or undefined when the file is missing. */
    modifiedAt: (sha256: string): number | undefined => statSync(pathOf(sha256), { throwIfNoEntry: false })?.mtimeMs,

    /** Bytes on disk, or undefined when the file is missing. */
    sizeOf: (sha256: string): Promise<number | undefined> =>
      stat(pathOf(sha256)).then(({ size }) => size, () => undefined),

    /** Names of all files that lie where uploads do, whoever put them there. */
    async *list(): AsyncGenerator<string> {
      for (const folder of await readdir(uploads)) {
        if (!/^[0-9a-f]{2}$/.test(folder)) continue;
        for (const name of await readdir(join(uploads, folder))) {
          if (name.startsWith(folder) && /^[0-9a-f]{64}$/.test(name)) yield name;
        }
      }
    },

    /** Removes what was left in tmp/ by requests that a crash cut off before `before` (unix ms); returns how many. */
    async removeAbandoned(before: number): Promise<number> {
      const names = (await readdir(tmp)).filter((name) => /^(upload|cache)-[0-9a-f-]{36}$/.test(name));
      const old = [];
      for (const name of names) {
        const { mtimeMs = Infinity } = statSync(join(tmp, name), { throwIfNoEntry: false }) ?? {};
        if (mtimeMs < before) old.push(name);
      }
      await Promise.all(old.map((name) => rm(join(tmp, name), { force: true })));
      return old.length;
    },
  };
});

/** Left to the garbage collector, the chunks of a hundred uploads at once would fill 50 MiB before it came. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
