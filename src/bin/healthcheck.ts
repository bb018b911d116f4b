/**
 * node src/bin/healthcheck.ts [--worker]
 * Exits with 0 if GET /api/health answers 200 with ok: true within 5 s; otherwise prints the reason and exits with 1.
 * With --worker, checks the age of the worker's last heartbeat, and exits with 75 if web is not ready.
 */
import { readOwnCheckSecret } from '../features/health/own-check.ts';
import { loadConfigOrExit, localAddress } from '../features/hub/read-config.ts';
import { askReadiness, type Readiness } from '../app/processes/readiness.ts';

const ofWorker = process.argv[2] === '--worker';
const { host, port, dataDir } = loadConfigOrExit(process.env);
const { problem, workerProblem }: Readiness =
  port === 0
    ? { problem: 'PORT is 0: the port that web listens on is unknown', workerProblem: null }
    : await askReadiness(localAddress(host, port), AbortSignal.timeout(5_000), readOwnCheckSecret(dataDir));
if (problem !== null) end(problem, ofWorker ? 75 : 1);
if (ofWorker && workerProblem !== null) end(workerProblem, 1);

function end(problem: string, status: number): never {
  process.stderr.write(`${problem}\n`);
  process.exit(status);
}
