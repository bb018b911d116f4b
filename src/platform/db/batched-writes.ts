import { charged, othersWait } from '../turns.ts';
import { type Db, emptyLog, isStorageTrouble } from './open-database.ts';

/**
 * A step starts no further portion after this time, so that it holds the write lock for about 10 ms with its commit.
 * SQLite's busy handler retries after 1, 3, 8, 18, 33, 53 ms. One of these retries falls into the pause, which is at
 * least as long as the step.
 */
const WORKING_MS = 6;
const PAUSE_MS = 25;

/** Rows. Fewer would hardly shorten the lock: a commit takes the same time however few rows changed. */
const PORTION = 100;
const MAX_STEP = 5_000;

/** Rows on a nearly full disk: the write-ahead log has to hold a whole step. */
const SMALL_PORTION = 10;

/**
 * Makes a large change in short transactions, so that no other process waits long to write. Slow ones are logged under
 * `name`. `some` changes up to `limit` rows and returns how many; fewer than `limit` mean that all is done. Resolves to
 * false if `isOver` ended it earlier.
 */
type ThrottledWrites = (name: string, some: Portion, isOver?: () => boolean) => Promise<boolean>;

type Portion = (limit: number) => number;
type WriteStep = (most: number, portion: number) => { since: number; done: number; isAll: boolean };

/**
 * Changes requested at the same time take turns, so that all of them pause together. While `isTight` (a nearly full
 * disk), a step is one small portion, and the log is emptied after it.
 */
export function createThrottledWrites(db: Db, isTight: () => boolean = () => false): ThrottledWrites {
  let turn: Promise<void> = Promise.resolve();

  const writing = (name: string, some: Portion): WriteStep => db.transaction(name, (most, size) => {
    const since = performance.now(); // it has the lock
    let done = 0;
    let isAll = false;
    while (!isAll && done < most && performance.now() - since < WORKING_MS) {
      const portion = some(size);
      done += portion;
      isAll = portion < size;
    }
    return { since, done, isAll };
  });

  /** Takes one step, and returns whether it was the last. */
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
      if (done > 0) pauseMs = Math.max(PAUSE_MS, performance.now() - since);
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

/** While others read, or on a full disk, the log keeps its length and SQLite reuses it. */
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

/** Writes an item in a transaction shared with others; resolves after the commit. */
type BatchedWrite<Item> = (item: Item) => Promise<void>;

/** The work of one transaction. */
export type Batch<Item> = {
  /** Writes one item. If it throws, it has undone what it wrote: use one statement or a nested transaction. */
  write(item: Item): void;
  /** The last step before the commit. If it throws, the whole batch is undone. */
  end(): void;
};

type Waiting<Item> = { write(batch: Batch<Item>): void; resolve(): void; reject(error: unknown): void };

/** `error` is undefined on success. */
type Ending = { error: unknown };

/** The longest time for which a batch is gathered. */
const GATHERING_MS = 5;

/** A transaction ends after this time. The remaining items go into the next one, so that other processes can write. */
const LONG_BATCH_MS = 25;

/**
 * Lets writes requested at the same time share one transaction, and so one fsync. It begins when a turn of the event
 * loop adds no item and no request waits for its turn, at the latest after GATHERING_MS. A write that throws is rejected alone; the others are committed. If the transaction
 * itself cannot be committed (full disk, lock), all its writes are rejected and nothing is stored.
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
      if (isStorageTrouble(error) || !db.inTransaction) throw error; // SQLite may have undone the whole of it
      return { error };
    }
  }

  /** `known`: how many items waited one turn ago. */
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
