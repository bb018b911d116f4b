import { acceptTrial, isRestoreOpen, readTrial } from '../../features/backups/restore-state.ts';
import { beatOnTrial, beginTrial, endTrial } from '../../features/hub/trial.ts';
import type { Hub } from '../../features/hub/hub.ts';
import { SECOND } from '../../platform/clock.ts';
import { errorFields } from '../../platform/log.ts';

const POLL = SECOND / 4;

/** Seconds. upgrade.sh of 1.0.0 waits 90 s for the new version's health and 30 s for its first writes. */
const LIMIT_OF_1_0_0 = 180;

/**
 * Calls `whenOver` when this process may store data: at once, or after the trial of an upgrade or a restore. Web ends
 * a trial of a new version or of restored data that upgrade.sh or restore.sh has not ended in time. Returns a function
 * that ends the waiting: `whenOver` is then never called. `uptime`: milliseconds of a monotonic clock.
 */
export function joinTrial(hub: Hub, whenOver: () => void, uptime = (): number => performance.now()): () => void {
  const { config: { dataDir }, log } = hub;
  if (!isRestoreOpen(dataDir)) {
    whenOver();
    return () => {};
  }
  beginTrial(hub, endIfOver);
  log.info('on trial: nothing is stored but heartbeats', { trial: readTrial(dataDir)?.what });
  const began = uptime();
  let [isStopped, isAccepting] = [false, false];
  let timer = setTimeout(look, POLL);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };

  function endIfOver(): boolean {
    if (isStopped || isAccepting || isRestoreOpen(dataDir)) return false;
    isStopped = true;
    endTrial(hub);
    log.info('the trial of the new version or the restored backup is over: the hub stores all data again');
    whenOver();
    return true;
  }

  async function look(): Promise<void> {
    isAccepting = true;
    await acceptIfOverdue(hub, uptime() - began);
    isAccepting = false;
    if (!endIfOver() && !isStopped) timer = setTimeout(look, POLL);
  }
}

/** Web accepts the new version or data if upgrade.sh or restore.sh has not decided in time: it may have died. */
async function acceptIfOverdue(hub: Hub, lastedMs: number): Promise<void> {
  try {
    if (hub.program !== 'web' || lastedMs < trialLimit(hub) || !await acceptTrial(hub.config.dataDir)) return;
    beatOnTrial(hub); // a commit is durable even if Node refuses to sync a folder (see `syncPath`)
    hub.log.warn('the trial was not ended in time by the script that began it; this version and its data stay');
  } catch (error) {
    hub.log.error('cannot end the trial', errorFields(error));
  }
}

/** The longest trial of a new version or of restored data, in ms; upgrade.sh and restore.sh normally decide earlier. */
function trialLimit({ config }: Hub): number {
  const { what, seconds } = readTrial(config.dataDir) ?? {};
  switch (what) {
    case 'upgrade': return (seconds ?? LIMIT_OF_1_0_0) * SECOND;
    case 'restore': return config.restoreHealthSeconds * SECOND;
    default: return Infinity; // a version or backup that is tried in a temporary folder has no time limit
  }
}
