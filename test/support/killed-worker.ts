import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Db } from '../../src/platform/db/open-database.ts';
import { hubEnvironment, watchHubProcess, type HubProcess } from './hub-process.ts';
import { PROJECT_ROOT } from './run-program.ts';
import { endLeases } from './stored-jobs.ts';
import { waitUntil } from './wait-until.ts';

/** The hub's own worker on that DATA_DIR. */
export function startWorker(t: TestContext, dataDir: string, env: Record<string, string> = {}): HubProcess {
  const file = join(PROJECT_ROOT, 'src/bin/worker.ts');
  return watchHubProcess(t, spawn(process.execPath, [file], { env: hubEnvironment(dataDir, env), stdio: 'pipe' }));
}

/** Kills the worker at each of these moments, and starts another; its jobs are free as after their lease. */
export async function killAt(
  t: TestContext, db: Db, dataDir: string, moments: (() => boolean)[], env: Record<string, string> = {},
  attempts: 'forgotten' | 'counted' = 'forgotten',
): Promise<void> {
  for (const isReached of moments) {
    const worker = startWorker(t, dataDir, env);
    await waitUntil('it is time', isReached);
    await worker.end('SIGKILL');
    endLeases({ db }, attempts);
  }
}
