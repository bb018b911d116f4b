export type Slots = <T>(work: () => Promise<T>) => Promise<T>;

/** Lets so many works run at once and so many wait, in order; more than that are refused with `busy()`. */
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
      if (next) next(); // it takes over the place: who comes in between must not get it
      else taken--;
    }
  };
}

/** Runs work on a host once nobody else's is under way there. */
type HostLanes = <T>(host: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/**
 * One piece of work per host at a time, in the order in which it was asked for. Throws the signal's reason when it is
 * aborted before the work's turn has come. Holds within one process; web and worker each have lanes of their own.
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
