import { store } from '../hub/hub.ts';


/** A webhook that has been quiet for too long; times in unix ms. */
export type QuietWebhook = {
  sourceId: number;
  title: string;
  ownerId: number;
  state: 'active' | 'silent';
  quietSinceAt: number;
};

export type WebhookSilenceStore = ReturnType<typeof webhookSilence>;

/** Which webhooks are not heard any more. */
export const webhookSilence = store(({ db }) => {
  const pullBack = db.prepare<[number, number, number, number]>('pull back webhook times', `
    UPDATE webhooks SET quiet_since_at = MIN(quiet_since_at, ?), silence_told_at = MIN(silence_told_at, ?)
     WHERE quiet_since_at > ? OR silence_told_at > ?`);
  const selectQuiet = db.prepare<[number, number, number], QuietWebhook>('quiet webhooks', `
    SELECT w.source_id AS sourceId, s.title, s.owner_id AS ownerId, w.state, w.quiet_since_at AS quietSinceAt
      FROM webhooks w JOIN sources s ON s.id = w.source_id
     WHERE w.state <> 'disabled' AND w.quiet_since_at < ?
       AND (w.silence_told_at IS NULL OR w.silence_told_at <= ?)
     ORDER BY w.quiet_since_at LIMIT ?`);
  const markSilent = db.prepare<[number, number]>('mark webhook silent',
    `UPDATE webhooks SET state = 'silent', silence_told_at = ? WHERE source_id = ?`);
  const countSilent = db.prepare<[], { value: number }>('silent webhooks',
    `SELECT value FROM counts WHERE metric = 'webhooks' AND label = 'silent'`);

  return {
    /** Times from the future, which a clock that was ahead has left, become `now` (unix ms). */
    pullBack: (now: number): void => void pullBack.run(now, now, now, now),

    /** Up to `limit` that were last heard before `heardBefore`, and whose silence was not told after `toldBefore`. */
    quiet: (heardBefore: number, toldBefore: number, limit: number): QuietWebhook[] =>
      selectQuiet.all(heardBefore, toldBefore, limit),

    markSilent: (sourceId: number, now: number): void => void markSilent.run(now, sourceId),

    countSilent: (): number => countSilent.get()?.value ?? 0,
  };
});
