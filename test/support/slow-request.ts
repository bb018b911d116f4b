import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { cookieOf, type Client } from './client.ts';
import type { Hub } from './hub.ts';

type SlowAnswer = { status: number | undefined; text: string };

/** What proves who is asking: an API token, or a browser with its session. */
export type Proof = string | Client;

/** A request that the hub has taken up, and that waits for its body: JSON, unless the headers say otherwise. */
export async function begin(
  hub: Pick<Hub, 'address'>, method: string, path: string, proof: Proof, also: Record<string, string> = {},
): Promise<ClientRequest> {
  const headers = { ...proving(proof), 'content-type': 'application/json', expect: '100-continue', ...also };
  const begun = request(hub.address + path, { method, headers });
  begun.flushHeaders();
  await once(begun, 'continue');
  // Node says that before the request has its turn. One sender's requests begin in the order in which they came.
  await fetch(`${hub.address}/api/nothing`, { headers: proving(proof) });
  return begun;
}

/** Sends the body, as it is or an object as JSON, and waits for the answer. */
export async function end(begun: ClientRequest, body: object | string): Promise<SlowAnswer> {
  begun.end(typeof body === 'string' ? body : JSON.stringify(body));
  const [response] = await once(begun, 'response') as [IncomingMessage];
  return { status: response.statusCode, text: Buffer.concat(await response.toArray()).toString() };
}

function proving(proof: Proof): Record<string, string> {
  if (typeof proof === 'string') return { authorization: `Bearer ${proof}` };
  return { cookie: cookieOf(proof), 'sec-fetch-site': 'same-origin' };
}
