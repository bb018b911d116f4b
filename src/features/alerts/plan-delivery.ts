import { HOUR, type Random } from '../../platform/clock.ts';
import { backoff } from '../../platform/jobs/backoff.ts';
import type { Outcome } from './judge-answer.ts';

/** Of one alert, the first included. */
export const MAX_ATTEMPTS = 5;

/** How long a receiver's Retry-After may hold an alert back; longer ones are taken for this. */
const LONGEST_WAIT = HOUR;

/** Added to a Retry-After at most, as a share of it, so that what was refused together does not come back together. */
const SPREAD = 0.1;

/** What becomes of a delivery; `delayMs` from now until it is tried again. */
export type NextStep = { state: 'delivered' } | { state: 'pending'; delayMs: number } | { state: 'failed' };

type Result = { outcome: Outcome; retryAfterMs?: number };

/** What follows the attempt just made, the `attempts`-th: waits grow (`backoff`), none is shorter than Retry-After. */
export function planDelivery({ outcome, retryAfterMs = 0 }: Result, attempts: number, random: Random): NextStep {
  if (outcome === 'delivered') return { state: 'delivered' };
  if (outcome === 'failed' || attempts >= MAX_ATTEMPTS) return { state: 'failed' };
  const asked = Math.min(retryAfterMs, LONGEST_WAIT) * (1 + SPREAD * random());
  return { state: 'pending', delayMs: Math.max(backoff(attempts, random), Math.ceil(asked)) };
}
