import Database from 'better-sqlite3';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, readFileSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';

/** node bare-peers.ts <name> [path]: servers of node:http that do the least of what the hub does, beside it. */
const PEERS: Record<string, (path: string) => RequestListener | Promise<RequestListener>> = {
  /** The least that a web process over SQLite can be: an open database and a server. */
  empty(path) {
    const db = new Database(path);
    db.pragma('journal_mode = WAL');
    const one = db.prepare<[], { one: number }>('SELECT 1 AS one');
    return (_req, res) => res.end(JSON.stringify({ ok: one.get()?.one === 1 }));
  },
  /** Answers everything with the same headers and bytes, which the file has. */
  same(path) {
    const { headers, body } = JSON.parse(readFileSync(path, 'utf8')) as { headers: string[]; body: string };
    const bytes = Buffer.from(body);
    return (_req, res) => res.writeHead(200, headers).end(bytes);
  },
  /** Pipes one file to whoever asks. */
  file: (path) => (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/pdf', 'content-length': statSync(path).size });
    createReadStream(path).pipe(res);
  },
  /** Answers a page of 8 kB, takes all events, and refuses those to webhook 999999 before their bodies. */
  refusing() {
    const page = Buffer.alloc(8_192, 'x');
    return (req, res) => {
      if (req.method === 'GET') return void res.writeHead(200).end(page);
      if (req.url?.endsWith('/999999')) return void res.writeHead(404).end('{}');
      req.resume().once('end', () => res.writeHead(202).end('{}'));
    };
  },
  upload: takeUploads,
};

type Busboy = NodeJS.WritableStream & {
  on(event: 'file', listener: (field: string, stream: NodeJS.ReadableStream) => void): Busboy;
};

/** Takes files as most do: busboy, createHash and a file stream; not synced. */
async function takeUploads(folder: string): Promise<RequestListener> {
  const { default: busboy } = await import('busboy' as string) as { default: (options: object) => Busboy };
  let count = 0;
  return (req, res) => {
    const parser = busboy({ headers: req.headers });
    const files: Promise<string>[] = [];
    parser.on('file', (_field, stream) => {
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
  };
}

const [name = '', path = ''] = process.argv.slice(2);
const server = createServer(await PEERS[name]?.(path));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));
