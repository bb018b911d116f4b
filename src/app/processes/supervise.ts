import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { SECOND } from '../../platform/clock.ts';

/**
 * Environment of the hub's processes, for glibc's malloc. With one memory arena per thread, web was seen to grow to 400
 * MiB instead of 280 while it hashed passwords and read files. With a fixed threshold in bytes, malloc returns freed
 * memory to the system; web was measured at 240 MiB instead of 270 after many large uploads and connections.
 */
export const MALLOC_SETTINGS = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' };

/** Overrules NODE_USE_ENV_PROXY, with which a proxy named in the environment would see alerts and uploads. */
export const NO_PROXY = { NO_PROXY: '*', no_proxy: '*' };

/**
 * Without this flag SIGUSR1 opens Node's debugger on a port of this machine, also in an unconfined process: code in web
 * could then run anything there.
 */
export const NO_DEBUGGER = '--disable-sigusr1';

/** Longer than a process waits for the copy of a lost database (`LONGEST_SAVING`). */
const LONGEST_GRACE = 100 * SECOND;

/** How old the count of processes that the system killed may be: other programs of the machine count, too. */
const LOOK_EVERY = 10 * SECOND;

export type StartCommand = { name: string; file: string; args: string[] };

type Ending = {
  stopRequested: boolean;
  died: string | null; // the first process that ended unasked, and how
  killed: string[]; // the processes that did not stop in time, or before a second signal
};

export type Supervision = ReturnType<typeof supervise>;

type SuperviseOptions = {
  cwd: string;
  env: Record<string, string | undefined>;
  graceMs?: number;
  /** Whether processes need more than `graceMs` to stop; they are killed after `LONGEST_GRACE` at the latest. */
  isSaving?: () => boolean;
  onMessage?: (name: string, message: unknown) => void;
  /** If given, only the first process starts at once, and the others when this has resolved. */
  othersAfter?: Promise<void>;
};

/** Runs processes until one ends or `stop` is called, then stops the others; `ended` resolves when all have ended. */
export function supervise(commands: readonly StartCommand[], options: SuperviseOptions) {
  const { promise: ended, resolve } = Promise.withResolvers<Ending>();
  const running = new Map<ChildProcess, string>();
  const ending: Ending = { stopRequested: false, died: null, killed: [] };
  let stopping: NodeJS.Timeout | undefined;

  let kills = memoryKills();
  const looking = setInterval(() => (kills = memoryKills()), LOOK_EVERY);
  const [first, ...others] = commands;
  if (first) start(first);
  if (options.othersAfter) void options.othersAfter.then(() => others.forEach(start));
  else others.forEach(start);

  function start(command: StartCommand): void {
    if (stopping || ending.died !== null) return;
    const child = spawnChild(command, options);
    running.set(child, command.name);
    child.on('message', (message) => options.onMessage?.(command.name, message));
    child.once('error', (error) => gone(child, `could not be started (${error.message})`));
    child.once('exit', (code, signal) => gone(child, howEnded(code, signal)));
  }

  function howEnded(code: number | null, signal: NodeJS.Signals | null): string {
    const isForMemory = signal === 'SIGKILL' && memoryKills() > kills;
    return isForMemory ? 'was killed by the system, because memory was used up'
      : `ended by itself (${signal ?? `exit code ${code}`})`;
  }

  function gone(child: ChildProcess, how: string): void {
    const name = running.get(child);
    if (!running.delete(child)) return;
    if (!ending.stopRequested) ending.died ??= `${name} ${how}`;
    if (running.size > 0) return stopAll();
    clearTimeout(stopping);
    clearInterval(looking);
    resolve(ending);
  }

  function stopAll(): void {
    if (stopping) return;
    stopping = setTimeout(killUnlessSaving, options.graceMs ?? 12 * SECOND, performance.now() + LONGEST_GRACE);
    for (const child of running.keys()) child.kill('SIGTERM');
  }

  function stop(): void {
    if (!stopping) ending.stopRequested = true;
    stopAll();
  }

  function killUnlessSaving(until: number): void {
    if (options.isSaving?.() && performance.now() < until) stopping = setTimeout(killUnlessSaving, SECOND, until);
    else kill();
  }

  function kill(): void {
    for (const [child, name] of running) {
      ending.killed.push(name);
      killGroup(child);
    }
  }

  return { stop, kill, ended };
}

/** How many processes Linux has killed for lack of memory since it started, also in containers; 0 elsewhere. */
function memoryKills(): number {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Starts a child in its own process group: Ctrl-C then reaches only the supervisor, which stops each child once. */
function spawnChild({ file, args }: StartCommand, { cwd, env }: SuperviseOptions): ChildProcess {
  return spawn(file, args, {
    cwd, env: { ...MALLOC_SETTINGS, ...env, ...NO_PROXY }, detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}
