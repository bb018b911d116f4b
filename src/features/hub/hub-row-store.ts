import { store, type StoreHub } from './hub.ts';

/** The hub's name until an administrator changes it. */
export const PRODUCT = 'Content Hub';

/** The look of the hub: its name, the text of the public page, and the hue of the accent colour (0–359, OKLCH). */
export type HubLook = { name: string; text: string; hue: number };

/** Each page reads the hub's look anew: another process may have changed it. */
export const hubLook = store(({ db }) => {
  const select = db.prepare<[], HubLook>('look of the hub', 'SELECT name, front_text AS text, hue FROM hub');

  return {
    read(): HubLook {
      const look = select.get();
      if (!look) throw new Error('the row of the table hub is missing: restore a backup');
      return look;
    },

    change: db.prepare<[look: HubLook]>('change look of the hub',
      'UPDATE hub SET name = @name, front_text = @text, hue = @hue').run,
  };
});

/** The random seed of the hub, which a restore does not change; undefined if the table `hub` has no row. */
export function readHubSeed({ db }: Pick<StoreHub, 'db'>): string | undefined {
  return db.prepare<[], { seed: string }>('seed of ids', 'SELECT id_seed AS seed FROM hub').get()?.seed;
}

/** The random seed of the hub: the id of the feed of all its posts is derived from it, and it signs forms of drafts. */
export const hubSeed = store((hub) => {
  const seed = readHubSeed(hub);
  if (seed === undefined) throw new Error('the row of the table hub is missing: restore a backup');
  return seed;
});
