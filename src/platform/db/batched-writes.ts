import { SECOND } from '../clock.ts';
import { charged, othersWait } from '../turns.ts';
import { type Db, emptyLog, isStorageTrouble } from './open-database.ts';

/**
 * A transaction holds the write lock for about 10 ms with its commit. While other processes write, the pause after a
 * transaction is at least as long as the transaction, so one retry of SQLite's busy handler (after 1, 3, 8, 18, 33,
 * 53 ms) falls into the pause. The first of them to write meets short pauses, with which 50 feeds of 200 posts are
 * stored in 8.5 s instead of 14.7.
 */
const WORKING_MS = 6;
const PAUSE_MS = 25;
const SHORT_PAUSE_MS = 5;

/** How long pauses stay long after a write of another process. */
const OTHERS_WRITE = SECOND;

/** Rows that a transaction changes at a time. Committing a transaction takes about as long as changing 100 rows. */
const PORTION = 100;
const MAX_STEP = 5_000;

/** Rows per transaction on a nearly full disk: the write-ahead log has to hold a whole transaction. */
const SMALL_PORTION = 10;

/**
 * `some` changes about `limit` rows, and returns fewer than `limit` only if the change is complete.
 * Resolves to false if `isOver` ended the writing before that.
 */
type ThrottledWrites = (name: string, some: Portion, isOver?: () => boolean) => Promise<boolean>;

type Portion = (limit: number) => number;
type WriteStep = (most: number, portion: number) => { since: number; done: number; isAll: boolean };

/**
 * Makes large changes in short transactions, so that no other process waits long to write; concurrent changes
 * alternate. While `isTight` returns true because the disk is nearly full, the steps are smaller, and after each it
 * tries to empty the write-ahead log.
 */
export function createThrottledWrites(db: Db, isTight: () => boolean = () => false): ThrottledWrites {
  let turn: Promise<void> = Promise.resolve();
  let [version, othersWroteAt] = [undefined as unknown, -Infinity];

  /** `data_version` changes when another connection has committed. */
  function leastPause(): number {
    const now = db.pragma('data_version');
    if (now !== version) [version, othersWroteAt] = [now, performance.now()];
    return performance.now() - othersWroteAt < OTHERS_WRITE ? PAUSE_MS : SHORT_PAUSE_MS;
  }

  const writing = (name: string, some: Portion): WriteStep => db.transaction(name, (most, size) => {
    const since = performance.now(); // from here on the transaction holds the write lock
    let done = 0;
    let isAll = false;
    while (!isAll && done < most && performance.now() - since < WORKING_MS) {
      const portion = some(size);
      done += portion;
      isAll = portion < size;
    }
    return { since, done, isAll };
  });

  async function inTurn(write: WriteStep): Promise<boolean> {
    const before = turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    await before;
    let pauseMs = 0;
    try {
      const isSmall = isTight();
      const { since, done, isAll } = isSmall ? write(SMALL_PORTION, SMALL_PORTION) : write(MAX_STEP, PORTION);
      if (isSmall && done > 0) tryToEmptyLog(db);
      if (done > 0) pauseMs = Math.max(leastPause(), performance.now() - since);
      return isAll;
    } finally {
      if (pauseMs > 0) setTimeout(resolve, pauseMs);
      else resolve();
    }
  }

  return async (name, some, isOver = () => false) => {
    const write = writing(name, some);
    while (!isOver()) if (await inTurn(write)) return true;
    return false;
  };
}

/** While another connection reads or writes, or on a full disk, the log stays; a later step may empty it. */
function tryToEmptyLog(db: Db): void {
  try {
    emptyLog(db);
  } catch (error) {
    if (!isStorageTrouble(error)) throw error;
  }
}

/** Yields all rows of a list that is read page by page; `next` returns the page after the given row. */
export function* inBatches<Row>(next: (last: Row | undefined) => Row[]): Generator<Row> {
  for (let rows = next(undefined); rows.length > 0; rows = next(rows.at(-1))) yield* rows;
}

type BatchedWrite<Item> = (item: Item) => Promise<void>;

export type Batch<Item> = {
  /** Writes one item. A `write` that throws must leave no change: use one statement or a nested transaction. */
  write(item: Item): void;
  /** Called after the last `write` of a batch's transaction, which SQLite rolls back if `end` throws. */
  end(): void;
};

type Waiting<Item> = { write(batch: Batch<Item>): void; resolve(): void; reject(error: unknown): void };

type Ending = { error: unknown };

const GATHERING_MS = 5;

const LONG_BATCH_MS = 25;

/**
 * Lets concurrent writes share a transaction, and so one fsync (group commit). It begins after about GATHERING_MS at
 * the latest; what LONG_BATCH_MS has no time for waits for the next. A write that throws rejects alone. If the storage
 * fails (full disk, lock), or `end` or the commit, all gathered writes reject.
 */
export function batchingWrites<Item>(db: Db, begin: () => Batch<Item>): BatchedWrite<Item> {
  let waiting: Waiting<Item>[] = [];
  const together = db.transaction('batch of writes', writeUntilLong);

  function writeUntilLong(all: Waiting<Item>[]): Ending[] {
    const started = performance.now();
    const batch = begin();
    const endings: Ending[] = [];
    for (const { write } of all) {
      if (endings.length > 0 && performance.now() - started > LONG_BATCH_MS) break;
      endings.push(tryOne(() => write(batch)));
    }
    batch.end();
    return endings;
  }

  function tryOne(write: () => void): Ending {
    try {
      write();
      return { error: undefined };
    } catch (error) {
      if (isStorageTrouble(error) || !db.inTransaction) throw error; // SQLite may have rolled back the transaction
      return { error };
    }
  }

  function gather(since: number, known: number): void {
    const mayGrow = waiting.length > known || othersWait();
    if (mayGrow && performance.now() - since < GATHERING_MS) setImmediate(gather, since, waiting.length);
    else flush();
  }

  function flush(): void {
    const all = waiting;
    waiting = [];
    try {
      const endings = together(all);
      endings.forEach((ending, index) => settle(all[index], ending));
      waiting = [...all.slice(endings.length), ...waiting];
    } catch (error) {
      for (const { reject } of all) reject(error);
    }
    if (waiting.length > 0) setImmediate(flush);
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (waiting.length === 0) setImmediate(gather, performance.now(), 1);
    waiting.push({ write: charged((batch: Batch<Item>) => batch.write(item)), resolve, reject });
    return promise;
  };
}

function settle(one: Pick<Waiting<never>, 'resolve' | 'reject'> | undefined, { error }: Ending): void {
  if (error === undefined) one?.resolve();
  else one?.reject(error);
}
