import { lockForRunning, type FileLock } from '../../features/hub/data-locks.ts';
import { noteError } from '../../features/errors/error-store.ts';
import { checkChangedPages, isSaving, rescueDatabase, saveBeforeEnd } from '../../features/backups/rescue-database.ts';
import { guardDatabase, isDatabaseGone } from '../../features/hub/database-file.ts';
import { openStores, startedAt, type Hub } from '../../features/hub/hub.ts';
import { loadConfigOrExit, type Config } from '../../features/hub/read-config.ts';
import { SECOND } from '../../platform/clock.ts';
import { createSchemaVersion } from '../../platform/db/migrate.ts';
import { DataInUseError, SchemaError } from '../../platform/db/migration-files.ts';
import type { Db, SlowQuery } from '../../platform/db/open-database.ts';
import { createLog, errorFields, type Log } from '../../platform/log.ts';
import { anotherHub, hubOf, openHubDatabase } from './open-hub.ts';
import { onStopSignals } from './stop-signals.ts';

type HubProcess = {
  hub: Hub;
  /**
   * Call it once, when everything in the process has started. From then on, uncaught errors are recorded and logged. At
   * a signal, at the end of the parent process, or when another program has changed the schema, the process awaits
   * `stop`, closes the database and ends.
   */
  keepRunning(stop: () => Promise<void>): void;
};

/** Starts web or worker: reads the settings, opens the database, and prepares the statements of all stores. */
export function startProcess(program: 'web' | 'worker', self: NodeJS.Process): HubProcess {
  const config = loadConfigOrExit(self.env);
  const log = createLog(program, config.logLevel, Date.now, (text) => void self.stderr.write(text));
  self.on('exit', log.flush);
  self.stderr.on('error', () => {}); // the reader of the log is gone: the hub goes on without a log
  if (program === 'web') for (const problem of config.doubtfulNames) log.warn('check the settings', { problem });
  const { db, schemaChange, lock } = openOrExit(program, config, log, self);
  const hub = hubOf(program, config, db, log);
  openStores(hub);
  guardDatabase(hub);
  if (program === 'worker') checkChangedPages(hub); // notes the file's time, by which it sees later changes
  startedAt(hub);
  return {
    hub,
    keepRunning(stop) {
      noteUncaught(self, hub);
      const end = ending(self, hub, stop, lock);
      onStopSignals(() => void end(), () => isSaving(hub) || self.exit(1));
      self.on('disconnect', () => void end()); // the parent process is gone
      setInterval(() => {
        if (isDatabaseGone(hub)) return void rescueDatabase(hub).catch((error: unknown) => noteError(hub, error));
        if (program === 'worker') checkChangedPages(hub);
        const change = schemaChange();
        if (change !== null) void end(change);
      }, SECOND).unref();
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

type OpenedData = { db: Db; schemaChange: () => string | null; lock: FileLock };

function openOrExit(program: 'web' | 'worker', config: Config, log: Log, self: NodeJS.Process): OpenedData {
  try {
    const onSlow: SlowQuery = (statement, milliseconds) => log.warn('slow query', { statement, milliseconds });
    const db = openHubDatabase(config, Date.now, { onSlow, smallCache: program === 'worker' });
    const schemaChange = createSchemaChange(db);
    const lock = lockForRunning(config.dataDir, program);
    if (!lock) throw new DataInUseError(anotherHub(config));
    return { db, schemaChange, lock };
  } catch (error) {
    const known = error instanceof SchemaError;
    log.error('cannot use the database', known ? { error: error.message } : errorFields(error));
    self.exit(error instanceof DataInUseError ? 75 : 1);
  }
}

function createSchemaChange(db: Db): () => string | null {
  const read = createSchemaVersion(db);
  const began = read();
  return () => {
    try {
      const version = read();
      return version === began ? null : `schema version ${began} became ${version} while this program ran`;
    } catch {
      return null; // GET /api/health reports an unreadable database
    }
  };
}

/** Returns a function that ends the process, with status 1 if it gets a `reason` or `stop` fails, else 0. */
function ending(self: NodeJS.Process, hub: Hub, stop: () => Promise<void>, lock: FileLock) {
  const { log, db } = hub;
  let stopping = false;
  return async (reason?: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    if (reason === undefined) log.info('stopping');
    else log.error('stopping', { error: reason });
    const saved = saveBeforeEnd(hub);
    const problem = await stop().then(() => undefined, (error: unknown) => error ?? 'unknown');
    await saved;
    db.close();
    lock.release();
    if (problem === undefined) log.info('stopped');
    else log.error('stopped with an error', errorFields(problem));
    self.exit(problem === undefined && reason === undefined ? 0 : 1);
  };
}
