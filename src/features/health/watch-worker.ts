import { isoTime, MINUTE, SECOND, type Clock } from '../../platform/clock.ts';
import { createWorker, type Worker } from '../../platform/jobs/worker.ts';
import { deliverAlert } from '../alerts/deliver-alert.ts';
import { tellTroubles, watchTrouble } from '../alerts/raise-alerts.ts';
import { noteError } from '../errors/error-store.ts';
import { heartbeats, jobs, once, type Hub } from '../hub/hub.ts';
import { jobHandlers } from '../hub/job-kind.ts';

/** The worker is missed once it has not been seen for so long. */
export const LONGEST_SILENCE = 5 * MINUTE;

/** Looks that lie further apart, or the wrong way round, tell of a clock that was set or a machine that slept. */
const LONGEST_GAP = MINUTE;

/** For a delivery in progress when the worker is back, or web ends. */
const GRACE = 2 * SECOND;

/** What web remembers between its looks, and what delivers alerts while the worker does not. */
const watches = once((hub: Hub) => ({
  isStill: noticingStillness(hub.clock),
  deliverer: createDeliverer(hub),
  isDelivering: false,
}));

/**
 * Web's look at the worker. While that has not been seen for five minutes, web says so and delivers alerts itself.
 */
export async function watchWorker(hub: Hub): Promise<void> {
  const seenAt = heartbeats(hub).lastSeen('worker');
  const isSilent = watches(hub).isStill(seenAt);
  const since = seenAt === null ? 'It has never been seen' : `It was last seen at ${isoTime(seenAt)}`;
  watchTrouble(hub, 'worker-silent', isSilent ? `${since}; sources are not synchronised` : null);
  if (isSilent) tellTroubles(hub);
  await deliverWhile(hub, isSilent && hub.config.alertWebhookUrl !== null);
}

/** Ends what `watchWorker` may have begun. */
export async function stopDeliveringAlerts(hub: Hub): Promise<void> {
  await deliverWhile(hub, false);
}

async function deliverWhile(hub: Hub, isNeeded: boolean): Promise<void> {
  const watch = watches(hub);
  if (isNeeded === watch.isDelivering) return;
  watch.isDelivering = isNeeded;
  hub.log.info(isNeeded ? 'web delivers alerts' : 'the worker delivers alerts again', { kind: deliverAlert.name });
  if (isNeeded) watch.deliverer.start();
  else await watch.deliverer.stop(GRACE);
}

function createDeliverer(hub: Hub): Worker {
  const { db, clock, log } = hub;
  const handlers = jobHandlers(hub, [deliverAlert]);
  return createWorker({ db, queue: jobs(hub), handlers, clock, log, onError: (error) => noteError(hub, error) });
}

/**
 * Whether a value has been the same for five minutes, over looks that come one after another. What happened between
 * two looks that lie far apart says nothing.
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
