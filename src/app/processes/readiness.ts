import { setTimeout as delay } from 'node:timers/promises';
import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';

const POLL = 100;

/** Asks GET address/api/health. Null when the hub is ready (200, ok: true), otherwise why it is not. */
export async function askReadiness(address: string, signal: AbortSignal): Promise<string | null> {
  try {
    const response = await fetch(`${address}/api/health`, { signal, redirect: 'error' });
    const body: unknown = await response.json().catch(() => null);
    const ok = typeof body === 'object' && body !== null && 'ok' in body && body.ok === true;
    return response.status === 200 && ok ? null : `${address} answered ${response.status}, not ready`;
  } catch (error) {
    return signal.aborted ? `${address} did not answer in time` : `${address} does not answer (${reason(error)})`;
  }
}

/** Resolves to true once the hub at the address is ready, to false when `signal` aborts before that. */
export async function waitForHealth(address: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(5 * SECOND)]);
    if ((await askReadiness(address, limit)) === null) return true;
    await delay(POLL, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return codeOf(error.cause) ?? error.message;
}
