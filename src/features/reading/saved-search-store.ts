import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';

export type SavedSearch = { id: number; name: string; q: string; createdAt: number };

export const SEARCHES_MAX = TABLES.saved_searches.most;

export const savedSearches = store(({ db, clock }) => {
  const insert = db.prepare<[number, string, string, number], SavedSearch>('save search', `
    INSERT INTO saved_searches (account_id, name, q, created_at) VALUES (?, ?, ?, ?)
    RETURNING id, name, q, created_at AS createdAt`);
  const remove = db.prepare<[number, number]>('remove saved search',
    'DELETE FROM saved_searches WHERE id = ? AND account_id = ?');

  return {
    listOf: db.prepare<[accountId: number], SavedSearch>('saved searches of account',
      'SELECT id, name, q, created_at AS createdAt FROM saved_searches WHERE account_id = ? ORDER BY id').all,
    /** Saves a search. The caller checks SEARCHES_MAX. */
    add: (accountId: number, name: string, q: string): SavedSearch | undefined =>
      insert.get(accountId, name, q, clock()),
    remove: (accountId: number, id: number): boolean => remove.run(id, accountId).changes > 0,
    removeOf: db.prepare<[accountId: number, limit: number]>('remove saved searches of account',
      'DELETE FROM saved_searches WHERE id IN (SELECT id FROM saved_searches WHERE account_id = ? LIMIT ?)').change,
  };
});
