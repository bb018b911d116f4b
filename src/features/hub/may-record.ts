import { isDiskLow } from './disk-reserve.ts';
import type { Hub } from './hub.ts';
import { isOnTrial } from './trial.ts';

/**
 * False on trial and on a full disk: then skip writes that nobody asked for (read marks, last use, caches, syncs).
 */
export function mayRecord(hub: Hub): boolean {
  return !isOnTrial(hub) && !isDiskLow(hub);
}
