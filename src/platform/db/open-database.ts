import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { codeOf } from '../error-code.ts';

/** SQLite's errors because of the storage: a full or failing disk, a lock, or a damaged or unusable file. */
const STORAGE_TROUBLE = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|CANTOPEN|READONLY|CORRUPT|NOTADB)/;

const BUSY_TIMEOUT_MS = 5_000;
const SLOW_MS = 50;

type RunResult = { changes: number; lastInsertRowid: number };

export type Statement<Params extends unknown[], Row> = {
  get(...params: Params): Row | undefined;
  all(...params: Params): Row[];
  /** Returns the first `limit` rows that pass the test; the test may read from the database, but not write. */
  first(limit: number, passes: (row: Row) => boolean, ...params: Params): Row[];
  has(...params: Params): boolean;
  /** The column `n` of the first row; 0 without a row. */
  count(...params: Params): number;
  run(...params: Params): RunResult;
  /** Runs; returns how many rows changed. */
  change(...params: Params): number;
};

/**
 * A SQLite database: the hub's, a copy, or a file that is a lock. Statements have names, so that slow ones can be found
 * in the log. `write` and `transaction` are IMMEDIATE: a deferred transaction that reads and then writes fails at once
 * with SQLITE_BUSY_SNAPSHOT if another connection has committed in between, whatever the timeout.
 */
export type Db = {
  prepare<Params extends unknown[], Row = never>(name: string, sql: string): Statement<Params, Row>;
  /** Runs `work` in a transaction and returns the result. Inside another transaction, `work` runs in a savepoint. */
  write<Result>(name: string, work: () => Result): Result;
  transaction<Args extends unknown[], Result>(name: string, work: (...args: Args) => Result): (...args: Args) => Result;
  exec(sql: string): void;
  /** Runs `work`, which may write to the tables behind full-text tables. */
  whileUnsafe<Result>(work: () => Result): Result;
  pragma(source: string): unknown;
  readonly inTransaction: boolean;
  /** How often this connection has committed. */
  commits(): number;
  /** Calls `committed` after each outermost write, `failed` with errors of statements and of `work`. Both may throw. */
  watch(watcher: DbWatcher): void;
  close(): void;
};

type DbWatcher = { committed(): void; failed(error: unknown): void };

/** Called for statements and transactions that took longer than SLOW_MS. */
export type SlowQuery = (name: string, milliseconds: number) => void;

/**
 * `smallCache`: keeps 4,000 KiB of pages in memory, for the worker, which searches little: 20 MiB less memory while it
 * synchronises. With so few, searches among a million posts take 1.6 times as long as with 16,000.
 */
export type OpenOptions = { onSlow?: SlowQuery; readonly?: boolean; smallCache?: boolean };

/** Opens the database with the settings that all processes share. Throws if the database file cannot be opened. */
export function openDatabase(path: string, { onSlow = () => {}, readonly = false, smallCache }: OpenOptions = {}): Db {
  const db = configured(new Database(path, { timeout: BUSY_TIMEOUT_MS, readonly }), readonly, onSlow);
  if (smallCache) db.pragma('cache_size = -4000'); // KiB
  return db;
}

/**
 * Opens an existing database for reading only. An existing write-ahead log stays unchanged: closing a writable
 * connection would move the log into the database file. Without a write-ahead log, SQLite creates the log in order to
 * read the file, and only a writable connection removes the log again.
 */
export function openToLook(path: string): Db {
  const options = { timeout: BUSY_TIMEOUT_MS, readonly: existsSync(`${path}-wal`), fileMustExist: true };
  const db = configured(new Database(path, options), true, () => {});
  db.pragma('query_only = ON');
  return db;
}

/** An empty database in memory, for looking at a schema. */
export function openInMemory(): Db {
  return wrap(new Database(':memory:'), () => {});
}

function configured(file: Database.Database, readonly: boolean, onSlow: SlowQuery): Db {
  try {
    configure(file, readonly);
  } catch (error) {
    file.close();
    throw error;
  }
  return wrap(file, onSlow);
}

function configure(file: Database.Database, readonly: boolean): void {
  if (!readonly) enterWalMode(file);
  file.pragma('synchronous = FULL'); // the build's default with WAL is NORMAL: a power cut may lose the last commits
  file.pragma('foreign_keys = ON');
  file.pragma('trusted_schema = OFF');
  file.pragma('cell_size_check = ON');
  file.pragma('secure_delete = ON'); // makes SQLite overwrite deleted content with zeros
  file.pragma('temp_store = MEMORY');
  file.pragma('cache_size = -16000'); // KiB
  file.pragma('journal_size_limit = 67108864'); // bytes; a checkpoint shrinks the WAL to this size
}

