import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { signalAll } from './run-program.ts';
import { temporaryProject, writeFiles } from './temporary-project.ts';
import { waitUntil } from './wait-until.ts';

// Both write their process id beside the database, so that a test knows whom to look for.
const WEB = `
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { loadConfigOrExit } from '../features/hub/read-config.ts';
import { listenProblem } from '../app/processes/readiness.ts';

const config = loadConfigOrExit(process.env);
writeFileSync(config.dataDir + '/web.pid', String(process.pid));
const server = createServer((_, response) => response.end('{"ok":true}'));
server.on('error', (error) => {
  process.send?.({ failed: listenProblem(error, config.host, config.port) ?? error.message }, () => process.exit(1));
});
server.listen(config.port, config.host, () => {
  const address = server.address();
  if (address && typeof address === 'object') {
    process.send?.({ listening: { host: address.address, port: address.port } });
  }
});
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => process.exit(0));
`;
const WORKER = `
import { writeFileSync } from 'node:fs';
import { loadConfigOrExit } from '../features/hub/read-config.ts';

writeFileSync(loadConfigOrExit(process.env).dataDir + '/worker.pid', String(process.pid));
setInterval(() => undefined, 1_000);
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => process.exit(0));
`;
const PREPARE = `
import { existsSync, writeFileSync } from 'node:fs';
import type { Config } from '../../features/hub/read-config.ts';
export function prepareHub(config: Config) {
  writeFileSync(config.dataDir + '/prepare.pid', String(process.pid));
  while (process.env.ENDLESS || process.env.UNTIL && !existsSync(process.env.UNTIL));
  if (process.env.UNSAFE) throw new Error('migration 2 is not safe: run scripts/hubctl migrate');
  return config.baseUrl + '/join/abc';
}
`;

/** A hub that was started, and what it has written so far. */
export type Hub = { child: ChildProcess; folder: string; stdout: () => string; stderr: () => string };

/** The real start and launch, and stand-ins for the programs they run. */
export function standInProject(t: TestContext): string {
  const parts = ['package.json', 'package-lock.json', 'scripts', 'src/app', 'src/features', 'src/platform', 'src/bin'];
  const folder = temporaryProject(t, parts);
  writeFiles(folder, { 'src/bin/web.ts': WEB, 'src/bin/worker.ts': WORKER, 'src/app/processes/prepare-hub.ts': PREPARE });
  return folder;
}

/** Starts the hub of a project, by default with its start.ts, and leaves nothing of it after the test. */
export function startHub(t: TestContext, folder: string, env: Record<string, string>, command?: string[]): Hub {
  const [file = '', ...args] = command ?? [process.execPath, join(folder, 'src/bin/start.ts')];
  const child = spawn(file, args, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  t.after(() => signalAll(child, 'SIGKILL')); // the stand-ins end by themselves when start is gone
  return { child, folder, stdout: () => output.stdout, stderr: () => output.stderr };
}

/** The process id of web, worker or what prepares them (`prepare`), which may have ended since. */
export function pidOf(folder: string, name: string): number {
  return Number(readFileSync(join(folder, 'data', `${name}.pid`), 'utf8'));
}

/** Resolves when both processes run and the address is printed. */
export async function ready(hub: Hub): Promise<void> {
  await waitUntil('web and worker run and the address is printed', () => {
    const files = ['web.pid', 'worker.pid'].map((file) => join(hub.folder, 'data', file));
    const written = files.every((file) => statSync(file, { throwIfNoEntry: false })?.size);
    return written && hub.stdout().includes('running at');
  });
}

/** The exit status, once the process and everything that holds its streams has ended. */
export function exit({ child }: Hub): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once('close', resolve);
  return promise;
}
