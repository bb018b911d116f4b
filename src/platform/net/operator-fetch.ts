import { codeOf } from '../error-code.ts';

type OperatorRequest = {
  method?: 'GET' | 'POST'; // GET when absent
  headers: Record<string, string>;
  body?: string | ReadableStream<Uint8Array>;
  signal: AbortSignal;
};

/**
 * Sends a request to an address of the operator, which may be private. Node loads its HTTP client for `fetch` at the
 * first call: 4 to 5 MiB. A user name and password become Basic authorization (RFC 7617): fetch refuses such addresses,
 * and quotes them. Redirects are not followed.
 */
export function fetchFromOperator(
  address: URL, { method = 'GET', headers, body, signal }: OperatorRequest,
): Promise<Response> {
  const url = new URL(address);
  const pair = `${percentDecoded(url.username)}:${percentDecoded(url.password)}`;
  const basic = pair === ':' ? {} : { 'Authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
  [url.username, url.password] = ['', ''];
  return fetch(url, {
    method,
    headers: { ...headers, ...basic, 'Accept-Encoding': 'identity', 'Connection': 'close' },
    ...(body !== undefined && { body }),
    duplex: 'half',
    redirect: 'manual',
    signal,
  });
}

/** Reads up to `limit` bytes of an answer's body. `isWhole`: false if there is more, or the body broke off. */
export async function readAnswer(response: Response, limit: number): Promise<{ body: string; isWhole: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let isBroken = false;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limit) break;
    }
  } catch {
    isBroken = true;
  }
  const body = Buffer.concat(chunks).subarray(0, limit).toString('utf8');
  return { body, isWhole: !isBroken && size <= limit };
}

/** Why a fetch failed. Leaves out the messages of errors, some of which contain the whole address. */
export function fetchFailure(error: unknown, host: string): string {
  const cause = error instanceof Error ? error.cause ?? error : error;
  if (codeOf(cause) === 'UND_ERR_SOCKET') return `${host} closed the connection without an answer`;
  if (cause instanceof Error && cause.name === 'HTTPParserError') return `${host} did not answer in valid HTTP`;
  return `the exchange with ${host} failed (${codeOf(cause) ?? 'unknown error'})`;
}

export function percentDecoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that begins no encoded character
  }
}
