import { store, type StoreHub } from './hub.ts';

/** What a hub is called until somebody names it. */
export const PRODUCT = 'Content Hub';

/** What an administrator chose: its name, the text of its public page, and the hue of its accent (0–359, OKLCH). */
export type HubLook = { name: string; text: string; hue: number };

/** How this hub looks and what it says of itself. Read for every page: another process may have changed it. */
export const hubLook = store(({ db }) => {
  const select = db.prepare<[], HubLook>('look of the hub', 'SELECT name, front_text AS text, hue FROM hub');
  const update = db.prepare<[HubLook]>('change look of the hub',
    'UPDATE hub SET name = @name, front_text = @text, hue = @hue');

  return {
    read(): HubLook {
      const look = select.get();
      if (!look) throw new Error('the row of the table hub is missing: restore a backup');
      return look;
    },

    change: (look: HubLook): void => void update.run(look),
  };
});

/** What is random about this hub, wherever it runs and is restored to. Undefined where its database has lost it. */
export function readHubSeed({ db }: Pick<StoreHub, 'db'>): string | undefined {
  return db.prepare<[], { seed: string }>('seed of ids', 'SELECT id_seed AS seed FROM hub').get()?.seed;
}

/** The random text of this hub from which the ids in its feeds are derived. */
export const hubSeed = store((hub) => {
  const seed = readHubSeed(hub);
  if (seed === undefined) throw new Error('the row of the table hub is missing: restore a backup');
  return seed;
});
