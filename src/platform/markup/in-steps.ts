import { refuseInTransaction } from '../db/open-database.ts';
import { charged, nextRound } from '../turns.ts';

/** Work that may pause: `read` does about `characters`, or a part of its own size; returns whether any is left. */
export type Resumable<Result> = { read(characters: number): boolean; end(): Result };

/** How much has been read since a generator last paused, in characters. */
export type Pace = { unpaused: number };

/** Characters of HTML or XML that are parsed at a time, which takes 5 ms for the slowest markup. */
export const STEP = 20_000;

/** Makes a `Resumable` of a generator that yields after each part of its work: about STEP characters, or a few ms. */
export function resumable<Result>(parts: Generator<void, Result>): Resumable<Result> {
  let part: IteratorResult<void, Result> | undefined;
  return {
    read() {
      refuseInTransaction('reading a text');
      if (part?.done !== true) part = parts.next();
      return part.done !== true;
    },
    end() {
      while (part?.done !== true) part = parts.next();
      return part.value;
    },
  };
}

/** Reads on in parts, to the end of what `read` reads. */
export function* partsOf(read: Resumable<unknown>['read']): Generator<void> {
  while (read(STEP)) yield;
}

/** Joins pieces in parts: to join hundreds of thousands of small pieces takes a third of a second. */
export function* joining(pieces: readonly string[]): Generator<void, string> {
  const parts: string[] = [];
  const pace = { unpaused: 0 };
  let from = 0;
  for (const [index, { length }] of pieces.entries()) {
    if (!isPauseDue(pace, length + 1)) continue;
    parts.push(pieces.slice(from, index + 1).join(''));
    from = index + 1;
    yield;
  }
  parts.push(pieces.slice(from).join(''));
  return parts.join('');
}

/** Does all the work of a `Resumable` without a pause. */
export function atOnce<Result>({ read, end }: Resumable<Result>): Result {
  while (read(STEP));
  return end();
}

/** Counts `characters` that a generator has read since its last pause; returns whether it must now yield. */
export function isPauseDue(pace: Pace, characters: number): boolean {
  pace.unpaused += characters;
  if (pace.unpaused < STEP) return false;
  pace.unpaused = 0;
  return true;
}

/** Reads a text in one step per event-loop round, outside requests' turns: several requests may wait for it. */
export async function inSteps<Result>(work: Resumable<Result>): Promise<Result> {
  const [read, end] = [charged(work.read), charged(work.end)];
  let isLong = false;
  for (; read(STEP); isLong = true) await nextRound();
  if (isLong) await nextRound();
  const result = end();
  if (isLong) await nextRound();
  return result;
}
