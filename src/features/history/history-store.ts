import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { store } from '../hub/hub.ts';
import { merge, type Figure, type Figures } from './figures.ts';

/** The lengths of time buckets and how long buckets are kept, in ms: at most 577 and 1441 rows, together 1.5 MB. */
export const FINE = 5 * MINUTE;
export const COARSE = HOUR;
export const KEPT = new Map([[FINE, 2 * DAY], [COARSE, 60 * DAY]]);

const FORGOTTEN_AT_ONCE = 3; // rows

/** `figures`: a JSON array with the value of each figure at the figure's position; null means unknown. */
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

  /** The position of each figure of the hub in the arrays of the table `history`; a figure's position never changes. */
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
    const whole = row ? merge(toFigures(row, places), figures) : figures;
    const values = new Array<number | null>(places.size).fill(null);
    for (const [name, position] of places) values[position] = whole[name] ?? null;
    put.run(step, at, JSON.stringify(values));
  }

  return {
    /**
     * Adds figures to the time buckets that contain `at`, and removes up to FORGOTTEN_AT_ONCE time buckets that are too
     * old or in the future, in the caller's transaction. FORGOTTEN_AT_ONCE is small, so that an hour with a wrong clock
     * does not remove the whole history.
     */
    add(at: number, figures: Figures): void {
      const places = positionsFor(figures);
      for (const [step, kept] of KEPT) {
        addTo(step, at - at % step, figures, places);
        removeOld.run({ step, before: clock() - kept, after: clock(), most: FORGOTTEN_AT_ONCE });
      }
    },

    /** Lists the time buckets of length `step` that begin at `from` or later and before `until`, the earliest first. */
    list(step: number, from: number, until: number): Slot[] {
      const places = positions();
      return selectFrom.all(step, from, until).map((row) => ({ at: row.at, figures: toFigures(row, places) }));
    },

    /** The known values of one figure in the time buckets that begin at `from` or later. */
    one(step: number, from: number, name: Figure): { at: number; value: number }[] {
      const place = positions().get(name);
      return place === undefined ? [] : selectOne.all(`$[${place}]`, step, from);
    },
  };
});

function toFigures({ figures }: Row, places: Map<Figure, number>): Figures {
  const values = JSON.parse(figures) as (number | null)[];
  const known: Figures = {};
  for (const [name, position] of places) {
    const value = values[position] ?? null;
    if (value !== null) known[name] = value;
  }
  return known;
}

/** Stores short notes that a process writes for other processes, or for its own next start. */
export const readings = store(({ db, clock }) => {
  const select = db.prepare<[string], { at: number; reading: string }>('reading',
    'SELECT at, reading FROM history_readings WHERE name = ?');
  const put = db.prepare<[string, number, string]>('keep reading', `
    INSERT INTO history_readings (name, at, reading) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET at = excluded.at, reading = excluded.reading`);

  return {
    find<Reading>(name: string): { at: number; reading: Reading } | undefined {
      const row = select.get(name);
      return row && { at: row.at, reading: JSON.parse(row.reading) as Reading };
    },
    put: (name: string, reading: object): void => void put.run(name, clock(), JSON.stringify(reading)),
  };
});
