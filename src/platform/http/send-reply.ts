import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { discardRest } from './discard-rest.ts';
import { compressIfFree, gzipped } from './gzip-stream.ts';
import { entityTag, essenceOf, matchesEntityTag, readWeights } from './headers.ts';
import type { FileSlice, RenderedReply, ReplyHeaders } from './reply.ts';
import type { CachedResponse } from './response-cache.ts';
import { closeBody, sendFile } from './send-file.ts';

/**
 * Sends a reply and resolves to the status sent. Discards up to `discard` bytes of the request's body. A `no-store`
 * reply may show a secret, so it is not compressed: the length would reveal whether text chosen by an attacker repeats
 * part of the secret (BREACH). A body made while it is sent is compressed if its handler says what in it is `secret`.
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
  if (had) {
    const kept = had.headers.filter((_, index) => !OF_THE_BODY.has(had.headers[index - (index % 2)] ?? ''));
    return finish(res, 304, [...kept, ...extra], undefined);
  }
  return finish(res, cached.status, [...wanted.headers, ...extra], bodyFor(req, wanted.body));
}

function wantsGzip(req: IncomingMessage): boolean {
  return acceptsGzip(req.headers['accept-encoding']?.toString());
}

function flatten(headers: Record<string, string | string[]>): string[] {
  const flat: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') flat.push(name, value);
    else for (const one of value) flat.push(name, one);
  }
  return flat;
}

function finish(res: ServerResponse, status: number, headers: string[], body: Buffer | undefined): number {
  res.writeHead(status, headers);
  res.end(body);
  return status;
}

async function sendLong(
  req: IncomingMessage, res: ServerResponse, reply: RenderedReply, headers: string[], body: Readable | FileSlice,
): Promise<number> {
  const { secret } = reply;
  const isOpen = body instanceof Readable && secret !== undefined && isCompressibleText(reply.headers);
  if (isOpen) headers.push('vary', 'Accept-Encoding');
  const isPacked = isOpen && wantsGzip(req);
  if (isPacked) headers.push('content-encoding', 'gzip');
  res.writeHead(reply.status, headers);
  if (req.method === 'HEAD') res.end();
  else if (!(body instanceof Readable)) await sendFile(res, body).catch(() => res.destroy());
  else await (isPacked ? pipeline(body, pack(secret), res) : pipeline(body, res)).catch(() => res.destroy());
  await closeBody(body); // pipeline leaves the body open if the client has already disconnected
  return reply.status;
}

function bodyFor<Body>(req: IncomingMessage, body: Body): Body | undefined {
  return req.method === 'HEAD' ? undefined : body;
}

const OF_THE_BODY = new Set(['content-length', 'content-encoding']);

const compress = promisify(gzip);

function pack(secret: RegExp | null) {
  return (chunks: AsyncIterable<string>): AsyncGenerator<Buffer> => gzipped(chunks, secret);
}

/** Bytes. Compressing texts below SHORTEST saves nothing; texts above LONGEST would keep a thread busy for 25 ms. */
const SHORTEST = 1024;
const LONGEST = 1024 * 1024;

const COMPRESSIBLE =
  /^(?:text\/[a-z-]+|application\/(?:json|xml|x-ndjson)|(?:application|image)\/[a-z0-9.-]+\+(?:json|xml))$/;

function isCompressible(headers: ReplyHeaders, body: Buffer): boolean {
  return isCompressibleText(headers) && body.length >= SHORTEST && body.length <= LONGEST;
}

function isCompressibleText({ 'content-type': type, 'content-encoding': encoding }: ReplyHeaders): boolean {
  return typeof type === 'string' && COMPRESSIBLE.test(essenceOf(type)) && encoding === undefined;
}

/** Adds the gzip form to a compressible response, unless too many compressions are under way or it saves nothing. */
export async function withCompressed(response: CachedResponse): Promise<CachedResponse> {
  const body = response.isCompressible ? await compressIfFree(() => compress(response.body)) : undefined;
  if (!body || body.length >= response.body.length) return response;
  const etag = response.etag.replace(/"$/, '-gzip"'); // plain and gzip need different ETags (RFC 9110 §8.8.3.3)
  const headers = response.headers.map((value, index) => {
    const name = response.headers[index - 1];
    return name === 'etag' ? etag : name === 'content-length' ? String(body.length) : value;
  });
  return { ...response, compressed: { headers: [...headers, 'content-encoding', 'gzip'], body, etag } };
}

/** Whether an Accept-Encoding header wants gzip at least as much as no encoding (RFC 9110 §12.5.3). */
export function acceptsGzip(header = ''): boolean {
  const weights = readWeights(header);
  const weight = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0;
  return weight > 0 && weight >= (weights.get('identity') ?? 0);
}
