import { setImmediate } from 'node:timers/promises';

/** Work on a text that can pause: `read` goes on for about so many characters and tells whether there is more. */
export type Reading<Result> = { read(characters: number): boolean; end(): Result };

/** Characters. The most laborious markup takes about 5 ms for so many. */
export const STEP = 20_000;

export function atOnce<Result>({ read, end }: Reading<Result>): Result {
  while (read(STEP));
  return end();
}

/** The same with a pause after each step of a long text, in which the process does what others wait for. */
export async function inSteps<Result>({ read, end }: Reading<Result>): Promise<Result> {
  let isLong = false;
  for (; read(STEP); isLong = true) await setImmediate();
  if (isLong) await setImmediate(); // the end goes through the whole text once more
  const result = end();
  if (isLong) await setImmediate();
  return result;
}
