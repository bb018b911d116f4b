import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { ANSWER_BOUNDS } from '../../platform/metrics/http-metrics.ts';
import { store, type Hub } from '../hub/hub.ts';

type Merging = 'sum' | 'last' | 'max';

const KINDS = {
  answer_errors: 'sum', // answers with 5xx
  syncs_changed: 'sum', syncs_unchanged: 'sum', syncs_error: 'sum',
  webhooks_accepted: 'sum', webhooks_rejected: 'sum',
  posts: 'sum', // posts that were new to the hub
  errors: 'sum', // unexpected errors
  oldest_due: 'last', oldest_due_max: 'max', // seconds
  web_memory: 'last', web_memory_max: 'max', worker_memory: 'last', worker_memory_max: 'max', // bytes
  web_busy: 'max', worker_busy: 'max', // CPU use in per cent of one processor
  web_delay_p99: 'max', web_delay_max: 'max', worker_delay_p99: 'max', worker_delay_max: 'max', // event-loop delay, ms
  database_bytes: 'last', uploads_bytes: 'last', cache_bytes: 'last', free_bytes: 'last',
} as const satisfies Record<string, Merging>;

/** `answers_0.005` counts HTTP replies that took at most 0.005 seconds, but more than the next smaller bound. */
export type Figure = keyof typeof KINDS | `answers_${number}`;

/** Figures that describe the hub during one time span. If a figure is missing, its value is unknown, not 0. */
export type Figures = Partial<Record<Figure, number>>;

export const ANSWERS = [...ANSWER_BOUNDS, Infinity].map((bound) => `answers_${bound}` as const);

export const FIGURES = new Map<Figure, Merging>([
  ...ANSWERS.map((name): [Figure, Merging] => [name, 'sum']),
  ...(Object.entries(KINDS) as [Figure, Merging][]),
]);

/** Merges the figures of two successive time spans. */
export function merge(earlier: Figures, later: Figures): Figures {
  const merged = { ...earlier };
  for (const [name, value] of Object.entries(later) as [Figure, number][]) {
    const before = earlier[name];
    merged[name] = before === undefined ? value : mergeValues(FIGURES.get(name), before, value);
  }
  return merged;
}

function mergeValues(merging: Merging | undefined, earlier: number, later: number): number {
  return merging === 'sum' ? earlier + later : merging === 'max' ? Math.max(earlier, later) : later;
}

/** The lengths of time buckets and how long they are kept, in ms: at most 577 and 1441 rows, together 1.5 MB. */
export const FINE = 5 * MINUTE;
export const COARSE = HOUR;
export const KEPT = new Map([[FINE, 2 * DAY], [COARSE, 60 * DAY]]);

const FORGOTTEN_AT_ONCE = 3; // rows

/** `figures`: `Values` as JSON. */
type Row = { at: number; figures: string };

/** Figures that describe the hub (posts, replies, memory) in the time span that begins at `at` (unix ms). */
export type Slot = { at: number; figures: Figures };

