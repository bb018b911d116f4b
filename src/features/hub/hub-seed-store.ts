import { store, type StoreHub } from './hub.ts';

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
