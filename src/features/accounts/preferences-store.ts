import type { Preferences } from '../../platform/http/router.ts';
import { store } from '../hub/hub.ts';

type Switches = { keys: number; marksOpened: number; nextSteps: number };

/** Preferences as the database stores them. */
export type PreferencesRow = Omit<Preferences, keyof Switches> & Switches;

/** Writes preferences of accounts. `credential-store.ts` reads the preferences in its queries for the viewer. */
export const preferences = store(({ db }) => {
  const upsert = db.prepare<[PreferencesRow & { id: number }]>('set preferences', `
    INSERT INTO preferences (account_id, time_zone, density, text_size, keys, marks_opened, next_steps)
    VALUES (@id, @timeZone, @density, @textSize, @keys, @marksOpened, @nextSteps)
    ON CONFLICT DO UPDATE SET time_zone = excluded.time_zone, density = excluded.density,
      text_size = excluded.text_size, keys = excluded.keys, marks_opened = excluded.marks_opened,
      next_steps = excluded.next_steps`);

  return {
    set(id: number, { keys, marksOpened, nextSteps, ...chosen }: Preferences): void {
      const switches = { keys: Number(keys), marksOpened: Number(marksOpened), nextSteps: Number(nextSteps) };
      upsert.run({ id, ...chosen, ...switches });
    },
  };
});
