import { connect, type Socket } from 'node:net';
import { SECOND } from '../clock.ts';
import { codeOf } from '../error-code.ts';

export type ClamdAddress = { path: string } | { host: string; port: number };
type ClamdVerdict = { clean: true } | { clean: false; signature: string };

/** Tells the operator why clamd gave no verdict. */
export class ClamdError extends Error {}

/** Limits: `idleMs` for connecting, each write and a PONG, `answerMs` from a file's last byte to clamd's answer. */
export type ClamdOptions = { address: ClamdAddress; maxBytes: number; idleMs?: number; answerMs?: number };

export type ClamdClient = ReturnType<typeof createClamdClient>;

const MAX_ANSWER_LENGTH = 4 * 1024;
const MAX_QUOTED = 200;
const END_OF_STREAM = Buffer.alloc(4);

// With AlertExceedsMax, clamd reports an incomplete scan as if it had found malware.
const INCOMPLETE_SCAN = /^Heuristics\.Limits\.Exceeded/;

/** A client for clamd(8). Rejects with ClamdError without a clear answer, or the error of the signal or of `bytes`. */
export function createClamdClient(options: ClamdOptions) {
  const { address, maxBytes, idleMs = 10 * SECOND, answerMs = 120 * SECOND } = options;

  /** Rejects a file of more than `maxBytes`, because clamd calls a file above its MaxFileSize clean without a scan. */
  async function scan(bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<ClamdVerdict> {
    const clamd = await converse(address, idleMs, signal);
    try {
      await clamd.send(command('INSTREAM'));
      let size = 0;
      for await (const chunk of bytes) {
        size += chunk.length;
        if (size > maxBytes) throw new ClamdError(`the file is larger than the scan limit of ${maxBytes} bytes`);
        if (chunk.length > 0) await clamd.send(withLength(chunk)); // a chunk of length 0 would end clamd's stream
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

function command(name: string): Buffer {
  return Buffer.from(`z${name}\0`);
}

function withLength(chunk: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(chunk.length);
  return Buffer.concat([length, chunk]);
}

/** Parses `stream: OK` or `stream: NAME FOUND`. With ExtendedDetectionInfo, clamd puts (hash:size) after NAME. */
function parseVerdict(answer: string): ClamdVerdict {
  if (answer === 'stream: OK') return { clean: true };
  const signature = /^stream: (\S.*?)(?:\([0-9a-f]+:\d+\))? FOUND$/.exec(answer)?.[1];
  if (signature === undefined) throw unexpected(answer);
  if (INCOMPLETE_SCAN.test(signature)) {
    throw new ClamdError(`clamd did not scan the whole file: ${signature}`);
  }
  return { clean: false, signature };
}

async function converse(address: ClamdAddress, idleMs: number, signal: AbortSignal) {
  const socket = connect({ ...address, signal });
  const answered = readAnswer(socket);
  let over = false;
  answered.then(() => (over = true), () => (over = true));
  const connected = new Promise<void>((resolve) => socket.once('connect', resolve));
  await within(idleMs, 'did not accept a connection', Promise.race([connected, answered]));

  /** Resolves when the socket has room for more bytes. Throws once clamd has answered or disconnected. */
  async function send(bytes: Buffer): Promise<void> {
    if (!over && !socket.write(bytes)) await within(idleMs, 'took no bytes', roomOrEnd(socket));
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

  const answer = (limitMs: number): Promise<string> => within(limitMs, 'gave no verdict', answered);
  return { send, answer, close: () => void socket.destroy() };
}

function readAnswer(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = '';
  let problem = 'clamd cannot be reached';
  socket.once('connect', () => (problem = 'clamd broke off the connection'));
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
    const end = received.indexOf('\0');
    if (end >= 0 && end === received.length - 1) resolve(received.slice(0, end));
    else if (end >= 0 || received.length > MAX_ANSWER_LENGTH) socket.destroy(unexpected(received));
  });
  socket.on('error', (cause) => {
    reject(isOurs(cause) ? cause : new ClamdError(`${problem} (${codeOf(cause) ?? cause.message})`, { cause }));
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

function isOurs(error: Error): boolean {
  return error instanceof ClamdError || error.name === 'AbortError';
}
