import type { Preferences } from '../../platform/http/router.ts';
import { store } from '../hub/hub.ts';

type Switches = 'keys' | 'marksOpened' | 'nextSteps';
type Row = { id: number } & Omit<Preferences, Switches> & Record<Switches, number>;

/** How people want pages to be. Read with the session or token, by which each request's viewer is found. */
export const preferences = store(({ db }) => {
  const upsert = db.prepare<[Row]>('set preferences', `
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
