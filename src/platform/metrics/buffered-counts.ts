import { isStorageTrouble } from '../db/open-database.ts';
import type { KeptCounts } from './kept-counts.ts';

export type BufferedCounts = { add(metric: string, label: string): void; flush(): void };

/**
 * Counts in memory what happens too often to be written each time; `flush`, before the numbers are read, writes them.
 * A crash loses what was counted since.
 */
export function createBufferedCounts(counts: KeptCounts): BufferedCounts {
  const pending = new Map<string, { metric: string; label: string; by: number }>();

  return {
    add(metric, label) {
      const key = `${metric},${label}`;
      const entry = pending.get(key);
      if (entry) entry.by += 1;
      else pending.set(key, { metric, label, by: 1 });
    },

    flush() {
      try {
        for (const [key, { metric, label, by }] of pending) {
          counts.add(metric, label, by);
          pending.delete(key);
        }
      } catch (error) {
        if (!isStorageTrouble(error)) throw error; // a full disk: they wait
      }
    },
  };
}
