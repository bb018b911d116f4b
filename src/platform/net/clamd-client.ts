import { connect, type Socket } from 'node:net';
import { SECOND } from '../clock.ts';
import { codeOf } from '../error-code.ts';

export type ClamdAddress = { path: string } | { host: string; port: number };
type ClamdVerdict = { clean: true } | { clean: false; signature: string };

/** Why clamd gave no verdict, as a sentence for the operator. */
export class ClamdError extends Error {}

/** Milliseconds: `idleMs` to connect and to take bytes, `answerMs` from the last byte to the verdict. */
export type ClamdOptions = { address: ClamdAddress; maxBytes: number; idleMs?: number; answerMs?: number };

/** Uses one connection per question. Both methods reject with ClamdError, or with the signal's AbortError. */
export type ClamdClient = {
  /**
   * Streams the bytes with back-pressure. A file of more than `maxBytes` is not scanned: clamd
   * calls files above its MaxFileSize clean without having looked at them. An error of `bytes` is thrown as it is.
   */
  scan(bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<ClamdVerdict>;
  /** Resolves when clamd is up and answers. */
  ping(signal: AbortSignal): Promise<void>;
};

type Conversation = {
  /** Resolves when there is room for more. Throws once clamd has answered or gone. */
  send(...parts: Buffer[]): Promise<void>;
  /** Clamd's answer without the final NUL. */
  answer(limitMs: number): Promise<string>;
  close(): void;
};

const MAX_ANSWER_LENGTH = 4 * 1024;
const MAX_QUOTED = 200;
const END_OF_STREAM = Buffer.alloc(4);

// With AlertExceedsMax, clamd reports a file that it did not scan as a find.
const NOT_LOOKED_THROUGH = /^Heuristics\.Limits\.Exceeded/;

/** Asks clamd (clamd(8)): INSTREAM over TCP or a Unix socket. */
export function createClamdClient(options: ClamdOptions): ClamdClient {
  const { address, maxBytes, idleMs = 10 * SECOND, answerMs = 120 * SECOND } = options;

  async function scan(bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<ClamdVerdict> {
    const clamd = await converse(address, idleMs, signal);
    try {
      await clamd.send(command('INSTREAM'));
      let size = 0;
      for await (const chunk of bytes) {
        size += chunk.length;
        if (size > maxBytes) throw new ClamdError(`the file is larger than the scan limit of ${maxBytes} bytes`);
        if (chunk.length > 0) await clamd.send(lengthOf(chunk), chunk); // a chunk without bytes would end the stream
      }
      await clamd.send(END_OF_STREAM);
      return parseVerdict(await clamd.answer(answerMs));
    } finally {
      clamd.close();
    }
  }

  async function ping(signal: AbortSignal): Promise<void> {
    const clamd = await converse(address, idleMs, signal);
    try {
      await clamd.send(command('PING'));
      const answer = await clamd.answer(idleMs);
      if (answer !== 'PONG') throw unexpected(answer);
    } finally {
      clamd.close();
    }
  }

  return { scan, ping };
}

/** The `z` form of a command: clamd ends its answer with NUL instead of a line end. */
function command(name: string): Buffer {
  return Buffer.from(`z${name}\0`);
}

function lengthOf(chunk: Buffer): Buffer {
  const prefix = Buffer.allocUnsafe(4);
  prefix.writeUInt32BE(chunk.length);
  return prefix;
}

/** `stream: OK`, `stream: NAME FOUND`; with ExtendedDetectionInfo the name is followed by (hash:size). */
function parseVerdict(answer: string): ClamdVerdict {
  if (answer === 'stream: OK') return { clean: true };
  const signature = /^stream: (\S.*?)(?:\([0-9a-f]+:\d+\))? FOUND$/.exec(answer)?.[1];
  if (signature === undefined) throw unexpected(answer);
  if (NOT_LOOKED_THROUGH.test(signature)) {
    throw new ClamdError(`clamd did not scan the whole file: ${signature}`);
  }
  return { clean: false, signature };
}

async function converse(address: ClamdAddress, idleMs: number, signal: AbortSignal): Promise<Conversation> {
  const socket = connect({ ...address, signal });
  const answered = readAnswer(socket);
  let over = false;
  answered.then(() => (over = true), () => (over = true));
  const connected = new Promise<void>((resolve) => socket.once('connect', resolve));
  await within(idleMs, 'did not accept a connection', Promise.race([connected, answered]));

  function write(parts: Buffer[]): boolean {
    socket.cork();
    const room = parts.map((part) => socket.write(part)).at(-1) ?? true;
    socket.uncork();
    return room;
  }

  async function send(...parts: Buffer[]): Promise<void> {
    if (!over && !write(parts)) await within(idleMs, 'took no bytes', roomOrEnd(socket));
    if (over) throw unexpected(await answered, ' before it had the whole file');
  }

  async function within<T>(limitMs: number, what: string, wait: Promise<T>): Promise<T> {
    const tooLong = () => socket.destroy(new ClamdError(`clamd ${what} within ${limitMs / SECOND} s`));
    const timer = setTimeout(tooLong, limitMs);
    try {
      return await wait;
    } finally {
      clearTimeout(timer);
    }
  }

  return { send, answer: (limitMs) => within(limitMs, 'gave no verdict', answered), close: () => socket.destroy() };
}

/** The one answer, up to the NUL that ends it. Rejects when the connection fails or closes without one. */
function readAnswer(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = '';
  let stage = 'cannot be reached';
  socket.once('connect', () => (stage = 'broke off'));
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
    const end = received.indexOf('\0');
    if (end >= 0 && end === received.length - 1) resolve(received.slice(0, end));
    else if (end >= 0 || received.length > MAX_ANSWER_LENGTH) socket.destroy(unexpected(received));
  });
  socket.on('error', (cause) => {
    reject(isOurs(cause) ? cause : new ClamdError(`clamd ${stage} (${codeOf(cause) ?? cause.message})`, { cause }));
  });
  socket.once('close', () => reject(new ClamdError('clamd closed the connection without an answer')));
  return promise;
}

function roomOrEnd(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}

function unexpected(answer: string, when = ''): ClamdError {
  return new ClamdError(`clamd answered ${JSON.stringify(answer.slice(0, MAX_QUOTED))}${when}`);
}

/** Raised here or by the caller's signal. */
function isOurs(error: Error): boolean {
  return error instanceof ClamdError || error.name === 'AbortError';
}
