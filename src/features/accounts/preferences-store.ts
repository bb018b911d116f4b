import type { Preferences } from '../../platform/http/preferences.ts';
import { store } from '../hub/hub.ts';

type Switches = 'keys' | 'marksOpened';
type Row = { id: number } & Omit<Preferences, Switches> & Record<Switches, number>;

/** How people want pages to be. Read with the session or token, by which each request's viewer is found. */
export const preferences = store(({ db }) => {
  const upsert = db.prepare<[Row]>('set preferences', `
    INSERT INTO preferences (account_id, time_zone, density, text_size, keys, marks_opened)
    VALUES (@id, @timeZone, @density, @textSize, @keys, @marksOpened)
    ON CONFLICT DO UPDATE SET time_zone = excluded.time_zone, density = excluded.density,
      text_size = excluded.text_size, keys = excluded.keys, marks_opened = excluded.marks_opened`);

  return {
    set(id: number, { keys, marksOpened, ...chosen }: Preferences): void {
      upsert.run({ id, ...chosen, keys: Number(keys), marksOpened: Number(marksOpened) });
    },
  };
});
