import { setImmediate } from 'node:timers/promises';
import { charged } from '../turns.ts';

/** Resumable work on a text: `read` handles about so many characters and returns whether there are more. */
export type Reading<Result> = { read(characters: number): boolean; end(): Result };

/** Characters. The slowest markup takes about 5 ms for so many. */
export const STEP = 20_000;

export function atOnce<Result>({ read, end }: Reading<Result>): Result {
  while (read(STEP));
  return end();
}

/** The same, with a round of the event loop after each step. No step waits in the queues: others wait for the end. */
export async function inSteps<Result>(reading: Reading<Result>): Promise<Result> {
  const [read, end] = [charged(reading.read), charged(reading.end)];
  let isLong = false;
  for (; read(STEP); isLong = true) await setImmediate();
  if (isLong) await setImmediate(); // the end goes through the whole text once more
  const result = end();
  if (isLong) await setImmediate();
  return result;
}
