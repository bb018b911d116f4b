import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** node bare-http-peer.ts <file>: a bare node:http server that answers everything with the same headers and bytes. */
const { headers, body } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as { headers: string[]; body: string };
const bytes = Buffer.from(body);

const server = createServer((_req, res) => {
  res.writeHead(200, headers);
  res.end(bytes);
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));
