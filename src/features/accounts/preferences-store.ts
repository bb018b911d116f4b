import type { Preferences } from '../../platform/http/router.ts';
import { store } from '../hub/hub.ts';
import { SWITCHES } from '../hub/preferences.ts';

type Switches = Record<(typeof SWITCHES)[number], number>;

/** As the database stores them: switches are 0 or 1. */
export type PreferencesRow = Omit<Preferences, keyof Switches> & Switches;

/** SQL: 1 if lists of the account `@viewerId` show posts with the same link in one row, otherwise 0. */
export const JOINS_DOUBLES = 'COALESCE((SELECT joins_doubles FROM preferences WHERE account_id = @viewerId), 1)';

/** Only writes: `credential-store.ts` reads preferences in the query that finds who sends a request. */
export const preferences = store(({ db }) => {
  const upsert = db.prepare<[PreferencesRow & { id: number }]>('set preferences', `
    INSERT INTO preferences (account_id, time_zone, density, text_size, theme, typeface, measure, sources_by, keys,
                             marks_opened, marks_scrolled, joins_doubles, next_steps)
    VALUES (@id, @timeZone, @density, @textSize, @theme, @typeface, @measure, @sourcesBy, @keys, @marksOpened,
            @marksScrolled, @joinsDoubles, @nextSteps)
    ON CONFLICT DO UPDATE SET time_zone = excluded.time_zone, density = excluded.density,
      text_size = excluded.text_size, theme = excluded.theme, typeface = excluded.typeface, measure = excluded.measure,
      sources_by = excluded.sources_by, keys = excluded.keys, marks_opened = excluded.marks_opened,
      marks_scrolled = excluded.marks_scrolled, joins_doubles = excluded.joins_doubles,
      next_steps = excluded.next_steps`);

  return {
    set(id: number, chosen: Preferences): void {
      const switches = Object.fromEntries(SWITCHES.map((name) => [name, Number(chosen[name])])) as Switches;
      upsert.run({ id, ...chosen, ...switches });
    },
  };
});
