import { isStorageTrouble, type Db } from '../db/open-database.ts';

/** A snapshot of the table `counts`. A missing counter reads as 0. */
export type CountsSnapshot = ReturnType<typeof toSnapshot>;

type Counters = ReturnType<typeof createCounters>;

type CountRow = { metric: string; label: string; value: number };

/** Histogram bounds in seconds for background work, which mostly waits for other servers. */
export const DURATION_BOUNDS: readonly number[] = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Counters in the database, persistent and shared by all processes. */
export function createCounters(db: Db) {
  const addTwo = db.prepare<[string, string, string, number]>('add to a histogram', `
    INSERT INTO counts (metric, label, value) VALUES (?, ?, 1), (?, '', ?)
      ON CONFLICT DO UPDATE SET value = value + excluded.value`);
  const readOne = db.prepare<[string, string], { value: number }>('read a counter',
    'SELECT value FROM counts WHERE metric = ? AND label = ?');
  const readAll = db.prepare<[], CountRow>('read all counters', 'SELECT metric, label, value FROM counts');

  return {
    add: db.prepare<[metric: string, label: string, by: number]>('add to a counter', `
      INSERT INTO counts (metric, label, value) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET value = value + excluded.value`).run,
    observe(metric: string, seconds: number): void {
      const bound = DURATION_BOUNDS.find((most) => seconds <= most) ?? Infinity;
      addTwo.run(`${metric}_bucket`, String(bound), `${metric}_sum`, seconds);
    },
    value: (metric: string, label = ''): number => readOne.get(metric, label)?.value ?? 0,
    /** Reads all counters in one query. The table `counts` stays small: one row per series. */
    read: () => toSnapshot(readAll.all()),
  };
}

function toSnapshot(rows: readonly CountRow[]) {
  const metrics = Map.groupBy(rows, ({ metric }) => metric);
  const values = new Map(rows.map(({ metric, label, value }) => [`${metric},${label}`, value]));
  const value = (metric: string, label = ''): number => values.get(`${metric},${label}`) ?? 0;
  return {
    value,
    histogram: (metric: string): { counts: number[]; sum: number } => ({
      counts: [...DURATION_BOUNDS, Infinity].map((bound) => value(`${metric}_bucket`, String(bound))),
      sum: value(`${metric}_sum`),
    }),
    labels: (metric: string): string[] => (metrics.get(metric) ?? []).map(({ label }) => label).sort(),
  };
}

/** Counts frequent events, such as refusals, in memory; `flush` adds the counts to the table `counts`. */
export function createBufferedCounters(counts: Counters) {
  const pending = new Map<string, { metric: string; label: string; by: number }>();

  return {
    add(metric: string, label: string): void {
      const key = `${metric},${label}`;
      pending.set(key, { metric, label, by: (pending.get(key)?.by ?? 0) + 1 });
    },

    flush(): void {
      try {
        for (const [key, { metric, label, by }] of pending) {
          counts.add(metric, label, by);
          pending.delete(key);
        }
      } catch (error) {
        if (!isStorageTrouble(error)) throw error; // full disk or lock: the rest waits for the next flush
      }
    },
  };
}
