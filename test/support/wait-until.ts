import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once the condition holds. Throws after `timeoutMs`, naming what was waited for. */
export async function waitUntil(
  what: string, condition: () => boolean | Promise<boolean>, timeoutMs = 15_000,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > until) throw new Error(`waited in vain: ${what}`);
    await sleep(2);
  }
}
