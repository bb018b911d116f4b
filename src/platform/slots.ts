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
