/**
 * node src/bin/web.ts
 * The web process: pages, API, feeds, health and metrics. SIGTERM finishes the requests in hand, for up to 8 s.
 */
import type { AddressInfo } from 'node:net';
import { loadFile, loadHandlers } from '../app/handlers-of.ts';
import { listenProblem, type WebMessage } from '../app/processes/listening.ts';
import { startProcess } from '../app/processes/start-process.ts';
import { joinTrial } from '../app/processes/trial.ts';
import { createWebServer } from '../app/processes/web-server.ts';
import { noteError } from '../features/errors/error-store.ts';
import { openStores } from '../features/hub/hub.ts';
import { SECOND } from '../platform/clock.ts';
import { errorFields } from '../platform/log.ts';
import { closeServer } from '../platform/http/server.ts';
import { createScheduler } from '../platform/jobs/scheduler.ts';

const GRACE = 8 * SECOND;

/** Connections that wait to be accepted: beyond them TCP has a client try again after a second, then after three. */
const BACKLOG = 4096;

const { hub, keepRunning } = startProcess('web', process);
const { config, clock, log } = hub;
const stopWaiting = joinTrial(hub, () => {});
const { server, release } = createWebServer(hub);
let background: ReturnType<typeof loadTheRest> | undefined;

server.once('error', (error) => {
  const problem = listenProblem(error, config.host, config.port) ?? error.message;
  log.error('cannot listen', { error: problem });
  tell({ failed: problem }, () => process.exit(1));
});

server.listen({ port: config.port, host: config.host, backlog: BACKLOG }, () => {
  const { address, port } = server.address() as AddressInfo;
  log.info('listening', { host: address, port });
  tell({ listening: { host: address, port } });
  background = loadTheRest();
});

keepRunning(async () => {
  stopWaiting();
  const closed = closeServer(server, GRACE); // at once, also while the rest is still being loaded
  await (await background)?.stop();
  await closed;
  await (await background)?.end();
  release();
});

/**
 * What need not be there before the first request: the other handlers, then the schedule. `stop` ends that; `end` is
 * for after the last request.
 */
async function loadTheRest(): Promise<{ stop(): Promise<void>; end(): Promise<void> }> {
  try {
    await loadHandlers();
    const { webTasks } = await loadFile(() => import('../app/schedule.ts'));
    openStores(hub); // those of app/later-stores.ts
    const { stopDeliveringAlerts } = await loadFile(() => import('../features/health/watch-conditions.ts'));
    const scheduler = createScheduler({ tasks: webTasks(hub), clock, log, onError: (error) => noteError(hub, error) });
    scheduler.start();
    const { noteDeliveries } = await loadFile(() => import('../features/webhooks/note-deliveries.ts'));
    return {
      async stop() {
        await scheduler.stop();
        await stopDeliveringAlerts(hub);
      },
      end: () => noteDeliveries(hub),
    };
  } catch (error) {
    log.error('cannot load the program', errorFields(error));
    tell({ failed: `cannot load the program: ${errorFields(error).error}` }, () => process.exit(1));
    return new Promise(() => {}); // the process ends
  }
}

/** To whoever started this process, if they listen. */
function tell(message: WebMessage, done: () => void = () => {}): void {
  if (process.send) process.send(message, done);
  else done();
}
