import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { compiledIn, NOT_COMPILED, PROJECT_ROOT, runProgram, signalAll, type Outcome } from './run-program.ts';
import { startHubProcess, type HubProcess } from './hub-process.ts';
import { waitUntil } from './wait-until.ts';

export const RESTORE = join(PROJECT_ROOT, 'scripts/restore.sh');

/** What restore.sh gets: hardly anything, as from cron, and short patience. */
export function restoreEnvironment(dataDir: string, port: number, env: Record<string, string> = {}): Record<string, string> {
  // Compiled modules would make the folder.
  const compiled = existsSync(dataDir) && env['NODE_COMPILE_CACHE'] === undefined ? compiledIn(dataDir) : NOT_COMPILED;
  return {
    PATH: '/usr/bin:/bin', HUB_NODE: process.execPath, DATA_DIR: dataDir, PORT: String(port), CONFIRM_RESTORE: 'YES',
    RESTORE_HEALTH_SECONDS: '20', RESTORE_STOP_SECONDS: '2', ...compiled, ...env,
  };
}

/** Runs restore.sh on that folder's hub; `port` is where it listens. */
export function runRestore(
  dataDir: string, port: number, args: string[], env: Record<string, string> = {}, cwd = '/',
): Promise<Outcome> {
  return runProgram(RESTORE, args, { env: restoreEnvironment(dataDir, port, env), cwd });
}

/** The same in a process group of its own, to be killed at any moment with all that it has started. */
export function startRestore(t: TestContext, dataDir: string, port: number, args: string[], env: Record<string, string> = {}) {
  const child = spawn(RESTORE, args, {
    env: restoreEnvironment(dataDir, port, env), cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('exit', (status, signal) => resolve(status ?? signal));
  });
  const signalGroup = (signal: NodeJS.Signals): void => signalAll(child, signal);
  t.after(() => signalGroup('SIGKILL'));
  return { said: () => said, ended, signalGroup, signal: (signal: NodeJS.Signals): boolean => child.kill(signal) };
}

/** The hub as npm start runs it, once it is healthy and its worker works. */
export async function startHub(
  t: TestContext, dataDir: string, port: number, env: Record<string, string> = {},
): Promise<HubProcess & { url: string }> {
  const hub = startHubProcess(t, 'start', dataDir, { PORT: String(port), ...env });
  const url = `http://127.0.0.1:${port}`;
  await waitUntil('the hub is healthy', () => isHealthy(url));
  await waitUntil('the worker works', () => hub.stderr().includes('"event":"working"'));
  return { ...hub, url };
}

export async function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/api/health`).then(({ status }) => status === 200, () => false);
}