/** Stores figures of the past in time buckets; each bucket begins at a multiple of its length. */
export const history = store(({ db, clock }) => {
  const selectNames = db.prepare<[], { name: Figure; position: number }>('names of figures',
    'SELECT name, position FROM history_figures ORDER BY position');
  const insertName = db.prepare<[number, string]>('name a figure',
    'INSERT INTO history_figures (position, name) VALUES (?, ?)');
  const select = db.prepare<[number, number], Row>('bucket',
    'SELECT at, figures FROM history WHERE step = ? AND at = ?');
  const selectFrom = db.prepare<[number, number, number], Row>('buckets',
    'SELECT at, figures FROM history WHERE step = ? AND at >= ? AND at < ? ORDER BY at');
  const selectOne = db.prepare<[string, number, number], { at: number; value: number }>('one figure', `
    SELECT at, value FROM (SELECT at, figures ->> ? AS value FROM history WHERE step = ? AND at >= ? ORDER BY at)
     WHERE value IS NOT NULL`);
  const put = db.prepare<[number, number, string]>('keep bucket', `
    INSERT INTO history (step, at, figures) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET figures = excluded.figures`);
  const removeOld = db.prepare<[Record<'step' | 'before' | 'after' | 'most', number>]>('forget old buckets', `
    DELETE FROM history WHERE step = @step AND at IN
      (SELECT at FROM history WHERE step = @step AND (at < @before OR at > @after) ORDER BY at LIMIT @most)`);

  function positions(): Map<Figure, number> {
    return new Map(selectNames.all().map(({ name, position }) => [name, position]));
  }

  /** A figure's position in the arrays of the table `history` never changes. */
  function positionsFor(figures: Figures): Map<Figure, number> {
    const known = positions();
    for (const name of Object.keys(figures) as Figure[]) {
      if (known.has(name)) continue;
      insertName.run(known.size, name);
      known.set(name, known.size);
    }
    return known;
  }

  function addTo(step: number, at: number, figures: Figures, places: Map<Figure, number>): void {
    const row = select.get(step, at);
    const whole = row ? merge(toFigures(valuesOf(row), places), figures) : figures;
    const values = new Array<number | null>(places.size).fill(null);
    for (const [name, position] of places) values[position] = whole[name] ?? null;
    put.run(step, at, JSON.stringify(values));
  }

  return {
    /**
     * Adds figures to the time buckets, in the caller's transaction. Each call removes few buckets that look too old or
     * too new, so that an hour with a wrong clock loses little of the history.
     */
    add(at: number, figures: Figures): void {
      const places = positionsFor(figures);
      for (const [step, kept] of KEPT) {
        addTo(step, at - at % step, figures, places);
        removeOld.run({ step, before: clock() - kept, after: clock(), most: FORGOTTEN_AT_ONCE });
      }
    },

    /**
     * The stored figures, merged for each span of `length` ms from `from` on, without spans that have none. Merges
     * arrays: with an object for each bucket, 30 days took twice as long.
     */
    list(step: number, from: number, until: number, length = step): Slot[] {
      const places = positions();
      const mergings = [...places.keys()].map((name) => FIGURES.get(name)); // positions are 0, 1, 2 …
      const spans = new Map<number, Values>();
      for (const row of selectFrom.all(step, from, until)) {
        const at = row.at - (row.at - from) % length;
        const earlier = spans.get(at);
        spans.set(at, earlier ? mergeInto(earlier, valuesOf(row), mergings) : valuesOf(row));
      }
      return Array.from(spans, ([at, values]) => ({ at, figures: toFigures(values, places) }));
    },

    one(step: number, from: number, name: Figure): { at: number; value: number }[] {
      const place = positions().get(name);
      return place === undefined ? [] : selectOne.all(`$[${place}]`, step, from);
    },
  };
});

/** The value of each figure at the figure's position; null means unknown. */
type Values = (number | null)[];

function valuesOf({ figures }: Row): Values {
  return JSON.parse(figures) as Values;
}

function mergeInto(earlier: Values, later: Values, mergings: (Merging | undefined)[]): Values {
  for (let place = 0; place < later.length; place++) {
    const before = earlier[place] ?? null;
    const value = later[place] ?? null;
    if (value !== null) earlier[place] = before === null ? value : mergeValues(mergings[place], before, value);
  }
  return earlier;
}

function toFigures(values: Values, places: Map<Figure, number>): Figures {
  const known: Figures = {};
  for (const [name, position] of places) {
    const value = values[position] ?? null;
    if (value !== null) known[name] = value;
  }
  return known;
}

