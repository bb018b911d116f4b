import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST_PAUSE = 500; // ms

/**
 * Resolves once the condition holds. Throws after `timeoutMs`, shortly before its test would be ended, naming what was
 * waited for. Pauses twice as long as each
 * look took, so that a look that starts programs does not take the processor from what is waited for.
 */
export async function waitUntil(
  what: string, condition: () => boolean | Promise<boolean>, timeoutMs = 280_000,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const began = performance.now();
    if (await condition()) return;
    const ended = performance.now();
    if (ended > until) throw new Error(`waited in vain: ${what}`);
    await sleep(Math.max(2, Math.min(2 * (ended - began), LONGEST_PAUSE)));
  }
}
