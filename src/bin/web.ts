/**
 * node src/bin/web.ts
 * The web process: pages, API, feeds, health and metrics. After SIGTERM, running requests have 8 s to finish.
 */
import type { AddressInfo } from 'node:net';
import { listenProblem, type WebMessage } from '../app/processes/readiness.ts';
import { startProcess } from '../app/processes/start-process.ts';
import { joinTrial } from '../app/processes/trial.ts';
import { createWebServer } from '../app/processes/web-server.ts';
import { webTasks } from '../app/schedule.ts';
import { accounts } from '../features/accounts/account-store.ts';
import { noteError } from '../features/errors/error-store.ts';
import { stopDeliveringAlerts } from '../features/health/watch-conditions.ts';
import { noteDeliveries } from '../features/webhooks/note-deliveries.ts';
import { SECOND } from '../platform/clock.ts';
import { closeServer } from '../platform/http/connections.ts';
import { createScheduler } from '../platform/jobs/scheduler.ts';

const GRACE = 8 * SECOND;

/** Connections that may wait to be accepted. Beyond, the kernel drops SYNs; clients repeat them after 1 s and 3 s. */
const BACKLOG = 4096;

const { hub, keepRunning } = startProcess('web', process);
const { config, clock, log } = hub;
const stopWaiting = joinTrial(hub, () => {});
const { server, release } = createWebServer(hub);
const scheduler = createScheduler({ tasks: webTasks(hub), clock, log, onError: (error) => noteError(hub, error) });

server.once('error', (error) => {
  const problem = listenProblem(error, config.host, config.port) ?? error.message;
  log.error('cannot listen', { error: problem });
  tell({ failed: problem }, () => process.exit(1));
});

server.listen({ port: config.port, host: config.host, backlog: BACKLOG }, () => {
  const { address, port } = server.address() as AddressInfo;
  log.info('listening', { host: address, port });
  tell({ listening: { host: address, port } });
  // npm start prints a link itself. A log is no place for one.
  if (!process.send && !accounts(hub).exists()) {
    const command = `${config.projectRoot}/scripts/hubctl invite --role admin`;
    const toDo = `as this account run ${command}, and open the printed link`;
    log.warn('no account yet', { toDo });
  }
  scheduler.start();
});

keepRunning(async () => {
  stopWaiting();
  const closed = closeServer(server, GRACE);
  await scheduler.stop();
  await stopDeliveringAlerts(hub);
  await closed;
  await noteDeliveries(hub);
  release();
});

function tell(message: WebMessage, done: () => void = () => {}): void {
  if (process.send) process.send(message, done);
  else done();
}
