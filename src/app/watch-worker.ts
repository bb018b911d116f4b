import { isoTime, MINUTE, SECOND, type Clock } from '../platform/clock.ts';
import { deliverAlert } from '../features/alerts/deliver-alert.ts';
import { tellTroubles, watchTrouble } from '../features/alerts/raise-alerts.ts';
import { heartbeats } from '../features/hub/hub.ts';
import type { Task } from '../platform/jobs/scheduler.ts';
import { createWorker } from '../platform/jobs/worker.ts';
import type { App } from './app.ts';
import { jobHandlers } from './job-kinds.ts';

const WATCH_EVERY = 10 * SECOND;
export const LONGEST_SILENCE = 5 * MINUTE;

/** Looks that lie further apart, or the wrong way round, tell of a clock that was set or a machine that slept. */
const LONGEST_GAP = MINUTE;

const GRACE = 2 * SECOND;

/**
 * Web's eye on the worker. When that has not been seen for five minutes, web says so and delivers alerts itself until
 * it is back.
 */
export function watchingWorker(app: App) {
  const { hub, db, jobs, config, clock, log, errors } = app;
  const isStill = noticingStillness(clock);
  const handlers = jobHandlers(hub, [deliverAlert]);
  const standIn = createWorker({ db, queue: jobs, handlers, clock, log, onError: errors.note });
  let standsIn = false;

  async function watch(): Promise<void> {
    const seenAt = heartbeats(hub).lastSeen('worker');
    const isSilent = isStill(seenAt);
    const since = seenAt === null ? 'It has never been seen' : `It was last seen at ${isoTime(seenAt)}`;
    watchTrouble(hub, 'worker-silent', isSilent ? `${since}; sources are not synchronised` : null);
    if (isSilent) tellTroubles(hub);
    await standInWhile(isSilent && config.alertWebhookUrl !== null);
  }

  async function standInWhile(isNeeded: boolean): Promise<void> {
    if (isNeeded === standsIn) return;
    standsIn = isNeeded;
    log.info(isNeeded ? 'web delivers alerts' : 'the worker delivers alerts again', { kind: deliverAlert.name });
    if (isNeeded) standIn.start();
    else await standIn.stop(GRACE);
  }

  return {
    tasks: [{ name: 'watch the worker', everyMs: WATCH_EVERY, run: watch }] satisfies Task[],
    stop: (): Promise<void> => standInWhile(false),
  };
}

/**
 * Whether a value has been the same for five minutes, over looks that come one after another. What happened between two
 * looks that lie far apart says nothing.
 */
function noticingStillness(clock: Clock): (value: number | null) => boolean {
  let last = { value: null as number | null, at: -Infinity };
  let since = 0;
  return (value) => {
    const now = clock();
    const isRegular = now >= last.at && now - last.at <= LONGEST_GAP;
    if (!isRegular || value !== last.value) since = now;
    last = { value, at: now };
    return now - since >= LONGEST_SILENCE;
  };
}
