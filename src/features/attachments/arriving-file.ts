/** For an upload, `type` becomes 415, `damaged` (incomplete or malformed) and `dimensions` (too many pixels) 422. */
type RefusalKind = 'type' | 'damaged' | 'dimensions';

export class RefusedFile extends Error {
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, reason: string) {
    super(reason);
    this.kind = kind;
  }
}

/** Returns a function that rethrows an error; the message of a RefusedFile then begins with the file's name. */
export function nameRefusal(filename: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof RefusedFile ? new RefusedFile(error.kind, `${filename}: ${error.message}`) : error;
  };
}

/** Reads a file in one pass, and yields when the bytes that it needs next have not arrived. */
export type Parsing<T> = Generator<undefined, T, undefined>;

/** A file that a parser reads as it arrives. The position never goes back, so loops that move it end. */
export type ArrivingFile = {
  position(): number;
  /** Returns a copy of the next `count` bytes and skips them. Refuses a file with fewer than `count` bytes left. */
  take(count: number): Parsing<Buffer>;
  /** Returns the next byte, and moves the position; much faster than `take(1)`. */
  takeByte(): Parsing<number>;
  /** Returns the next `count` bytes without moving the position; returns fewer bytes at the end of the file. */
  peek(count: number): Parsing<Buffer>;
  /** Takes all bytes that have arrived, as a view that is valid until the next yield; empty at the file's end. */
  takeArrived(): Parsing<Buffer>;
  skip(count: number): void;
  /** Whether all bytes of the file were read. Throws RefusedFile if the file ended within bytes that `skip` skipped. */
  isAtEnd(): Parsing<boolean>;
};

/** Parses a file that arrives in pieces of any size. `push` and `finish` throw the errors that the parser throws. */
export type PushParser<T> = { push: (chunk: Buffer) => void; finish: () => T };

/** `parse` must read its file to the end. */
export function startParser<T>(parse: (file: ArrivingFile) => Parsing<T>): PushParser<T> {
  let held: Buffer = Buffer.alloc(0); // the last bytes of the file that have arrived
  let at = 0; // index in `held` of the next byte to parse; may lie behind the end of `held` after `skip`
  let start = 0; // how many bytes of the file came before `held`
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
      held = Buffer.from(held.subarray(used)); // the unread bytes are copied: the caller may reuse `chunk`
      [at, start] = [at - used, start + used];
    },
    finish: () => {
      hasEnded = true;
      const last = parsing.next();
      if (last.done !== true || last.value === undefined) throw cutShort(); // a parser that ended before has no value
      return last.value;
    },
  };
}

/** Refuses a file that continues after its content: viewers do not show the additional bytes, which may be anything. */
export function* requireEnd(file: ArrivingFile): Parsing<void> {
  if (!(yield* file.isAtEnd())) throw new RefusedFile('damaged', 'The file continues after the end of its content.');
}

export function cutShort(): RefusedFile {
  return new RefusedFile('damaged', 'The file ends too early; it was cut short or is damaged.');
}
