/**
 * `type`: not an accepted type, or not the type that the name says (415). `damaged`: incomplete or malformed (422).
 * `dimensions`: an image with too many pixels (422).
 */
type RefusalKind = 'type' | 'damaged' | 'dimensions';

/** Thrown for a file that the hub does not keep because of its content. The sender reads the message. */
export class RefusedFile extends Error {
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, reason: string) {
    super(reason);
    this.kind = kind;
  }
}

/** Returns a function that rethrows an error, and puts the file's name before the message of a refusal. */
export function nameRefusal(filename: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof RefusedFile ? new RefusedFile(error.kind, `${filename}: ${error.message}`) : error;
  };
}

/** A parser in one pass over a file. It yields whenever the bytes that it needs next have not arrived. */
export type Parsing<T> = Generator<undefined, T, undefined>;

/** A file while it arrives. The position only grows, so no loop within a file can repeat. */
export type ArrivingFile = {
  position(): number;
  /** The next bytes, as a copy. Refuses a file that ends before them. */
  take(count: number): Parsing<Buffer>;
  /** The next byte; much faster than `take(1)`. */
  takeByte(): Parsing<number>;
  /** The next bytes, which stay next; fewer at the end of the file. */
  peek(count: number): Parsing<Buffer>;
  /** All bytes that have arrived, as a view that is valid until the next yield; none at the end of the file. */
  takeArrived(): Parsing<Buffer>;
  skip(count: number): void;
  /** Refuses a file that ended within skipped bytes. */
  isAtEnd(): Parsing<boolean>;
};

/** Takes a file in pieces of any size and keeps no piece. Both functions throw what the parser throws. */
export type PushParser<T> = { push: (chunk: Buffer) => void; finish: () => T };

/** Starts a parser that takes its file by `push`. The parser must read to the end of the file. */
export function startParser<T>(parse: (file: ArrivingFile) => Parsing<T>): PushParser<T> {
  let held: Buffer = Buffer.alloc(0);
  let at = 0; // of the next byte in `held`; beyond its end while skipped bytes have not come
  let start = 0; // of `held` in the file
  let hasEnded = false;

  const file: ArrivingFile = {
    position: () => start + at,
    skip: (count) => void (at += count),
    *takeByte() {
      while (at >= held.length) {
        if (hasEnded) throw cutShort();
        yield;
      }
      return held[at++] ?? 0;
    },
    *peek(count) {
      while (at + count > held.length && !hasEnded) yield;
      if (at > held.length) throw cutShort();
      return held.subarray(at, at + count);
    },
    *take(count) {
      const bytes = yield* file.peek(count);
      if (bytes.length < count) throw cutShort();
      at += count;
      return Buffer.from(bytes);
    },
    *takeArrived() {
      yield* file.peek(1);
      const bytes = held.subarray(at);
      at = held.length;
      return bytes;
    },
    *isAtEnd() {
      return (yield* file.peek(1)).length === 0;
    },
  };
  const parsing = parse(file);
  return {
    push: (chunk) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      parsing.next();
      const used = Math.min(at, held.length);
      held = Buffer.from(held.subarray(used)); // a copy: the caller may reuse the chunk
      [at, start] = [at - used, start + used];
    },
    finish: () => {
      hasEnded = true;
      const last = parsing.next();
      if (last.done !== true || last.value === undefined) throw cutShort(); // undefined: the parser has thrown before
      return last.value;
    },
  };
}

/** Refuses a file that goes on: no viewer shows bytes behind the end of an image, so they may be anything. */
export function* requireEnd(file: ArrivingFile): Parsing<void> {
  if (!(yield* file.isAtEnd())) throw new RefusedFile('damaged', 'The file continues after the end of its content.');
}

/** The refusal of a file that ends too early. */
export function cutShort(): RefusedFile {
  return new RefusedFile('damaged', 'The file ends too early; it was cut short or is damaged.');
}
