/**
 * Counts bytes, connections or requests of each client. `who`: the names that count as one client, such as its networks
 * with the narrowest first; each further name may have twice as much as the one before.
 */
export function createTally() {
  const counts = new Map<string, number>();
  const countOf = (name: string): number => counts.get(name) ?? 0;
  let total = 0;
  return {
    countOf,
    /** Of all clients together. */
    total: (): number => total,
    add(who: readonly string[], amount: number): void {
      total += amount;
      for (const name of who) {
        const count = countOf(name) + amount;
        if (count > 0) counts.set(name, count);
        else counts.delete(name);
      }
    },
    /** Whether a client's count, after a further `amount`, exceeds `limit`. */
    isOver: (who: readonly string[], limit: number, amount = 0): boolean =>
      who.some((name, n) => countOf(name) + amount > limit * 2 ** n),
    clear(): void {
      counts.clear();
      total = 0;
    },
  };
}

/**
 * Runs at most `atOnce` calls at a time. Up to `waiting` more wait, at most half of them of one client (`who`); a call
 * beyond that throws `busy()`.
 */
export function createSlots(atOnce: number, waiting: number, busy: () => Error) {
  let taken = 0;
  const queue: { who: string | number | undefined; start: () => void }[] = [];

  const isTooMany = (who: string | number | undefined): boolean => queue.length >= waiting
    || who !== undefined && queue.filter((one) => one.who === who).length >= Math.ceil(waiting / 2);

  return async <T>(work: () => Promise<T>, who?: string | number): Promise<T> => {
    if (taken < atOnce) {
      taken++;
    } else {
      if (isTooMany(who)) throw busy();
      await new Promise<void>((start) => queue.push({ who, start }));
    }
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next.start(); // runs the oldest queued call before any new call
      else taken--;
    }
  };
}

/** Runs at most `atOnce` calls per key at a time, in their order. Throws the reason of a signal that aborts first. */
export function createLanes(atOnce = 1) {
  const lanes = new Map<string | number, { taken: number; waiting: Set<() => void> }>();

  return async <T>(key: string | number, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    await turn(key, signal);
    try {
      return await work();
    } finally {
      leave(key);
    }
  };

  async function turn(key: string | number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const lane = lanes.get(key) ?? { taken: 0, waiting: new Set() };
    lanes.set(key, lane);
    if (lane.taken < atOnce) return void lane.taken++;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      lane.waiting.delete(resolve);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    lane.waiting.add(resolve);
    await promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  function leave(key: string | number): void {
    const lane = lanes.get(key);
    const [next] = lane?.waiting ?? [];
    if (next) {
      lane?.waiting.delete(next);
      next();
    } else if (lane && --lane.taken === 0) {
      lanes.delete(key);
    }
  }
}
