import Database from 'better-sqlite3';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** node empty-peer.ts <file>: the least that a web process over SQLite can be: an open database and a server. */
const db = new Database(process.argv[2] ?? '');
db.pragma('journal_mode = WAL');
const one = db.prepare<[], { one: number }>('SELECT 1 AS one');

const server = createServer((_req, res) => res.end(JSON.stringify({ ok: one.get()?.one === 1 })));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));
