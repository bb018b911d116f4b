/**
 * `type`: not one of the admitted types, or not what the name's extension says (415).
 * `damaged`: of an admitted type, but not whole (422). `dimensions`: more pixels than are admitted (422).
 */
export type RefusalKind = 'type' | 'damaged' | 'dimensions';

/** Thrown for a file that is not kept because of what it holds; the message is for the person who sent it. */
export class RefusedFile extends Error {
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, reason: string) {
    super(reason);
    this.kind = kind;
  }
}

/** A reading of a file in one pass, which yields whenever the bytes it needs next have not come yet. */
export type Walk<T> = Generator<undefined, T, undefined>;

/** A file while it arrives. Its position only grows, so that no loop in a file can be followed twice. */
export type ArrivingFile = {
  /** Where the next byte lies in the file; after a long skip, beyond what has come. */
  position: () => number;
  /** Whether so many bytes are at hand. Refuses the file when it has ended before them. */
  ready: (count: number) => boolean;
  /** All bytes at hand, without moving on. */
  atHand: () => Buffer;
  /** The next byte; only where `ready(1)`. */
  byte: () => number;
  skip: (count: number) => void;
  ended: () => boolean;
};

/** Takes a file in pieces of any size, of which it keeps none; either call throws what the walk throws. */
export type FedWalk<T> = { push: (chunk: Buffer) => void; finish: () => T };

const NOTHING: Buffer = Buffer.alloc(0);

/** Sets out on a walk, which must not end before the file does. */
export function startWalk<T>(walk: (file: ArrivingFile) => Walk<T>): FedWalk<T> {
  let held = NOTHING;
  let start = 0; // position of the first byte in held
  let next = 0;
  let ended = false;
  const steps = walk({
    position: () => next,
    ready: (count) => {
      if (next + count <= start + held.length) return true;
      if (ended) throw cutShort();
      return false;
    },
    atHand: () => held.subarray(next - start),
    byte: () => held[next++ - start] ?? 0,
    skip: (count) => void (next += count),
    ended: () => ended,
  });
  const dropUsed = () => {
    const used = Math.min(next - start, held.length);
    start += used;
    held = held.subarray(used);
  };
  return {
    push: (chunk) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      dropUsed();
      steps.next();
      dropUsed();
      held = held.length === 0 ? NOTHING : Buffer.from(held);
    },
    finish: () => {
      ended = true;
      const last = steps.next();
      // A generator that has thrown is done, without a value.
      if (last.done !== true || last.value === undefined) throw cutShort();
      return last.value;
    },
  };
}

/** Takes the next bytes. */
export function* take(file: ArrivingFile, count: number): Walk<Buffer> {
  while (!file.ready(count)) yield;
  const bytes = file.atHand().subarray(0, count);
  file.skip(count);
  return bytes;
}

/** The first bytes without taking them; fewer where the file is shorter. */
export function* peek(file: ArrivingFile, count: number): Walk<Buffer> {
  while (file.atHand().length < count && !file.ended()) yield;
  return file.atHand().subarray(0, count);
}

/** Waits for further bytes; false at the end of the file. Refuses a file that ended before the position. */
export function* hasMore(file: ArrivingFile): Walk<boolean> {
  while (file.atHand().length === 0 && !file.ended()) yield;
  return file.atHand().length > 0 || !file.ready(0);
}

/** The file must end here. What follows the end of an image is shown by nobody and may be anything. */
export function* nothingMore(file: ArrivingFile): Walk<void> {
  if (yield* hasMore(file)) throw new RefusedFile('damaged', 'The file continues after the end of its content.');
}

/** The rest of the file may be anything. */
export function* ignoreRest(file: ArrivingFile): Walk<void> {
  while (yield* hasMore(file)) file.skip(file.atHand().length);
}

function cutShort(): RefusedFile {
  return new RefusedFile('damaged', 'The file ends too early; it was cut short or is damaged.');
}
