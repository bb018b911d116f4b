import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export type Outcome = { status: number | null; stdout: string; stderr: string };
type RunOptions = { cwd?: string; env?: Record<string, string> };

export const PROJECT_ROOT = resolve(import.meta.dirname, '../..');

/** Environment for programs of the hub: where modules lie that are compiled already, half of the work of a start. */
export const COMPILED = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' };

/** Environment for confined programs: Node needs a folder of modules that it may write, and theirs is DATA_DIR. */
export function compiledIn(dataDir: string): typeof COMPILED {
  const folder = join(dataDir, 'run/compiled');
  if (existsSync(dataDir) && !existsSync(folder)) linkModules('here', folder);
  return { NODE_COMPILE_CACHE: folder };
}

/** Environment for confined programs of a copy of the project, whose DATA_DIR is its folder data. */
export function compiledInCopy(project: string): Record<string, string> {
  const folder = join(project, 'data/run/compiled');
  if (!existsSync(folder)) linkModules('anywhere', folder);
  return { NODE_COMPILE_CACHE: folder, NODE_COMPILE_CACHE_PORTABLE: '1' };
}

/**
 * Lays the modules that compile-modules.ts has compiled into a new folder: for the project `here`, or for a copy of it
 * `anywhere` whose folder data/run/compiled this is. Without compiled modules, Node compiles as it goes.
 */
export function linkModules(place: 'here' | 'anywhere', folder: string): void {
  const compiled = join(PROJECT_ROOT, '.runtime/hub-modules', place);
  if (!existsSync(compiled)) return;
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  // Node replaces a module's file and never writes into it, so links are as good as copies, and made in no time.
  spawnSync('cp', [statSync(compiled).dev === statSync(dirname(folder)).dev ? '-al' : '-a', '--', compiled, folder]);
}

/** For tests that look at all that programs leave in DATA_DIR. */
export const NOT_COMPILED: typeof COMPILED = { NODE_COMPILE_CACHE: '' };

/** Runs a program to its end, with exactly the given environment, and gives its exit status and what it wrote. */
export function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { promise, resolve: done, reject } = Promise.withResolvers<Outcome>();
  const child = spawn(file, args, { cwd: options.cwd, env: options.env ?? {}, stdio: ['ignore', 'pipe', 'pipe'] });
  const outcome: Outcome = { status: null, stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (outcome.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (outcome.stderr += text));
  child.once('error', reject);
  child.once('close', (status) => done({ ...outcome, status }));
  return promise;
}

/** Sends a signal to a process that leads a group of its own, and to all that it has started. */
export function signalAll({ pid }: { pid?: number | undefined }, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    return; // all of it has ended
  }
}

/** Whether a process has set a function for that signal; `10` is SIGUSR1. */
export function catches(status: string, signal: number): boolean {
  const [, mask = ''] = /^SigCgt:\t([0-9a-f]+)$/m.exec(status) ?? [];
  if (mask === '') throw new Error(`no SigCgt: ${status}`);
  return (BigInt(`0x${mask}`) >> BigInt(signal - 1) & 1n) === 1n;
}

/** Whether a process with this id runs; one that has ended and was not yet waited for does not. */
export function isRunning(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.startsWith('Z') === false;
  } catch {
    return false;
  }
}
