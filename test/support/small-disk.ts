import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { createClient, type Client } from './client.ts';
import { hubEnvironment, temporaryDataDir, watchHubProcess, type HubProcess } from './hub-process.ts';
import { mayMountSmallDisk } from './private-mounts.ts';
import { PROJECT_ROOT, runProgram } from './run-program.ts';

const LAUNCH = join(PROJECT_ROOT, 'src/bin/launch.ts');

/** `folder` is its DATA_DIR as this process can see it, `dataDir` as its own processes do. */
export type HubOnSmallDisk = { web: HubProcess; address: string; client: Client; folder: string; dataDir: string };

/**
 * A web process whose data are on a file system of that size that only it has, with somebody who has joined. The test
 * is skipped where this machine does not let us mount one.
 */
export async function startOnSmallDisk(
  t: TestContext, megabytes: number, settings: Record<string, string> = {},
): Promise<HubOnSmallDisk | undefined> {
  const dataDir = join(temporaryDataDir(t), 'data');
  mkdirSync(dataDir);
  const mount = `mount -t tmpfs -o size=${megabytes}m tmpfs`;
  if (!mayMountSmallDisk(t, dataDir)) return undefined;
  const env = { ...hubEnvironment(dataDir, settings), PATH: process.env.PATH ?? '' };
  const become = `${mount} "$DATA_DIR" && exec "$0" "$@"`;
  const args = ['-m', 'sh', '-c', become, process.execPath, LAUNCH, 'web'];
  const web = watchHubProcess(t, spawn('unshare', args, { env, stdio: 'pipe' }));
  const address = await web.address();
  const client = createClient(address);
  const beside = ['-m', '-t', String(web.child.pid), process.execPath, LAUNCH, 'hubctl', 'invite'];
  const { stdout } = await runProgram('nsenter', beside, { env });
  const person = { invitation: stdout.trim(), username: 'ada', password: 'correct horse battery' };
  const joined = await client.post('/api/accounts', person);
  if (joined.status !== 201) throw new Error(joined.text);
  return { web, address, client, folder: `/proc/${web.child.pid}/root${dataDir}`, dataDir };
}

/** Takes all space that is left. */
export function fillDisk(path: string): void {
  for (const size of [1_048_576, 65_536, 4_096, 512]) {
    for (;;) {
      try {
        writeFileSync(path, Buffer.alloc(size), { flag: 'a' });
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') break;
        throw error;
      }
    }
  }
}

/** A copy of the database in that folder, taken while nobody writes, with its log. */
export function copyDatabase(t: TestContext, from: string): Db {
  const folder = temporaryDataDir(t);
  for (const file of ['hub.db', 'hub.db-wal']) {
    if (existsSync(join(from, file))) copyFileSync(join(from, file), join(folder, file));
  }
  const db = openDatabase(join(folder, 'hub.db'));
  t.after(() => db.close());
  return db;
}
