import { store } from '../hub/hub.ts';

type StoredCredentials = { sourceId: number; credentials: string };

/** The passwords of feeds, in the form in which `feed-passwords.ts` seals them. */
export const feedCredentials = store(({ db }) => {
  const select = db.prepare<[number], { credentials: string | null }>('credentials of feed',
    'SELECT credentials FROM feeds WHERE source_id = ?');
  const selectBeginning = db.prepare<[string, number], StoredCredentials>('unsealed credentials of feeds',
    'SELECT source_id AS sourceId, credentials FROM feeds WHERE credentials LIKE ? LIMIT ?');
  const update = db.prepare<[{ id: number; credentials: string | null }]>('keep credentials of feed', `
    UPDATE feeds SET credentials = @credentials, had_password = iif(@credentials IS NULL, had_password, 1)
     WHERE source_id = @id`);

  return {
    find: (sourceId: number): string | null => select.get(sourceId)?.credentials ?? null,
    /** Up to `limit` that begin with `prefix`, such as those that are not sealed. */
    beginningWith: (prefix: string, limit: number): StoredCredentials[] => selectBeginning.all(`${prefix}%`, limit),
    /** Null takes them back. */
    keep: (id: number, credentials: string | null): void => void update.run({ id, credentials }),
  };
});
