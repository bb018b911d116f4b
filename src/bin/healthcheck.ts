/**
 * node src/bin/healthcheck.ts [TRIES PAUSE] [--worker]
 * Exits with 0 if GET /api/health answers 200 with ok: true within 5 s; otherwise prints the reason and exits with 1.
 * With --worker, checks the age of the worker's last heartbeat, and exits with 75 if web is not ready. Also exits with
 * 75 if the database is lost: a restart would close the handle that still has what was stored. With TRIES and PAUSE,
 * checks up to TRIES times, PAUSE seconds apart; scripts/await-health.sh says when it gives up early.
 */
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { readOwnCheckSecret } from '../features/health/own-check.ts';
import { isDatabaseLost } from '../features/hub/database-note.ts';
import { loadConfigOrExit, localAddress } from '../features/hub/read-config.ts';
import { askReadiness, type Readiness } from '../app/processes/readiness.ts';
import { SECOND } from '../platform/clock.ts';

type Failure = { problem: string; status: number };

const words = process.argv.slice(2);
const ofWorker = words.includes('--worker');
const [tries = 1, pause = 0] = words.filter((word) => word !== '--worker').map(Number);
const { MAINPID, FAILURE_FILE, DEADLINE } = process.env;
const { host, port, dataDir } = loadConfigOrExit(process.env);

let failure = await check();
for (let left = tries - 1; failure && left > 0 && !isInVain(); left--) {
  await delay(pause * SECOND);
  failure = await check();
}
if (failure) {
  process.stderr.write(`${reasonInFile() ?? failure.problem}\n`);
  process.exitCode = failure.status;
}

async function check(): Promise<Failure | undefined> {
  const { problem, workerProblem, isLost } = await readiness();
  if (isLost || isDatabaseLost(dataDir)) {
    return { problem: 'the hub has lost its database: see ./scripts/hubctl status', status: 75 };
  }
  if (problem !== null) return { problem, status: ofWorker ? 75 : 1 };
  return ofWorker && workerProblem !== null ? { problem: workerProblem, status: 1 } : undefined;
}

async function readiness(): Promise<Readiness> {
  if (port === 0) {
    return { problem: 'PORT is 0: the port that web listens on is unknown', workerProblem: null, isLost: false };
  }
  return askReadiness(localAddress(host, port), AbortSignal.timeout(5 * SECOND), readOwnCheckSecret(dataDir));
}

function isInVain(): boolean {
  return reasonInFile() !== undefined || hasEnded(MAINPID) || (DEADLINE ? uptime() >= Number(DEADLINE) : false);
}

function reasonInFile(): string | undefined {
  try {
    return FAILURE_FILE ? readFileSync(FAILURE_FILE, 'utf8').trimEnd() : undefined;
  } catch {
    return undefined; // nothing has failed
  }
}

function hasEnded(pid: string | undefined): boolean {
  try {
    return pid ? !process.kill(Number(pid), 0) : false;
  } catch {
    return true;
  }
}
