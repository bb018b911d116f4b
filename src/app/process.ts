import { SchemaError } from '../platform/db/migrate.ts';
import type { Db } from '../platform/db/open-database.ts';
import { createLog, errorFields, type Log } from '../platform/log.ts';
import { createOutboundFetch } from '../platform/net/outbound-fetch.ts';
import { createApp, type App, type Surroundings } from './app.ts';
import { hubUserAgent, loadConfigOrExit, type Config } from '../features/hub/read-config.ts';
import { openHub } from './prepare-hub.ts';
import { onStopSignals } from './stop-signals.ts';

export type HubProcess = {
  app: App;
  /**
   * Called once, when everything has started: from now on an error that nobody caught is noted and logged, and the
   * process goes on. At a signal `stop` is awaited, then the database is closed and the process ends.
   */
  keepRunning(stop: () => Promise<void>): void;
};

/** What web and worker share: configuration, log, migrated database, the app, and an end that loses nothing. */
export function startProcess(program: 'web' | 'worker', self: NodeJS.Process): HubProcess {
  const config = loadConfigOrExit(self.env);
  const log = createLog(program, config.logLevel, Date.now, (text) => void self.stderr.write(text));
  self.on('exit', log.flush);
  self.stderr.on('error', () => {}); // whoever read the log is gone: the hub goes on without
  const db = openOrExit(config, log, self);
  const app = createApp({ ...surroundings(config, db, log), program });
  return {
    app,
    keepRunning(stop) {
      noteUncaught(self, app);
      stopOnSignals(self, log, db, stop);
    },
  };
}

function noteUncaught(self: NodeJS.Process, { log, errors }: App): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    self.on(event, (error: unknown) => {
      log.error('unexpected error', errorFields(error));
      errors.note(error);
    });
  }
}

/** Time, chance and the world outside, as they really are. */
export function surroundings(config: Config, db: Db, log: Log): Omit<Surroundings, 'program'> {
  const outbound = createOutboundFetch({ userAgent: hubUserAgent(config), allow: config.outboundAllow });
  return { config, db, log, outbound, clock: Date.now, random: Math.random };
}

function openOrExit(config: Config, log: Log, self: NodeJS.Process): Db {
  try {
    return openHub(config, Date.now, (statement, milliseconds) => log.warn('slow query', { statement, milliseconds }));
  } catch (error) {
    const known = error instanceof SchemaError;
    log.error('cannot use the database', known ? { error: error.message } : errorFields(error));
    self.exit(1);
  }
}

function stopOnSignals(self: NodeJS.Process, log: Log, db: Db, stop: () => Promise<void>): void {
  let stopping = false;
  const end = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info('stopping');
    const problem = await stop().then(() => undefined, (error: unknown) => error ?? 'unknown');
    db.close();
    if (problem === undefined) log.info('stopped');
    else log.error('stopped badly', errorFields(problem));
    self.exit(problem === undefined ? 0 : 1);
  };
  onStopSignals(() => void end(), () => self.exit(1));
  self.on('disconnect', () => void end()); // whoever started this process is gone
}
