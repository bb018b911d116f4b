/** At most `burst` acts at once, then one every `everyMs`. */
export type Rate = { burst: number; everyMs: number };

/**
 * The generic cell rate algorithm (GCRA) remembers one time: the theoretical arrival time `arrivesAt`, unix ms, at
 * which the next act would come if all came evenly. Milliseconds until one more is admitted; 0 where it is now.
 */
export function waitFor(rate: Rate, arrivesAt: number, now: number): number {
  return Math.max(0, arrivalAfter(rate, arrivesAt, now) - latestArrival(rate, now));
}

/** The theoretical arrival time once one more is admitted. One that a clock ahead has left begins anew. */
export function arrivalAfter(rate: Rate, arrivesAt: number, now: number): number {
  const isPlausible = arrivesAt <= latestArrival(rate, now);
  return (isPlausible ? Math.max(arrivesAt, now) : now) + rate.everyMs;
}

/** How far ahead the theoretical arrival time may be: a whole burst. */
function latestArrival({ burst, everyMs }: Rate, now: number): number {
  return now + burst * everyMs;
}
