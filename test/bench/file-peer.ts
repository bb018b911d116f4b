import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** node file-peer.ts <file>: node:http that pipes one file to whoever asks. */
const file = process.argv[2] ?? '';

const server = createServer((_req, res) => {
  res.writeHead(200, { 'content-type': 'application/pdf', 'content-length': statSync(file).size });
  createReadStream(file).pipe(res);
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));
