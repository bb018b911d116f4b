import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRestoreOpen, isRestoreUnderWay } from '../features/backups/restore-state.ts';
import { PAUSE_SIGNAL, PAUSED } from './run-hub.ts';

const POLL = 250; // ms

/** Leaves the id of the supervising process where restore.sh finds it; taken away when the process ends. */
export function noteProcess(dataDir: string, pid: number): void {
  const path = join(dataDir, 'run', 'hub.pid');
  process.on(PAUSE_SIGNAL, () => {}); // from now on it may come, and must not end a process that waits already
  mkdirSync(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  rmSync(failurePath(dataDir), { force: true });
  writeFileSync(path, `${pid}\n`, { mode: 0o600 });
  process.once('exit', () => {
    for (const left of [path, failurePath(dataDir)]) rmSync(left, { force: true });
  });
}

/** Says why the hub does not run on the restored data, so that restore.sh need not wait for it any longer. */
function failurePath(dataDir: string): string {
  return join(dataDir, 'run', 'hub.failed');
}

/**
 * Runs the hub, again after each time that a restore has made it stop (SIGUSR2): it waits until the restore lets it
 * start. On the restored data it may fail; then it waits until the data from before is back. Resolves as `run` does.
 */
export async function runAroundRestores(
  dataDir: string, run: () => Promise<string | null>, prepareAgain: () => void,
): Promise<string | null> {
  let problem = await run();
  while (problem === PAUSED || (problem !== null && isRestoreOpen(dataDir))) {
    process.stderr.write(`${problem}; waiting for the restore\n`);
    await restoreToMakeWay(dataDir, problem);
    problem = failureOf(prepareAgain) ?? await run();
  }
  return problem;
}

/** Until the hub may start; where it has just failed on the restored data, until that is gone again. */
async function restoreToMakeWay(dataDir: string, problem: string): Promise<void> {
  const isOnTrial = !isRestoreUnderWay(dataDir);
  if (isOnTrial && problem !== PAUSED) tellRestore(dataDir, problem);
  while (isRestoreUnderWay(dataDir) || (isOnTrial && isRestoreOpen(dataDir))) await delay(POLL);
}

/** It only shortens a wait: a disk that is full must not end the process that is to run the old data again. */
function tellRestore(dataDir: string, problem: string): void {
  try {
    writeFileSync(failurePath(dataDir), `${problem}\n`, { mode: 0o600 });
  } catch {
    return; // restore.sh has its own patience
  }
}

function failureOf(work: () => void): string | null {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
