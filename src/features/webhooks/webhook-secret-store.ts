import { store } from '../hub/hub.ts';


/** Secrets as they are stored. */
export type StoredSecrets = { sourceId: number; secret: string; previousSecret: string | null };

export type WebhookSecretStore = ReturnType<typeof webhookSecrets>;

/** Looks after stored secrets: those that are not sealed yet, and those that are not valid any more. */
export const webhookSecrets = store(({ db }) => {
  const selectPlain = db.prepare<[string, string, number], StoredSecrets>('unsealed secrets', `
    SELECT source_id AS sourceId, secret, previous_secret AS previousSecret FROM webhooks
     WHERE secret LIKE ? OR previous_secret LIKE ? LIMIT ?`);
  const replace = db.prepare<[StoredSecrets]>('seal webhook secrets', `
    UPDATE webhooks SET secret = @secret, previous_secret = @previousSecret WHERE source_id = @sourceId`);
  const removePrevious = db.prepare<[number, number, number]>('remove previous secrets', `
    UPDATE webhooks SET previous_secret = NULL, previous_until_at = NULL WHERE source_id IN
      (SELECT source_id FROM webhooks WHERE previous_until_at <= ? OR previous_until_at > ? LIMIT ?)`);

  return {
    /** Up to `limit` webhooks with a secret that begins with `prefix`. */
    beginningWith: (prefix: string, limit: number): StoredSecrets[] =>
      selectPlain.all(`${prefix}%`, `${prefix}%`, limit),

    replace: (secrets: StoredSecrets): void => void replace.run(secrets),

    /** Forgets previous secrets whose time was over at `now`, or ends after `latest` (unix ms). Returns how many. */
    removePrevious: (now: number, latest: number, limit: number): number =>
      removePrevious.run(now, latest, limit).changes,
  };
});
