import { close, read } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import type { FileSlice, Reply } from './reply.ts';

const [readFd, closeFd] = [promisify(read), promisify(close)];

/** Each response has two buffers of this size: one is sent while the other is filled. */
const BUFFER_BYTES = 128 * 1024;

/** Most unused pairs kept for later responses: new buffers would take a third of a download's time. */
const MOST_SPARE = 16;

type Pair = [Buffer, Buffer];

const spare: Pair[] = [];

/** Writes part of an open file as a body. Rejects if the file has become shorter, or if the client goes away. */
export async function sendFile(res: ServerResponse, slice: FileSlice): Promise<void> {
  const pair = spare.pop() ?? [Buffer.allocUnsafeSlow(BUFFER_BYTES), Buffer.allocUnsafeSlow(BUFFER_BYTES)];
  await pump(res, slice, pair);
  // After a failure the buffers are not kept: Node may still be using them.
  if (spare.length < MOST_SPARE) spare.push(pair);
  res.end();
}

export async function closeBody(body: Reply['body']): Promise<void> {
  if (body instanceof Readable) body.destroy();
  else if (typeof body === 'object' && body !== null && 'fd' in body) await closeFd(body.fd);
}

async function pump(res: ServerResponse, { fd, start, length }: FileSlice, [first, second]: Pair): Promise<void> {
  const gone = goneAway(res);
  let [filling, sending] = [first, second];
  let sent: Promise<unknown> = Promise.resolve();
  try {
    for (let done = 0; done < length;) {
      const { bytesRead } = await readFd(fd, filling, 0, Math.min(BUFFER_BYTES, length - done), start + done);
      if (bytesRead === 0) throw new Error('a file was truncated while it was being sent');
      await Promise.race([sent, gone.promise]);
      sent = write(res, filling.subarray(0, bytesRead));
      done += bytesRead;
      [filling, sending] = [sending, filling];
    }
    await Promise.race([sent, gone.promise]);
  } finally {
    gone.forget();
  }
}

/** Resolves when the operating system has taken the bytes: only then may the buffer be reused. */
function write(res: ServerResponse, bytes: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  res.write(bytes, (error) => (error ? reject(error) : resolve()));
  promise.catch(() => {}); // the caller that awaits the promise handles the error
  return promise;
}

/** Rejects when the client disconnects, because the callbacks of later writes are never called. */
function goneAway(res: ServerResponse): { promise: Promise<never>; forget(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const onClose = (): void => reject(new Error('the client has disconnected'));
  promise.catch(() => {});
  if (res.destroyed) onClose();
  res.once('close', onClose);
  return { promise, forget: () => void res.off('close', onClose) };
}
