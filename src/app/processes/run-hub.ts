import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRestoreOpen, isRestoreUnderWay } from '../../features/backups/restore-state.ts';
import { isWebMessage, type Listening } from './readiness.ts';
import { onStopSignals } from './stop-signals.ts';
import { NO_DEBUGGER, supervise, type StartCommand } from './supervise.ts';

type RunHubOptions = {
  cwd: string;
  env: Record<string, string | undefined>;
  onListening: (message: Listening) => Promise<void>; // called once web listens; the worker starts when it resolves
  areTogether: boolean; // whether web and worker start together, because web cannot tell that it listens
  isSaving: () => boolean; // whether web or worker writes a copy of a lost database
  isPaused: () => boolean; // whether restore.sh or upgrade.sh sent SIGUSR2 while prepare.ts ran
};

const POLL = 250; // ms

/** The signal with which restore.sh and upgrade.sh ask the hub to stop until they are done. */
const PAUSE_SIGNAL = 'SIGUSR2';

const PAUSED = 'the hub pauses';

/** How long the worker waits at most for the end of prepare.ts, which waits until web is healthy. */
const LONGEST_ANNOUNCEMENT = 2_000; // ms

/** Stops PAUSE_SIGNAL from ending this process; the returned function tells whether it has come. */
export function listenForPause(): () => boolean {
  let hasCome = false;
  process.on(PAUSE_SIGNAL, () => (hasCome = true));
  return () => hasCome;
}

/** Runs web and worker until a signal or the end of one; resolves to null after a stop signal, else to the reason. */
export async function runHub(
  commands: readonly StartCommand[],
  { cwd, env, onListening, areTogether, isSaving, isPaused: wasPaused }: RunHubOptions,
): Promise<string | null> {
  if (wasPaused()) return PAUSED;
  let failure: string | undefined;
  // One after the other, they need 160 MiB at most; together, as each reads its modules, 200.
  const { promise: othersAfter, resolve: startOthers } = Promise.withResolvers<void>();
  if (areTogether) startOthers();

  const onMessage = (name: string, message: unknown): void => {
    if (name !== 'web' || !isWebMessage(message)) return;
    if ('failed' in message) failure = message.failed;
    else void onListening(message).then(startOthers);
  };

  const supervision = supervise(commands, { cwd, env, onMessage, isSaving, othersAfter });
  const ignoreSignals = onStopSignals(supervision.stop, () => isSaving() || supervision.kill());
  let isPaused = false;
  const pause = (): void => {
    isPaused = true;
    supervision.stop();
  };
  process.on(PAUSE_SIGNAL, pause);
  const ending = await supervision.ended;
  ignoreSignals();
  process.off(PAUSE_SIGNAL, pause);
  if (isPaused) return PAUSED;
  return ending.stopRequested ? null : failure ?? `${ending.died ?? 'the hub ended'}; the hub has stopped`;
}

/** Writes the id of this supervising process to `run/hub.pid` for scripts, and removes it at the end. */
export function noteProcess(dataDir: string, pid: number): void {
  const path = join(dataDir, 'run', 'hub.pid');
  mkdirSync(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  rmSync(failurePath(dataDir), { force: true });
  writeFileSync(path, `${pid}\n`, { mode: 0o600 });
  process.once('exit', () => {
    for (const left of [path, failurePath(dataDir)]) rmSync(left, { force: true });
  });
}

/** Why npm start could not run the hub, as noted since the given time (unix ms); null: nothing was noted. */
export function failureSince(dataDir: string, since: number): string | null {
  const path = failurePath(dataDir);
  const writtenAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
  return writtenAt < since ? null : readFileSync(path, 'utf8').trim() || 'the hub has stopped';
}

/** The file with the reason why a trial has failed, so that restore.sh or upgrade.sh stops waiting. */
function failurePath(dataDir: string): string {
  return join(dataDir, 'run', 'hub.failed');
}

/**
 * Runs the hub. If a restore or an upgrade makes the hub stop (SIGUSR2), waits until the hub may start again and calls
 * `beginAnew`, because the program may be another version by then. If the hub fails on trial, first waits until the
 * previous data or version is back. Otherwise resolves to null after a normal end, or to the problem.
 */
export async function runAroundRestores(
  dataDir: string, run: () => Promise<string | null>, beginAnew: () => Promise<string | null>,
): Promise<string | null> {
  const problem = await run();
  if (problem !== PAUSED && (problem === null || !isRestoreOpen(dataDir))) return problem;
  process.stderr.write(`${problem}; waiting for the restore or the upgrade\n`);
  await restoreToMakeWay(dataDir, problem);
  return beginAnew();
}

/** Waits until a restore or an upgrade is over; if the hub failed, until the previous data or version is back. */
async function restoreToMakeWay(dataDir: string, problem: string): Promise<void> {
  const hasFailed = problem !== PAUSED && !isRestoreUnderWay(dataDir);
  if (hasFailed) tellRestore(dataDir, problem);
  while (isRestoreUnderWay(dataDir) || (hasFailed && isRestoreOpen(dataDir))) await delay(POLL);
}

/** Stores for the script why the hub failed. A failed write (full disk) must not end this supervising process. */
function tellRestore(dataDir: string, problem: string): void {
  try {
    writeFileSync(failurePath(dataDir), `${problem}\n`, { mode: 0o600 });
  } catch {
    return; // without the file, the script waits until its own time limit has passed
  }
}

/** The message of prepare.ts to its parent process, which trusts it: both are the same program. */
export type Prepared = {
  dataDir: string;
  commands: StartCommand[];
  failure: string | null; // why restored data or a new version on trial cannot run; null: nothing failed
};

type Preparation = {
  prepared: Prepared;
  /** Tells prepare.ts where web listens, so that it prints the hub's address; resolves when prepare.ts has ended. */
  announce(message: Listening): Promise<void>;
  end(): void; // ends prepare.ts, even if it still waits until web is healthy
};

/** Runs prepare.ts until its message comes; if its end or a signal comes first, resolves to the exit status. */
export async function startPreparation(args: readonly string[]): Promise<Preparation | number> {
  const child = spawn(process.execPath, [NO_DEBUGGER, ...process.execArgv, 'src/bin/prepare.ts', ...args],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    child.kill();
  };
  const ignoreSignals = onStopSignals(stop, stop);
  const ended = once(child, 'exit');
  const prepared = await Promise.race([once(child, 'message'), ended.then(() => null)]);
  ignoreSignals();
  if (isStopped) return 0; // a signal ends the start even if everything was prepared at that moment
  if (prepared === null) return statusOf(child);
  return {
    prepared: prepared[0] as Prepared,
    async announce(message) {
      if (child.connected) child.send(message);
      await Promise.race([ended, delay(LONGEST_ANNOUNCEMENT, undefined, { ref: false })]);
    },
    end: () => void (child.connected && child.disconnect()),
  };
}

function statusOf({ exitCode, signalCode }: ChildProcess): number {
  if (signalCode) process.stderr.write(`the preparation of the hub was ended by ${signalCode}; nothing was started\n`);
  return exitCode ?? 1;
}
