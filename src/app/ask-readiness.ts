import { codeOf } from '../platform/error-code.ts';

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

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return codeOf(error.cause) ?? error.message;
}
