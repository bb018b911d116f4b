import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { createBridgeServer } from '../../src/app/clamd-bridge/bridge-server.ts';
import { closeServer } from '../../src/platform/http/connections.ts';
import { createLog } from '../../src/platform/log.ts';
import { createClamdClient, type ClamdOptions } from '../../src/platform/net/clamd-client.ts';

type Body = string | Buffer | ReadableStream;
type Answer = { status: number; type: string | null; body: Record<string, unknown> };
type Post = (body: Body, headers?: Record<string, string>) => Promise<Answer>;

type Bridge = { url: string; server: Server; log(): string; post: Post };
type BridgeSettings = Omit<ClamdOptions, 'maxBytes'> & { maxBytes?: number };

/** The bridge in this process, in front of that clamd; files of up to 1 MiB unless told otherwise. */
export async function startBridge(t: TestContext, settings: BridgeSettings): Promise<Bridge> {
  const { maxBytes = 1024 * 1024 } = settings;
  let written = '';
  const log = createLog('clamd-bridge', 'info', Date.now, (text) => (written += text));
  const server = createBridgeServer({ clamd: createClamdClient({ ...settings, maxBytes }), maxBytes, log });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => closeServer(server, 0));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, server, log: () => (log.flush(), written), post: (body, headers) => postTo(url, body, headers) };
}

/** Has a bridge scan these bytes. */
export async function postTo(url: string, body: Body, headers: Record<string, string> = {}): Promise<Answer> {
  const type = { 'content-type': 'application/octet-stream' };
  const init = { method: 'POST', body, headers: { ...type, ...headers }, duplex: 'half' };
  const response = await fetch(`${url}/scan`, init as RequestInit);
  const text = await response.text();
  return { status: response.status, type: response.headers.get('content-type'), body: JSON.parse(text) };
}

/** 503 with that reason, and nothing that could be read as a verdict. */
export function assertNotScanned(answer: Answer, reason: RegExp): void {
  assert.equal(answer.status, 503);
  assert.equal(answer.type, 'application/problem+json');
  assert.equal(answer.body['clean'], undefined);
  assert.match(String(answer.body['detail']), reason);
}

export async function healthOf({ url }: Bridge): Promise<number> {
  return (await fetch(`${url}/health`)).status;
}

/** Open connections to the bridge. */
export function connectionsTo({ server }: Bridge): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}
