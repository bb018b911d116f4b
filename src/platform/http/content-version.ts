import type { Db } from '../db/open-database.ts';

/**
 * A number that changes whenever anything changed that anonymous readers can see. `PRAGMA data_version` says whether
 * another connection has committed at all (3 µs); only then the kept number is read. `reader` must therefore be a
 * connection of its own, on which nothing is ever written. Asked once per turn of the event loop: a request
 * that was sent after a commit is always read in a later turn.
 */
export function createContentVersion(reader: Db): () => number {
  const dataVersion = reader.prepare<[], { data_version: number }>('data version', 'PRAGMA data_version');
  const select = reader.prepare<[], { value: number }>('content version',
    `SELECT value FROM counts WHERE metric = 'content_version' AND label = ''`);
  let seen: number | undefined;
  let version = 0;
  let isFresh = false;

  function endTurn(): void {
    isFresh = false;
  }

  return () => {
    if (isFresh) return version;
    const now = dataVersion.get()?.data_version;
    if (now !== seen) {
      version = select.get()?.value ?? 0;
      seen = now;
    }
    isFresh = true;
    setImmediate(endTurn);
    return version;
  };
}
