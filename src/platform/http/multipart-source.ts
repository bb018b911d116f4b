import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { MultipartLimits } from './multipart-limits.ts';
import { createMultipartParser, type MultipartEvent } from './multipart-parser.ts';
import { HttpError } from './problem.ts';

/** A request, as far as reading its multipart body needs it. */
export type MultipartStream = Readable & Pick<IncomingMessage, 'headers' | 'headersDistinct'>;

/** The events of a body as it arrives. Nothing is read from the socket before it is asked for. */
export type MultipartSource = {
  /** The next event of what has been read, or null. Once it has thrown it throws the same error ever after. */
  ready(): MultipartEvent | null;
  /** The next event, for which the stream is read where nothing is ready. Rejects as `ready` throws. */
  next(): Promise<MultipartEvent>;
  /** Ends the body with an error, unless one has ended it before, and throws that which did. */
  fail(error: unknown): never;
  /** Lets go of the stream, which stays open and paused. */
  stop(): void;
};

/** Reads the body of a request. 413 for more than `limits.bytes`, 400 when the client stops half-way. */
export function openMultipartSource(
  stream: MultipartStream, boundary: string, limits: MultipartLimits,
): MultipartSource {
  const parser = createMultipartParser(boundary, limits);
  const pieces: AsyncIterator<Buffer> = stream.iterator({ destroyOnReturn: false });
  let received = 0;
  let failure: { error: unknown } | null = null;

  function ready(): MultipartEvent | null {
    if (failure) throw failure.error;
    try {
      return parser.next();
    } catch (error) {
      return fail(error);
    }
  }

  async function next(): Promise<MultipartEvent> {
    for (;;) {
      const event = ready();
      if (event) return event;
      await readPiece();
    }
  }

  async function readPiece(): Promise<void> {
    const { done, value } = await pieces.next().catch(() => fail(halfBody()));
    if (done) return parser.end();
    received += value.length;
    if (received > limits.bytes) fail(tooLarge('The body', limits.bytes));
    parser.write(value);
  }

  function fail(error: unknown): never {
    failure ??= { error };
    throw failure.error;
  }

  function stop(): void {
    failure ??= { error: new Error('the body is no longer read') };
    // Not waited for: when a piece is being waited for, the client may never send it.
    pieces.return?.().catch(() => {});
  }

  return { ready, next, fail, stop };
}

export function tooLarge(what: string, limit: number): HttpError {
  return new HttpError(413, `${what} may have at most ${limit} bytes.`);
}

function halfBody(): HttpError {
  return new HttpError(400, 'The request ended before its body was complete.');
}
