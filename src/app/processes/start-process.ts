import { noteError } from '../../features/errors/error-store.ts';
import { openStores, type Hub } from '../../features/hub/hub.ts';
import { loadConfigOrExit, type Config } from '../../features/hub/read-config.ts';
import { SchemaError } from '../../platform/db/migration-files.ts';
import type { Db, SlowQuery } from '../../platform/db/open-database.ts';
import { createLog, errorFields, type Log } from '../../platform/log.ts';
import '../stores.ts';
import { hubOf, openHubDatabase } from './open-hub.ts';
import { onStopSignals } from './stop-signals.ts';

export type HubProcess = {
  hub: Hub;
  /**
   * Called once, when everything has started: from now on an error that nobody caught is noted and logged, and the
   * process goes on. At a signal `stop` is awaited, then the database is closed and the process ends.
   */
  keepRunning(stop: () => Promise<void>): void;
};

/** What web and worker share: the hub, every statement of it prepared, and an end that loses nothing. */
export function startProcess(program: 'web' | 'worker', self: NodeJS.Process): HubProcess {
  const config = loadConfigOrExit(self.env);
  const log = createLog(program, config.logLevel, Date.now, (text) => void self.stderr.write(text));
  self.on('exit', log.flush);
  self.stderr.on('error', () => {}); // whoever read the log is gone: the hub goes on without
  const db = openOrExit(config, log, self);
  const hub = hubOf(program, config, db, log);
  openStores(hub);
  return {
    hub,
    keepRunning(stop) {
      noteUncaught(self, hub);
      stopOnSignals(self, hub, stop);
    },
  };
}

function noteUncaught(self: NodeJS.Process, hub: Hub): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    self.on(event, (error: unknown) => {
      hub.log.error('unexpected error', errorFields(error));
      noteError(hub, error);
    });
  }
}

function openOrExit(config: Config, log: Log, self: NodeJS.Process): Db {
  try {
    const onSlow: SlowQuery = (statement, milliseconds) => log.warn('slow query', { statement, milliseconds });
    return openHubDatabase(config, Date.now, onSlow);
  } catch (error) {
    const known = error instanceof SchemaError;
    log.error('cannot use the database', known ? { error: error.message } : errorFields(error));
    self.exit(1);
  }
}

function stopOnSignals(self: NodeJS.Process, { log, db }: Hub, stop: () => Promise<void>): void {
  let stopping = false;
  const end = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info('stopping');
    const problem = await stop().then(() => undefined, (error: unknown) => error ?? 'unknown');
    db.close();
    if (problem === undefined) log.info('stopped');
    else log.error('stopped with an error', errorFields(problem));
    self.exit(problem === undefined ? 0 : 1);
  };
  onStopSignals(() => void end(), () => self.exit(1));
  self.on('disconnect', () => void end()); // whoever started this process is gone
}
