import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';

/** Names and values in turn, as Node's `rawHeaders`. */
export type RawHeaders = string[];

export type SignedEvent = { rawHeaders: RawHeaders; body: Buffer };

const DELIVERY = '72d3162e-cc78-11e3-81ab-4c9367dc0958';

type Standard = { id?: string; timestamp?: number | string; body?: string | Buffer };

/** An event signed as Standard Webhooks asks, in seconds, written without the hub's own code. */
export function standardEvent(
  secret: string, { id = 'msg_1', timestamp = 1_800_000_000, body = '{}' }: Standard = {},
): SignedEvent {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return {
    rawHeaders: standardHeaders(id, String(timestamp), `v1,${signature}`),
    body: Buffer.from(body),
  };
}

export function standardHeaders(id: string, timestamp: string, signature: string): RawHeaders {
  return ['Webhook-Id', id, 'webhook-timestamp', timestamp, 'Webhook-Signature', signature];
}

/** An event signed as GitHub does. */
export function githubEvent(secret: string, body: string | Buffer = '{}', id = DELIVERY): SignedEvent {
  const hex = createHmac('sha256', secret).update(body).digest('hex');
  return { rawHeaders: githubHeaders(id, `sha256=${hex}`), body: Buffer.from(body) };
}

export function githubHeaders(id: string, signature: string): RawHeaders {
  return ['X-GitHub-Delivery', id, 'X-Hub-Signature-256', signature];
}

/** The headers with one value changed; the name is compared without case. */
export function withHeader(headers: RawHeaders, name: string, change: (value: string) => string): RawHeaders {
  return headers.map((text, index) => {
    const isValue = index % 2 === 1 && headers[index - 1]?.toLowerCase() === name;
    return isValue ? change(text) : text;
  });
}

/** Changes one thing that is signed or that signs; the id of GitHub's form is not signed. */
export function mutate({ rawHeaders, body }: SignedEvent, below: (limit: number) => number): SignedEvent {
  const headers = [...rawHeaders];
  const header = headers.length === 6 ? 2 * below(3) : 2;
  const value = headers[header + 1] ?? '';
  const at = below(value.length);
  const other = (not: string): string => {
    const char = String.fromCharCode(33 + below(94));
    return char === not ? (char === 'x' ? 'y' : 'x') : char;
  };
  const kinds: (() => SignedEvent)[] = [
    () => ({ rawHeaders: headers.toSpliced(header + 1, 1, value.slice(0, at) + other(value[at] ?? '') + value.slice(at + 1)), body }),
    () => ({ rawHeaders: headers.toSpliced(header + 1, 1, value.slice(0, at) + value.slice(at + 1)), body }),
    () => ({ rawHeaders: headers.toSpliced(header + 1, 1, value.slice(0, at) + other('') + value.slice(at)), body }),
    () => ({ rawHeaders: headers.toSpliced(header + 1, 1, value.slice(0, at)), body }),
    () => ({ rawHeaders: headers.toSpliced(header, 2), body }),
    () => ({ rawHeaders: [...headers, headers[header] ?? '', value], body }),
    () => ({ rawHeaders: [...headers, ...githubHeaders('1', `sha256=${'0'.repeat(64)}`)], body }),
    () => ({ rawHeaders: headers, body: Buffer.concat([body.subarray(0, at), Buffer.from(' '), body.subarray(at)]) }),
    () => ({ rawHeaders: headers, body: body.subarray(0, below(body.length)) }),
    () => {
      const flipped = Buffer.from(body);
      const place = below(body.length);
      flipped[place] = (flipped[place] ?? 0) ^ (1 << below(8));
      return { rawHeaders: headers, body: flipped };
    },
  ];
  return kinds[below(kinds.length)]?.() ?? assert.fail();
}
