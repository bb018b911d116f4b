import { sources } from '../../src/features/sources/source-store.ts';
import type { Stored } from './stored-rows.ts';

/** A public feed of account 1 that is due at that time (unix ms); nobody has asked for it yet. Returns its id. */
export function addFeedDueAt({ db }: Stored, nextSyncAt: number, url: string, title = 'Owls'): number {
  const source = { ownerId: 1, kind: 'feed', title, titleIsOwn: false, visibility: 'public' } as const;
  return sources({ db, clock: Date.now }).create(source, { url, nextSyncAt });
}

/** Makes every feed due that is not paused. */
export function makeFeedsDue({ db }: Stored): void {
  db.exec(`UPDATE sources SET next_sync_at = 0 WHERE kind = 'feed' AND next_sync_at > 0`);
}

/** How many feeds are due since then, and yet to be taken. */
export function countFeedsMadeDue({ db }: Stored): number {
  return db.prepare<[], { n: number }>('made due', 'SELECT COUNT(*) AS n FROM sources WHERE next_sync_at = 0').get()?.n
    ?? NaN;
}
