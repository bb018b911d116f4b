import { DAY, type Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import type { QuietWebhook, WebhookSilenceStore } from './webhook-silence-store.ts';

/** A webhook that is quiet for longer than this is silent. */
export const LONGEST_QUIET = 7 * DAY;

/** While one stays silent it is told again. */
const TELL_EVERY = DAY;

export type WatchSilenceDeps = {
  db: Db;
  silence: WebhookSilenceStore;
  clock: Clock;
  /** Both in the transaction that marks the webhook; given by app. */
  tellOwner(webhook: QuietWebhook): void;
  raiseAlert(webhook: QuietWebhook): void;
};

/** Finds webhooks that are not heard any more; each call takes up to `limit` and returns how many. */
export function watchingSilence({ db, silence, clock, tellOwner, raiseAlert }: WatchSilenceDeps) {
  return db.transaction('find silent webhooks', (limit: number): number => {
    const now = clock();
    silence.pullBack(now);
    const quiet = silence.quiet(now - LONGEST_QUIET, now - TELL_EVERY, limit);
    for (const webhook of quiet) {
      silence.markSilent(webhook.sourceId, now);
      raiseAlert(webhook);
      if (webhook.state !== 'silent') tellOwner(webhook);
    }
    return quiet.length;
  });
}
