import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFile } from '../../platform/files/durable-file.ts';

export type CacheFiles = ReturnType<typeof createCacheFiles>;

/** The folder of publishers' files: cache/<first two digits>/<sha256 of the URL>. Losing one costs a request. */
export function createCacheFiles(dataDir: string) {
  const cache = join(dataDir, 'cache');
  const pathOf = (urlHash: string): string => join(cache, urlHash.slice(0, 2), urlHash);

  return {
    pathOf,
    hashOf: (url: string): string => createHash('sha256').update(url).digest('hex'),
    remove: (urlHash: string): Promise<void> => rm(pathOf(urlHash), { force: true }),

    /** Bytes on disk, or undefined when it is not there. */
    sizeOf: (urlHash: string): Promise<number | undefined> =>
      stat(pathOf(urlHash)).then(({ size }) => size, () => undefined),

    /** Puts a whole file in its place, or none. */
    async write(urlHash: string, body: Buffer): Promise<void> {
      const path = join(dataDir, 'tmp', `cache-${randomUUID()}`);
      const handle = await createFile(path);
      try {
        await handle.writeFile(body);
        await mkdir(dirname(pathOf(urlHash)), { recursive: true, mode: 0o700 });
        await rename(path, pathOf(urlHash));
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      } finally {
        await handle.close();
      }
    },

    /** Names of all files in the cache, with when they were put there (unix ms). */
    async *list(): AsyncGenerator<{ urlHash: string; modifiedAt: number }> {
      for (const folder of await readdir(cache)) {
        if (!/^[0-9a-f]{2}$/.test(folder)) continue;
        for (const urlHash of await readdir(join(cache, folder))) {
          const found = await stat(join(cache, folder, urlHash)).catch(() => undefined);
          if (found && /^[0-9a-f]{64}$/.test(urlHash)) yield { urlHash, modifiedAt: found.mtimeMs };
        }
      }
    },
  };
}
