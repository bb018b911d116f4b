import http, { type IncomingMessage } from 'node:http';
import { MINUTE } from '../clock.ts';
import { createTally } from '../limit-concurrency.ts';
import { ownTurn } from '../turns.ts';
import { essenceOf } from './headers.ts';
import { parseJson } from './parse-json.ts';
import { HttpError } from './http-error.ts';
import type { BodyShare, HubRequest } from './router.ts';

/**
 * Default limits of a request body in bytes. The limit of a form is low because a page shows a refused form again:
 * there a quotation mark takes six bytes, and a field may appear several times.
 */
const JSON_LIMIT = 1024 * 1024;
const FORM_LIMIT = 64 * 1024;
const LIMIT_OF_ANYBODY = 16 * 1024; // instead of both, if the client is not signed in

/** The time limit in ms for receiving a body that is no multipart form; those have only the limits of the server. */
const BODY_TIME = MINUTE;

export type JsonObject = Record<string, unknown>;

type MetName = 'bodies' | 'body-size' | 'body-pieces' | 'connections' | 'answers' | 'turns';

/** Counts a request over a limit and returns the error for its client. `seconds`: Retry-After of a 429 or 503. */
export type MetLimit = (limit: MetName, seconds: number, reason: string) => HttpError;

/** `recheck` and `guard` check the sender's permissions and the path again when the body has arrived. */
type WithBody = Pick<HubRequest, 'stream'> & Partial<Pick<HubRequest, 'viewer' | 'memory' | 'recheck' | 'guard'>>;

/** Limits in bytes of all bodies in memory: in total, and per account or network (twice as many for an IPv6 /48). */
const MEMORY_OF_ALL = 48 * 1024 * 1024;
const MEMORY_OF_ONE = 16 * 1024 * 1024;

const PIECE = 256; // bytes of memory that a chunk of a body takes besides its content

/** The memory budget for all request bodies. `who`: the client's account, or its networks, narrowest first. */
export function createBodyMemory(metLimit: MetLimit): (who: readonly string[]) => BodyShare {
  const held = createTally();
  return (who) => {
    let taken = 0;
    return {
      take(bytes) {
        const isTooMuch = held.total() + bytes > MEMORY_OF_ALL || held.isOver(who, MEMORY_OF_ONE, bytes);
        if (isTooMuch) throw metLimit('bodies', 10, 'Clients are sending too much data to the hub at once.');
        held.add(who, bytes);
        taken += bytes;
      },
      free() {
        held.add(who, -taken);
        taken = 0;
      },
      tooLong: (limit) => metLimit('body-size', 0, tooLong(limit)),
    };
  };
}

/**
 * Reads the whole body. Throws 413 beyond `limit` bytes, 400 if the client stops half-way, 408 after `timeMs`, 503 if
 * the memory budget for bodies is used up, and what `recheck` and `guard` throw once the body is there.
 */
export async function readBody(
  { stream, memory, recheck, guard }: WithBody, limit: number, timeMs = BODY_TIME,
): Promise<Buffer> {
  if (Number(stream.headers['content-length'] ?? 0) > limit) throw tooLarge(limit, memory);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const stopGathering = gather(stream, { limit, memory }, resolve, reject);
  await null; // lets Node first parse a short body that came together with the request's headers
  const timer = stream.complete ? undefined : setTimeout(() => reject(tooSlow()), timeMs);
  try {
    const body = await promise;
    clearTimeout(timer);
    await ownTurn();
    recheck?.();
    guard?.();
    return body;
  } finally {
    clearTimeout(timer);
    stopGathering();
  }
}

type Settle<Value> = (value: Value) => void;

function gather(
  stream: IncomingMessage, { limit, memory }: { limit: number; memory: BodyShare | undefined }, done: Settle<Buffer>,
  fail: Settle<unknown>,
): () => void {
  const chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > limit) return fail(tooLarge(limit, memory));
    try {
      memory?.take(chunk.length + PIECE);
      chunks.push(chunk);
    } catch (error) {
      fail(error);
    }
  };
  const onEnd = (): void => {
    stop(); // removes the error listener of `close`, because a request closes after a complete body, too
    done(Buffer.concat(chunks));
  };
  const onBreak = (): void => fail(new HttpError(400, 'The request ended before its body was complete.'));
  const stop = (): void => {
    stream.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak);
  };
  if (stream.destroyed) onBreak();
  stream.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak);
  return stop;
}

/** Reads a JSON object; {} if neither body nor Content-Type came. Throws 415 for another type, 400 for no object. */
export async function readJson(request: WithBody, limit = limitFor(request, JSON_LIMIT)): Promise<JsonObject> {
  if (hasNoBody(request)) return {};
  requireMediaType(request, 'application/json');
  const value = parseJson(await readBody(request, limit));
  if (!isJsonObject(value)) throw new HttpError(400, 'The body must be a JSON object.');
  return value;
}

/** Neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of an HTML form; the last of several fields with one name wins. */
export async function readForm(
  request: WithBody, limit = limitFor(request, FORM_LIMIT),
): Promise<Record<string, string>> {
  return Object.fromEntries(await readFields(request, limit));
}

/** The fields of an HTML form, with all values of repeated fields. */
export async function readFields(
  request: WithBody, limit = limitFor(request, FORM_LIMIT),
): Promise<URLSearchParams> {
  requireMediaType(request, 'application/x-www-form-urlencoded');
  return new URLSearchParams((await readBody(request, limit)).toString('utf8'));
}

function limitFor({ viewer }: WithBody, ofMembers: number): number {
  return viewer === null ? LIMIT_OF_ANYBODY : ofMembers;
}

function hasNoBody({ stream: { headers } }: WithBody): boolean {
  const isEmpty = headers['transfer-encoding'] === undefined && !Number(headers['content-length']);
  return isEmpty && headers['content-type'] === undefined;
}

function requireMediaType({ stream }: WithBody, wanted: string): void {
  if (essenceOf(stream.headers['content-type']) === wanted) return;
  throw new HttpError(415, `The body must be ${wanted}.`, { headers: { accept: wanted } });
}

function tooSlow(): HttpError {
  return new HttpError(408, 'The body took too long to arrive.', { headers: { connection: 'close' } });
}

function tooLarge(limit: number, memory: BodyShare | undefined): HttpError {
  return memory?.tooLong(limit) ?? new HttpError(413, tooLong(limit));
}

function tooLong(limit: number): string {
  return `The body may have at most ${limit} bytes.`;
}

/** A body of more than FREE_PIECES pieces must have at least MIN_AVERAGE_BYTES per piece, on average. */
const FREE_PIECES = 256;
const MIN_AVERAGE_BYTES = 32;

/**
 * A request class that cuts the connection when a body comes in very many tiny pieces. Node makes a buffer for each
 * chunk, even for one byte: one read of a socket can then take 10 ms, and 16 KiB of read-ahead take 4 MiB.
 */
export function requestsInLargePieces(onCut: () => void): typeof http.IncomingMessage {
  return class extends http.IncomingMessage {
    pieces = 0;
    bytes = 0;

    override push(piece: Buffer | null): boolean {
      if (this.destroyed) return false;
      this.pieces += 1;
      this.bytes += piece?.length ?? 0;
      const mayGoOn = this.pieces <= FREE_PIECES || this.bytes >= this.pieces * MIN_AVERAGE_BYTES;
      if (piece === null || mayGoOn) return super.push(piece);
      onCut();
      this.destroy();
      return false;
    }
  };
}
