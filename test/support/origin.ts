import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

export type OriginRequest = { method: string; path: string; headers: IncomingHttpHeaders; body: Buffer };
export type OriginHandler = (request: OriginRequest, response: ServerResponse) => void;

/** One handler for everything, or one per path (query included); other paths answer 404. May be changed meanwhile. */
type OriginRoutes = OriginHandler | Record<string, OriginHandler>;
type OriginOptions = { host?: '127.0.0.1' | '::1'; tls?: { key: string; cert: string } };

/** `url` has no slash at the end; `requests` grows with each request once its body has come. */
export type Origin = { url: string; port: number; requests: OriginRequest[]; close: () => Promise<void> };
type RawOrigin = { url: string; port: number; connections: () => number; close: () => Promise<void> };

/** A real server on a free loopback port that plays the remote; closed after the test with all its connections. */
export async function startOrigin(t: TestContext, routes: OriginRoutes, options: OriginOptions = {}): Promise<Origin> {
  const { host = '127.0.0.1', tls } = options;
  const requests: OriginRequest[] = [];
  const server: Server = tls ? https.createServer(tls, listener) : http.createServer(listener);
  const port = await listen(server, host);
  const close = () => closeServer(server, () => server.closeAllConnections());
  t.after(close);
  return { url: `${tls ? 'https' : 'http'}://${bracketed(host)}:${port}`, port, requests, close };

  function listener(incoming: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => {}); // the client may hang up first
    buffer(incoming).then((body) => {
      const request = { method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers, body };
      requests.push(request);
      const handler = typeof routes === 'function' ? routes : routes[request.path];
      (handler ?? reply(404, {}, 'not found'))(request, response);
    }, () => response.destroy());
  }
}

/** A bare TCP server for answers that a proper HTTP server does not give. */
export async function startRawOrigin(
  t: TestContext, onSocket: (socket: Socket) => void, host: '127.0.0.1' | '::1' = '127.0.0.1',
): Promise<RawOrigin> {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = net.createServer((socket) => {
    accepted += 1;
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
    onSocket(socket);
  });
  const port = await listen(server, host);
  const close = () => closeServer(server, () => open.forEach((socket) => socket.destroy()));
  t.after(close);
  return { url: `http://${bracketed(host)}:${port}`, port, connections: () => accepted, close };
}

/** A handler that always gives the same answer. */
export function reply(status: number, headers: Record<string, string>, body: string | Buffer = ''): OriginHandler {
  return (_request, response) => void response.writeHead(status, headers).end(body);
}

/** A raw handler that sends these bytes when the first bytes of a request have come, then ends unless told not to. */
export function rawReply(bytes: string | Buffer, { end = true } = {}): (socket: Socket) => void {
  return (socket) => void socket.once('data', () => (end ? socket.end(bytes) : socket.write(bytes)));
}

export function hasIpv6Loopback(): boolean {
  return Object.values(networkInterfaces()).flat().some((each) => each?.address === '::1');
}

async function listen(server: net.Server, host: string): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the origin has no port');
  return address.port;
}

async function closeServer(server: net.Server, cutConnections: () => void): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  cutConnections();
  await closed;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
