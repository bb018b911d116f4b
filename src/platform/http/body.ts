import type { IncomingMessage } from 'node:http';
import { MINUTE } from '../clock.ts';
import { HttpError } from './problem.ts';

const JSON_LIMIT = 1024 * 1024;
const FORM_LIMIT = 1024 * 1024;

/** A body that is kept in memory may take so long to come; files have the server's own, longer limit. */
const BODY_TIME = MINUTE;

type WithBody = { stream: IncomingMessage };

/**
 * The whole body, at most `limit` bytes, counted while reading: 413 for more, 400 when the client stops half-way, 408
 * when it is not there after `timeMs`.
 */
export async function readBody({ stream }: WithBody, limit: number, timeMs = BODY_TIME): Promise<Buffer> {
  if (Number(stream.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooSlow()), timeMs);
  try {
    return await Promise.race([gather(stream, limit), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function gather(stream: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length;
      if (size > limit) throw tooLarge(limit);
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, 'The request ended before its body was complete.');
  }
  return Buffer.concat(chunks);
}

/** A JSON object; no body at all counts as an empty one. 415 for another media type, 400 for what is no JSON object. */
export async function readJson(request: WithBody): Promise<Record<string, unknown>> {
  if (hasNoBody(request)) return {};
  requireMediaType(request, 'application/json');
  const body = await readBody(request, JSON_LIMIT);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new HttpError(400, 'The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new HttpError(400, 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
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
  const sent = (stream.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (sent !== wanted) throw new HttpError(415, `The body must be ${wanted}.`, { headers: { accept: wanted } });
}

/** The connection is closed with it: whoever sends on slowly would hold it. */
function tooSlow(): HttpError {
  return new HttpError(408, 'The body took too long to come.', { headers: { connection: 'close' } });
}

function tooLarge(limit: number): HttpError {
  return new HttpError(413, `The body may have at most ${limit} bytes.`);
}
