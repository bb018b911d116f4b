import type { Db } from '../../src/platform/db/open-database.ts';
import { number } from './migrated-database.ts';

/** How many drafts there are, without those that wait for somebody to sign in. */
export function countShownDrafts({ db }: { db: Db }): number {
  return number(db, 'SELECT COUNT(*) FROM drafts WHERE pending_hash IS NULL');
}
