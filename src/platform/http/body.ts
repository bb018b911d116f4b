import type { IncomingMessage } from 'node:http';
import { MINUTE } from '../clock.ts';
import { essenceOf } from './headers.ts';
import { HttpError } from './reply.ts';

const JSON_LIMIT = 1024 * 1024;
const FORM_LIMIT = 1024 * 1024;

/** A body that is kept in memory may take so long to come; files have the server's own, longer limit. */
const BODY_TIME = MINUTE;

export type JsonObject = Record<string, unknown>;

/** `recheck`: called once the body is there, which may be long after the request came. */
type WithBody = { stream: IncomingMessage; recheck?(): void };

/**
 * The whole body, at most `limit` bytes, counted while reading: 413 for more, 400 when the client stops half-way, 408
 * when it is not there after `timeMs`; and what `recheck` throws.
 */
export async function readBody({ stream, recheck }: WithBody, limit: number, timeMs = BODY_TIME): Promise<Buffer> {
  if (Number(stream.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const stopGathering = gather(stream, limit, resolve, reject);
  await null; // a short body has come with the head, and is parsed by then
  const timer = stream.complete ? undefined : setTimeout(() => reject(tooSlow()), timeMs);
  try {
    const body = await promise;
    recheck?.();
    return body;
  } finally {
    clearTimeout(timer);
    stopGathering();
  }
}

type Settle<Value> = (value: Value) => void;

/** Gathers by events: for a small body an async iterator takes longer than all the rest. Returns a function to stop. */
function gather(stream: IncomingMessage, limit: number, done: Settle<Buffer>, fail: Settle<HttpError>): () => void {
  const chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > limit) fail(tooLarge(limit));
    else chunks.push(chunk);
  };
  const onEnd = (): void => {
    stop(); // before the stream closes, as it does after a whole body too
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

/** A JSON object; no body at all counts as an empty one. 415 for another media type, 400 for what is no JSON object. */
export async function readJson(request: WithBody, limit = JSON_LIMIT): Promise<JsonObject> {
  if (hasNoBody(request)) return {};
  requireMediaType(request, 'application/json');
  const body = await readBody(request, limit);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new HttpError(400, 'The body is not valid JSON.');
  }
  if (!isJsonObject(value)) throw new HttpError(400, 'The body must be a JSON object.');
  return value;
}

/** Whether a JSON value is an object, not null and no list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of an HTML form; the last of several with one name wins. */
export async function readForm(request: WithBody, limit = FORM_LIMIT): Promise<Record<string, string>> {
  requireMediaType(request, 'application/x-www-form-urlencoded');
  const body = await readBody(request, limit);
  return Object.fromEntries(new URLSearchParams(body.toString('utf8')));
}

function hasNoBody({ stream: { headers } }: WithBody): boolean {
  const isEmpty = headers['transfer-encoding'] === undefined && !Number(headers['content-length']);
  return isEmpty && headers['content-type'] === undefined;
}

function requireMediaType({ stream }: WithBody, wanted: string): void {
  if (essenceOf(stream.headers['content-type']) === wanted) return;
  throw new HttpError(415, `The body must be ${wanted}.`, { headers: { accept: wanted } });
}

/** Closes the connection, which a slow sender would otherwise occupy. */
function tooSlow(): HttpError {
  return new HttpError(408, 'The body took too long to arrive.', { headers: { connection: 'close' } });
}

function tooLarge(limit: number): HttpError {
  return new HttpError(413, `The body may have at most ${limit} bytes.`);
}
