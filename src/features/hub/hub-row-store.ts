import { store, type StoreHub } from './hub.ts';

/** The hub's name until an administrator changes it. */
export const PRODUCT = 'Content Hub';

/** Chosen by an administrator: name, text of the public page, hue of the accent colour (0–359, OKLCH). */
export type HubLook = { name: string; text: string; hue: number };

/** Name, text and hue of this hub. Read for every page, because another process may have changed them. */
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

/** The random seed of this hub, which a restore keeps. Undefined if the database has lost its row. */
export function readHubSeed({ db }: Pick<StoreHub, 'db'>): string | undefined {
  return db.prepare<[], { seed: string }>('seed of ids', 'SELECT id_seed AS seed FROM hub').get()?.seed;
}

/** The seed of this hub, from which the ids in its feeds are derived. */
export const hubSeed = store((hub) => {
  const seed = readHubSeed(hub);
  if (seed === undefined) throw new Error('the row of the table hub is missing: restore a backup');
  return seed;
});
