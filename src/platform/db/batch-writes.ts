import { isStorageTrouble, type Db } from './open-database.ts';

/** Does the work in a transaction that it may share with others; resolves once that is committed. */
export type BatchedWrite = <Result>(work: () => Result) => Promise<Result>;

type Waiting = { work: () => unknown; resolve(result: unknown): void; reject(error: unknown): void };
type Ending = { result: unknown } | { error: unknown };

/** After this a transaction ends, and what is left waits for the next: other processes want to write too. */
const LONG_BATCH_MS = 25;

/**
 * Lets what is asked for in the same turn of the event loop share one transaction, and so one fsync. Each work is a
 * savepoint of its own: one that throws is undone and rejected, and the others are committed. When the transaction
 * itself cannot be committed (a full disk, a lock), all of it is rejected with that error, and nothing was written.
 */
export function batchingWrites(db: Db): BatchedWrite {
  let waiting: Waiting[] = [];
  const savepoint = db.transaction('one of a batch', (work: () => unknown) => work());
  const together = db.transaction('batch of writes', untilLong);

  function untilLong(batch: Waiting[]): Ending[] {
    const started = performance.now();
    const endings: Ending[] = [];
    for (const { work } of batch) {
      if (endings.length > 0 && performance.now() - started > LONG_BATCH_MS) break;
      endings.push(tryOne(work));
    }
    return endings;
  }

  function tryOne(work: () => unknown): Ending {
    try {
      return { result: savepoint(work) };
    } catch (error) {
      if (isStorageTrouble(error) || !db.inTransaction) throw error; // SQLite may have undone the whole of it
      return { error };
    }
  }

  function flush(): void {
    const batch = waiting;
    waiting = [];
    try {
      const endings = together(batch);
      endings.forEach((ending, index) => settle(batch[index], ending));
      waiting = [...batch.slice(endings.length), ...waiting];
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    if (waiting.length > 0) setImmediate(flush);
  }

  return <Result>(work: () => Result): Promise<Result> => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    if (waiting.length === 0) setImmediate(flush);
    waiting.push({ work, resolve: (result) => resolve(result as Result), reject });
    return promise;
  };
}

function settle(one: Waiting | undefined, ending: Ending): void {
  if ('error' in ending) one?.reject(ending.error);
  else one?.resolve(ending.result);
}