/** Stores short notes that a process writes for other processes, or for its own next start. */
export const processNotes = store(({ db, clock }) => {
  const select = db.prepare<[string], { at: number; note: string }>('note of a process',
    'SELECT at, reading AS note FROM history_readings WHERE name = ?');
  const put = db.prepare<[string, number, string]>('keep note', `
    INSERT INTO history_readings (name, at, reading) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET at = excluded.at, reading = excluded.reading`);

  return {
    find<Note>(name: string): { at: number; note: Note } | undefined {
      const row = select.get(name);
      return row && { at: row.at, note: JSON.parse(row.note) as Note };
    },
    put: (name: string, note: object): void => void put.run(name, clock(), JSON.stringify(note)),
  };
});

export const RUNS_KEPT = 60 * DAY;
export const MOST_RUNS = 500; // the most backup runs that are kept of this machine, and of each off-site destination

export type BackupRun = {
  place: string; // where the run stored the backup: 'here' (on this machine), or the name of the off-site destination
  at: number; // unix ms, when the run ended, or when a killed one began
  result: 'good' | 'degraded' | 'failed';
  bytes: number | null;
  seconds: number;
  problem: string | null;
};

type Bounds = { place: string; before: number; after: number; skipped: number };

/** Backup and off-site runs as the worker saw them end, up to MOST_RUNS of a place; DATA_DIR/run has only the last. */
export const backupRuns = store(({ db, clock }) => {
  const insert = db.prepare<[BackupRun]>('note backup run', `
    INSERT INTO backup_runs (place, at, result, bytes, seconds, problem)
    VALUES (@place, @at, @result, @bytes, @seconds, @problem) ON CONFLICT DO NOTHING`);
  const removeOld = db.prepare<[Bounds]>('forget old backup runs', `
    DELETE FROM backup_runs WHERE place = @place AND at IN
      (SELECT at FROM backup_runs WHERE place = @place AND (at < @before OR at > @after OR at <
        (SELECT at FROM backup_runs WHERE place = @place ORDER BY at DESC LIMIT 1 OFFSET @skipped))
        ORDER BY at LIMIT 3)`);

  return {
    /** Stores a backup run in the caller's transaction; skips one that is already stored. */
    note(run: BackupRun): void {
      if (insert.run(run).changes === 0) return;
      removeOld.run({ place: run.place, before: clock() - RUNS_KEPT, after: clock(), skipped: MOST_RUNS - 1 });
    },
    since: db.prepare<[at: number], BackupRun>('backup runs',
      'SELECT place, at, result, bytes, seconds, problem FROM backup_runs WHERE at >= ? ORDER BY at').all,
  };
});

/** Why the hub's TLS certificate needs attention: it ends soon, is for another name, or was out of the hub's reach. */
export type CertificateProblem = 'ending' | 'other name' | 'not seen';

/** `expiresAt` (unix ms) and `problem` describe the last certificate that the hub has seen, if any. */
type SeenCertificate = { checkedAt: number; expiresAt: number | null; problem: CertificateProblem | null };

/** Stores what the worker last saw of the TLS certificate at BASE_URL: pages must not wait for a TLS handshake. */
export const certificates = store(({ db, clock }) => {
  const put = db.prepare<[string, number, number | null, string | null]>('note certificate', `
    INSERT INTO certificates (origin, checked_at, expires_at, problem) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET checked_at = excluded.checked_at,
      problem = CASE WHEN excluded.expires_at IS NULL AND expires_at IS NOT NULL THEN problem ELSE excluded.problem END,
      expires_at = COALESCE(excluded.expires_at, expires_at)`);

  return {
    find: db.prepare<[origin: string], SeenCertificate>('certificate', `
      SELECT checked_at AS checkedAt, expires_at AS expiresAt, problem FROM certificates WHERE origin = ?`).get,
    note: (origin: string, expiresAt: number | null, problem: CertificateProblem | null): void =>
      void put.run(origin, clock(), expiresAt, problem),
  };
});

/** The hub's TLS certificate as the worker last saw it; undefined on http, and before the worker's first check. */
export function seenCertificate(hub: Hub): SeenCertificate | undefined {
  const { protocol, origin } = new URL(hub.config.baseUrl);
  return protocol === 'https:' ? certificates(hub).find(origin) : undefined;
}
