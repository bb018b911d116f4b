import { setTimeout as delay } from 'node:timers/promises';
import { SECOND } from '../platform/clock.ts';
import { askReadiness } from './ask-readiness.ts';

const POLL = 100;

/** Resolves to true once the hub at the address is ready, to false when `signal` aborts before that. */
export async function waitForHealth(address: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(5 * SECOND)]);
    if ((await askReadiness(address, limit)) === null) return true;
    await delay(POLL, undefined, { signal }).catch(() => undefined);
  }
  return false;
}
