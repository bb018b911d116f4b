import { isStorageTrouble, type Db } from './open-database.ts';

/** Writes an item in a transaction that it may share with others; resolves once that is committed. */
type BatchedWrite<Item> = (item: Item) => Promise<void>;

/** The work of one transaction. */
export type Batch<Item> = {
  /** Writes one. Where it throws it has undone what it wrote: a single statement, or a transaction of its own. */
  write(item: Item): void;
  /** The last step before the commit. Where it throws, nothing of the batch was written. */
  end(): void;
};

type Waiting<Item> = { item: Item; resolve(): void; reject(error: unknown): void };

/** `error`: undefined where it went well. */
type Ending = { error: unknown };

/** A batch is gathered for this long at most while every turn of the event loop brings more. */
const GATHERING_MS = 5;

/** After this a transaction ends, and what is left waits for the next: other processes want to write too. */
const LONG_BATCH_MS = 25;

/**
 * Lets what is asked for at the same time share one transaction, and so one fsync: it begins with the first turn of the
 * event loop that brings nothing more. One that throws is rejected, and the others are committed. When the transaction
 * itself cannot be committed (a full disk, a lock), all of it is rejected with that error, and nothing was written.
 */
export function batchingWrites<Item>(db: Db, begin: () => Batch<Item>): BatchedWrite<Item> {
  let waiting: Waiting<Item>[] = [];
  const together = db.transaction('batch of writes', writeUntilLong);

  function writeUntilLong(all: Waiting<Item>[]): Ending[] {
    const started = performance.now();
    const batch = begin();
    const endings: Ending[] = [];
    for (const { item } of all) {
      if (endings.length > 0 && performance.now() - started > LONG_BATCH_MS) break;
      endings.push(tryOne(batch, item));
    }
    batch.end();
    return endings;
  }

  function tryOne(batch: Batch<Item>, item: Item): Ending {
    try {
      batch.write(item);
      return { error: undefined };
    } catch (error) {
      if (isStorageTrouble(error) || !db.inTransaction) throw error; // SQLite may have undone the whole of it
      return { error };
    }
  }

  /** `known`: how many were waiting a turn ago. */
  function gather(since: number, known: number): void {
    const isGrowing = waiting.length > known && performance.now() - since < GATHERING_MS;
    if (isGrowing) setImmediate(gather, since, waiting.length);
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
    waiting.push({ item, resolve, reject });
    return promise;
  };
}

function settle(one: Waiting<unknown> | undefined, { error }: Ending): void {
  if (error === undefined) one?.resolve();
  else one?.reject(error);
}
