import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * node refusing-peer.ts: a bare node:http server for the probe of fairness. It answers a page of 8 kB, takes events
 * whatever they say, and refuses those to webhook 999999 before their bodies, as the hub does.
 */
const PAGE = Buffer.alloc(8_192, 'x');

const server = createServer((req, res) => {
  if (req.method === 'GET') return void res.writeHead(200).end(PAGE);
  if (req.url?.endsWith('/999999')) return void res.writeHead(404).end('{}');
  req.resume().once('end', () => res.writeHead(202).end('{}'));
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));