/** Retries, because two processes that create the database at once may meet a lock that ignores the busy timeout. */
function enterWalMode(file: Database.Database): void {
  for (let attempt = 1; ; attempt++) {
    try {
      const mode = file.pragma('journal_mode = WAL', { simple: true });
      if (mode !== 'wal') throw new Error(`the disk supports no write-ahead log: the journal mode stays "${mode}"`);
      return;
    } catch (error) {
      if (attempt >= 100 || !isBusy(error)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    }
  }
}

function wrap(file: Database.Database, onSlow: SlowQuery): Db {
  const run = file.transaction((work: () => unknown) => work());
  let watcher: DbWatcher = { committed: () => {}, failed: () => {} };
  let commits = 0;

  function measured<T>(name: string, work: () => T): T {
    try {
      return measure(name, onSlow, work);
    } catch (error) {
      watcher.failed(error);
      throw error;
    }
  }

  function changing<T>(name: string, work: () => T): T {
    const isNested = file.inTransaction;
    const result = measured(name, work);
    if (isNested) return result;
    commits++;
    watcher.committed();
    return result;
  }

  return {
    prepare<Params extends unknown[], Row = never>(name: string, written: string): Statement<Params, Row> {
      // SQLite plans some queries anew at each bound parameter (7 to 50 µs), unless a unary + precedes the parameter.
      const sql = written.replace(/'[^']*'|--.*|(?=[?@])/g, (text) => text || '+');
      const statement = file.prepare<Params, Row>(sql);
      return {
        get: (...params) => measured(name, () => statement.get(...params)),
        all: (...params) => measured(name, () => statement.all(...params)),
        has: (...params) => measured(name, () => statement.get(...params)) !== undefined,
        count: (...params) => (measured(name, () => statement.get(...params)) as { n: number } | undefined)?.n ?? 0,
        first: (limit, passes, ...params) => measured(name, () =>
          Iterator.from(statement.iterate(...params)).filter(passes).take(limit).toArray()),
        run: (...params) => {
          const { changes, lastInsertRowid } = changing(name, () => statement.run(...params));
          return { changes, lastInsertRowid: Number(lastInsertRowid) };
        },
        change: (...params) => changing(name, () => statement.run(...params)).changes,
      };
    },
    write: <Result>(name: string, work: () => Result) =>
      changing(name, () => marked(() => run.immediate(work) as Result)),
    transaction(name, work) {
      const transaction = file.transaction(work);
      return (...args) => changing(name, () => marked(() => transaction.immediate(...args)));
    },
    exec: (sql) => void file.exec(sql),
    whileUnsafe(work) {
      file.unsafeMode(true);
      try {
        return work();
      } finally {
        file.unsafeMode(false);
      }
    },
    pragma: (source) => file.pragma(source, { simple: true }),
    get inTransaction() {
      return file.inTransaction;
    },
    commits: () => commits,
    watch: (given) => void (watcher = given),
    close: () => void file.close(),
  };
}

/** The number of nested write transactions open in this process. Transactions contain no `await`. */
let openWrites = 0;

function marked<T>(work: () => T): T {
  openWrites++;
  try {
    return work();
  } finally {
    openWrites--;
  }
}

/** Throws if called within a write transaction, because slow work would keep every other writer waiting. */
export function refuseInTransaction(work: string): void {
  if (openWrites > 0) throw new Error(`${work} within a write transaction: do it before the transaction begins`);
}

function measure<T>(name: string, onSlow: SlowQuery, work: () => T): T {
  const start = performance.now();
  try {
    return work();
  } finally {
    const took = performance.now() - start;
    if (took > SLOW_MS) onSlow(name, Math.round(took));
  }
}

/** SQLite's own version, such as 3.50.4. */
export function sqliteVersion(db: Db): string {
  return db.prepare<[], { v: string }>('version of SQLite', 'SELECT sqlite_version() AS v').get()?.v ?? '';
}

/** Whether SQLite failed because of the storage (full disk, lock, damaged file), not because of a wrong statement. */
export function isStorageTrouble(error: unknown): boolean {
  return STORAGE_TROUBLE.test(codeOf(error) ?? '');
}

/** Whether SQLite met bytes that are no database, or not the database that it knows. */
export function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(codeOf(error) ?? '');
}

/** Whether SQLite failed because a table, column or index does not exist. */
export function isMissingObject(error: unknown): boolean {
  const isStatement = codeOf(error) === 'SQLITE_ERROR' && error instanceof Error;
  return isStatement && /^no such (?:table|column|index)|has no column named/.test(error.message);
}

/** Whether a foreign key refused a write: mostly, one of a row that names a row which does not exist (any more). */
export function namesNothing(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_CONSTRAINT_FOREIGNKEY';
}

/** Whether another connection held a lock, so that a later try may succeed. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error) ?? '');
}

/** Moves the write-ahead log into the database file. Returns false at once if another connection reads or writes. */
export function emptyLog(db: Db): boolean {
  db.pragma('busy_timeout = 0');
  try {
    return db.pragma('wal_checkpoint(TRUNCATE)') === 0;
  } finally {
    db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}
