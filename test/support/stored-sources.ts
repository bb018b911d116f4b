import { sources } from '../../src/features/sources/source-store.ts';
import type { Stored } from './stored-rows.ts';

/** A public feed of account 1 that is due at that time (unix ms); nobody has asked for it yet. Returns its id. */
export function addFeedDueAt({ db }: Stored, nextSyncAt: number, url: string, title = 'Owls'): number {
  const source = { ownerId: 1, kind: 'feed', title, titleIsOwn: false, visibility: 'public' } as const;
  return sources({ db, clock: Date.now }).create(source, { url, nextSyncAt });
}
