import { hasPassed, SECOND, type Clock } from '../../platform/clock.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

// On Ctrl-C the terminal and npm both send SIGINT: one this soon after the first is the same request.
const SAME_REQUEST = SECOND;

/** Calls `stop` at the first signal to end, and `kill` at a later signal; returns a function that stops listening. */
export function onStopSignals(stop: () => void, kill: () => void, clock: Clock = Date.now): () => void {
  let first: number | undefined;

  const received = (): void => {
    if (first === undefined) {
      first = clock();
      stop();
    } else if (hasPassed(first, SAME_REQUEST, clock())) {
      kill();
    }
  };

  for (const signal of STOP_SIGNALS) process.on(signal, received);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, received);
  };
}
