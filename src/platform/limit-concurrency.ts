type Slots = <T>(work: () => Promise<T>) => Promise<T>;

/** A semaphore: runs at most `atOnce` works at a time, lets `waiting` more queue, and refuses others with `busy()`. */
export function createSlots(atOnce: number, waiting: number, busy: () => Error): Slots {
  let taken = 0;
  const queue: (() => void)[] = [];

  return async (work) => {
    if (taken < atOnce) {
      taken++;
    } else {
      if (queue.length >= waiting) throw busy();
      await new Promise<void>((resolve) => queue.push(resolve));
    }
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next(); // it takes over the slot, which nobody else may get in between
      else taken--;
    }
  };
}

/** Runs work on a host once no other work on it is in progress. */
type HostLanes = <T>(host: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/**
 * Runs one piece of work per host at a time, in the order of the calls. Throws the signal's reason when that is aborted
 * before the work's turn has come. Web and worker each have lanes of their own.
 */
export function createHostLanes(): HostLanes {
  const busy = new Map<string, Set<() => void>>(); // host → who waits for it, in order

  return async (host, signal, work) => {
    await turn(host, signal);
    try {
      return await work();
    } finally {
      leave(host);
    }
  };

  async function turn(host: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const waiting = busy.get(host);
    if (!waiting) return void busy.set(host, new Set());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      waiting.delete(resolve);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    waiting.add(resolve);
    await promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  function leave(host: string): void {
    const waiting = busy.get(host);
    const [next] = waiting ?? [];
    if (!next) return void busy.delete(host);
    waiting?.delete(next);
    next();
  }
}
