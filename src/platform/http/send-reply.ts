import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { acceptsGzip, isCompressible, withCompressed } from './compress-answer.ts';
import { entityTag, matchesEntityTag } from './headers.ts';
import type { FileSlice, RenderedReply, ReplyHeaders } from './reply.ts';
import type { CachedResponse } from './response-cache.ts';
import { discardRest } from './discard-rest.ts';
import { closeBody, sendFile } from './send-file.ts';

/**
 * Sends a reply and resolves to the status sent. A text that clients may store gets an entity tag, or 304 if the client
 * has the text already. A client that disconnects during a stream is not an error. The rest of the request's body is
 * read and discarded, up to `discard` bytes. A `no-store` reply may show a secret, so it is not compressed: the
 * compressed length would reveal whether text chosen by an attacker repeats part of the secret (BREACH).
 */
export async function sendReply(
  req: IncomingMessage, res: ServerResponse, reply: RenderedReply, discard: number,
): Promise<number> {
  discardRest(req, discard);
  const { status, body } = reply;
  const headers = flatten(reply.headers);
  if (body === null) return finish(res, status, headers, undefined);
  if (body instanceof Readable || 'fd' in body) return sendLong(req, res, reply, headers, body);
  const isStorable = status === 200 && reply.headers['cache-control'] !== 'no-store';
  if (isStorable) {
    const response = toCached(status, reply.headers, body);
    return sendCached(req, res, wantsGzip(req) ? await withCompressed(response) : response, []);
  }
  headers.push('content-length', String(body.length));
  return finish(res, status, headers, bodyFor(req, body));
}

/** Turns a text reply into a response that can be sent again. */
export function toCached(status: number, headers: ReplyHeaders, body: Buffer): CachedResponse {
  const etag = entityTag(body);
  const mayDiffer = isCompressible(headers, body);
  const vary = mayDiffer ? [headers['vary'] ?? [], 'Accept-Encoding'].flat().join(', ') : headers['vary'];
  const all = flatten({ ...headers, ...(vary && { vary }), etag, 'content-length': String(body.length) });
  return { status, headers: all, body, etag, isCompressible: mayDiffer };
}

/** Sends a cached response, or 304 if the client has the response already. `extra`: further headers. */
export function sendCached(req: IncomingMessage, res: ServerResponse, cached: CachedResponse, extra: string[]): number {
  const { compressed } = cached;
  const wanted = compressed && wantsGzip(req) ? compressed : cached;
  const named = req.headers['if-none-match'];
  const had = named && [wanted, cached, compressed].find((form) => form && matchesEntityTag(named, form.etag));
  if (had) return finish(res, 304, [...withoutLength(had.headers), ...extra], undefined);
  return finish(res, cached.status, [...wanted.headers, ...extra], bodyFor(req, wanted.body));
}

function wantsGzip(req: IncomingMessage): boolean {
  return acceptsGzip(req.headers['accept-encoding']?.toString());
}

/** Header names and values in one flat list, as `writeHead` takes them. */
function flatten(headers: Record<string, string | string[]>): string[] {
  const flat: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') flat.push(name, value);
    else for (const one of value) flat.push(name, one);
  }
  return flat;
}

/** Sends a text together with its headers, in one write. */
function finish(res: ServerResponse, status: number, headers: string[], body: Buffer | undefined): number {
  res.writeHead(status, headers);
  res.end(body);
  return status;
}

/** Sends a stream or part of a file; sends only the headers of the reply to HEAD. */
async function sendLong(
  req: IncomingMessage, res: ServerResponse, reply: RenderedReply, headers: string[], body: Readable | FileSlice,
): Promise<number> {
  res.writeHead(reply.status, headers);
  if (req.method === 'HEAD') res.end();
  else await (body instanceof Readable ? pipeline(body, res) : sendFile(res, body)).catch(() => res.destroy());
  await closeBody(body); // pipeline leaves the body open if the client has already disconnected
  return reply.status;
}

function bodyFor<Body>(req: IncomingMessage, body: Body): Body | undefined {
  return req.method === 'HEAD' ? undefined : body;
}

function withoutLength(headers: string[]): string[] {
  return headers.filter((_, index) => !OF_THE_BODY.has(headers[index - (index % 2)] ?? ''));
}

/** Headers that a response without a body must not have. */
const OF_THE_BODY = new Set(['content-length', 'content-encoding']);
