import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { essenceOf, readWeights } from './headers.ts';
import type { ReplyHeaders } from './reply.ts';
import type { CachedResponse } from './response-cache.ts';

const compress = promisify(gzip);

/** Bytes. Compressing texts below SHORTEST saves nothing; texts above LONGEST would keep a thread busy for 25 ms. */
const SHORTEST = 1024;
const LONGEST = 1024 * 1024;

/** The most compressions at a time: each takes 256 KiB and a thread of the pool that also reads files. */
const AT_ONCE = 32;

const TEXT = /^(?:text\/[a-z-]+|application\/(?:json|xml)|(?:application|image)\/[a-z0-9.-]+\+(?:json|xml))$/;

let underWay = 0;

/** Whether an answer is text of a length worth compressing. */
export function isCompressible(headers: ReplyHeaders, body: Buffer): boolean {
  const type = headers['content-type'];
  const isText = typeof type === 'string' && TEXT.test(essenceOf(type));
  return isText && body.length >= SHORTEST && body.length <= LONGEST && headers['content-encoding'] === undefined;
}

/** Adds the gzip form to a response, unless too many compressions are in progress or gzip saves nothing. */
export async function withCompressed(response: CachedResponse): Promise<CachedResponse> {
  if (!response.isCompressible || underWay >= AT_ONCE) return response;
  underWay++;
  try {
    const body = await compress(response.body);
    if (body.length >= response.body.length) return response;
    const etag = response.etag.replace(/"$/, '-gzip"'); // plain and gzip need different ETags (RFC 9110 §8.8.3.3)
    const headers = response.headers.map((value, index) => {
      const name = response.headers[index - 1];
      return name === 'etag' ? etag : name === 'content-length' ? String(body.length) : value;
    });
    return { ...response, compressed: { headers: [...headers, 'content-encoding', 'gzip'], body, etag } };
  } finally {
    underWay--;
  }
}

/** Whether an Accept-Encoding header accepts gzip. */
export function acceptsGzip(header = ''): boolean {
  const weights = readWeights(header);
  const weight = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0;
  return weight > 0 && weight >= (weights.get('identity') ?? 0);
}
