import { setImmediate } from 'node:timers/promises';
import { charged } from '../turns.ts';

/** Resumable work on a text; `read` handles about `characters` characters and returns whether text is left. */
export type Reading<Result> = { read(characters: number): boolean; end(): Result };

/** Characters per step. The slowest markup takes about 5 ms per step. */
export const STEP = 20_000;

export function atOnce<Result>({ read, end }: Reading<Result>): Result {
  while (read(STEP));
  return end();
}

/** Reads with an event-loop round after each step, outside of turns, because several requests wait for the result. */
export async function inSteps<Result>(reading: Reading<Result>): Promise<Result> {
  const [read, end] = [charged(reading.read), charged(reading.end)];
  let isLong = false;
  for (; read(STEP); isLong = true) await setImmediate();
  if (isLong) await setImmediate(); // `end` goes through the whole text once more
  const result = end();
  if (isLong) await setImmediate();
  return result;
}
