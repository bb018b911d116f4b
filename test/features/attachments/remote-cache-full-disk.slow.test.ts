// Protects readers on a full disk: what is in the cache is served, and the rest leaves nothing behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hubEnvironment, temporaryDataDir, watchHubProcess } from '../../support/hub-process.ts';
import { canMount } from '../../support/private-mounts.ts';
import { cachedSizes, hubWithFiles, image } from '../../support/remote-files.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { png, pngChunk } from '../../support/sample-files.ts';

const LARGE = png({ width: 3, height: 2 }, pngChunk('tEXt', Buffer.alloc(300_000)));

/** Takes all space that is left. */
function fill(path: string): void {
  for (const size of [65_536, 4_096, 512]) {
    for (let isFull = false; !isFull;) {
      try {
        writeFileSync(path, Buffer.alloc(size), { flag: 'a' });
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
        isFull = true;
      }
    }
  }
}

test('on a full disk readers get what is in the cache, of the rest a refusal that leaves nothing behind', async (t) => {
  if (!(await canMount(t))) return;
  const { hub, at } = await hubWithFiles(t, { '/1.png': image(LARGE), '/2.png': image(LARGE) });
  const dataDir = temporaryDataDir(t);
  const script = `mount -t tmpfs -o size=8m tmpfs "$DATA_DIR" && cp -R "$FROM"/. "$DATA_DIR" && exec "$0" "$@"`;
  const launch = [process.execPath, join(PROJECT_ROOT, 'src/bin/launch.ts'), 'web'];
  const env = { ...hubEnvironment(dataDir), PATH: process.env.PATH ?? '', FROM: hub.dataDir };
  const web = watchHubProcess(t, spawn('unshare', ['-rm', 'sh', '-c', script, ...launch], { env, stdio: 'pipe' }));
  const address = await web.address();
  const seen = `/proc/${web.child.pid}/root${dataDir}`; // its folder as this process can see it
  const get = async (path: string): Promise<[number, number]> => {
    const response = await fetch(address + at(path));
    return [response.status, (await response.arrayBuffer()).byteLength];
  };

  assert.deepEqual(await get('/1.png'), [200, LARGE.length]);
  fill(join(seen, 'filler'));
  const [status] = await get('/2.png');
  assert.ok([503, 507].includes(status), `${status}`);
  assert.deepEqual(await get('/1.png'), [200, LARGE.length], 'what is there is given out');
  assert.deepEqual(readdirSync(join(seen, 'tmp')), []);
  assert.deepEqual(cachedSizes({ ...hub, dataDir: seen }), [LARGE.length]);

  rmSync(join(seen, 'filler'));
  assert.deepEqual(await get('/2.png'), [200, LARGE.length], 'nothing was remembered against it');
});
