export type Slots = <T>(work: () => Promise<T>) => Promise<T>;

/** Lets so many works run at once and so many wait, in order; more than that are refused with `busy()`. */
export function createSlots(atOnce: number, waiting: number, busy: () => Error): Slots {
  let running = 0;
  const queue: (() => void)[] = [];

  return async (work) => {
    if (running >= atOnce) {
      if (queue.length >= waiting) throw busy();
      await new Promise<void>((resolve) => queue.push(resolve));
    }
    running++;
    try {
      return await work();
    } finally {
      running--;
      queue.shift()?.();
    }
  };
}
