import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { confinedCommand, nodeFacts } from '../../src/app/processes/confined-command.ts';
import { MALLOC_SETTINGS } from '../../src/app/processes/supervise.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';

/** Stopped when its block ends. */
export type RunningServer = AsyncDisposable & { name: string; port: number; pid: number };

/** The hub's own web process as it runs for real, confined and with its log on (to nowhere). */
export function startWeb(dataDir: string, settings: NodeJS.ProcessEnv = {}): Promise<RunningServer> {
  const env = { ...hubEnvironment(dataDir), ...settings };
  const portOf = (message: unknown) => (message as { listening?: { port: number } }).listening?.port;
  return start('web', hubArguments('web', env), env, portOf, 'ignore');
}

/** The hub's own worker, likewise. Its database must have been migrated. */
export function startWorker(dataDir: string): AsyncDisposable & { pid: number } {
  const env = hubEnvironment(dataDir);
  const child = spawn(process.execPath, hubArguments('worker', env), { env, stdio: 'ignore' });
  return { pid: child.pid ?? 0, [Symbol.asyncDispose]: () => stop(child) };
}

function hubEnvironment(dataDir: string): NodeJS.ProcessEnv {
  return { ...MALLOC_SETTINGS, ...process.env, DATA_DIR: dataDir, PORT: '0', HOST: '127.0.0.1', OUTBOUND_ALLOW: '127.0.0.0/8' };
}

function hubArguments(name: string, env: NodeJS.ProcessEnv): string[] {
  return confinedCommand(loadConfig(env), name, [], nodeFacts(process, process.cwd())).args;
}

/** Resident memory of a process in MiB: now, or at its highest (Linux). */
export function residentMiB(pid: number, which: 'VmRSS' | 'VmHWM'): number {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n').find((text) => text.startsWith(which));
  return Number(/\d+/.exec(line ?? '')?.[0]) / 1024;
}

/** Milliseconds that a process has had a processor, in its own code and in the system's (Linux: in steps of 10). */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** One of the peers beside this file; it sends its port once it listens. */
export function startPeer(file: string, args: string[]): Promise<RunningServer> {
  const portOf = (message: unknown) => (message as { port: number }).port;
  return start(file, [join(import.meta.dirname, file), ...args], process.env, portOf, 'inherit');
}

async function start(
  name: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  portOf: (message: unknown) => number | undefined,
  errors: 'ignore' | 'inherit',
): Promise<RunningServer> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', errors, 'ipc'] });
  const port = await Promise.race([portFrom(child, portOf), once(child, 'exit').then(() => undefined)]);
  if (port === undefined || child.pid === undefined) throw new Error(`${name} did not start`);
  return { name, port, pid: child.pid, [Symbol.asyncDispose]: () => stop(child) };
}

function portFrom(child: ChildProcess, portOf: (message: unknown) => number | undefined): Promise<number> {
  return new Promise((resolve) => {
    child.on('message', (message) => {
      const port = portOf(message);
      if (port !== undefined) resolve(port);
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/** Answers per second of one path, asked for by a process of its own. */
export async function load(
  server: RunningServer, path: string, milliseconds: number, headers: string[] = [],
): Promise<number> {
  return Number(await runClient('load-client.ts', [server.port, path, 16, milliseconds, ...headers]));
}

/** One of the clients beside this file, and what it prints until it ends. */
export async function runClient(file: string, args: (string | number)[]): Promise<string> {
  const client = startClient(file, args);
  let printed = '';
  client.stdout.on('data', (chunk) => (printed += chunk));
  const [code] = await once(client, 'close');
  if (code !== 0) throw new Error(`${file} failed`);
  return printed;
}

export function startClient(file: string, args: (string | number)[]): ChildProcessByStdio<null, Readable, null> {
  const path = join(import.meta.dirname, file);
  return spawn(process.execPath, [path, ...args.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] });
}
