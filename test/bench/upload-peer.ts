import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
// @ts-expect-error the peers of the benchmarks come without types
import busboy from 'busboy';

/** node upload-peer.ts <folder>: takes files as most do: busboy, createHash and a file stream; not synced. */
const folder = process.argv[2] ?? '';
let count = 0;

const server = createServer((req, res) => {
  const parser = busboy({ headers: req.headers });
  const files: Promise<string>[] = [];
  parser.on('file', (_field: string, stream: NodeJS.ReadableStream) => {
    const hash = createHash('sha256');
    stream.on('data', (chunk) => hash.update(chunk as Buffer));
    const target = createWriteStream(join(folder, `file-${++count}`));
    files.push(finished(stream.pipe(target)).then(() => hash.digest('hex')));
  });
  parser.on('close', async () => {
    res.writeHead(201, { 'content-type': 'application/json' });
    res.end(JSON.stringify(await Promise.all(files)));
  });
  req.pipe(parser);
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));
