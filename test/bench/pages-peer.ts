import Database from 'better-sqlite3';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deserialize } from 'node:v8';
import { gzip } from 'node:zlib';
import type { RecordedPage } from './record-pages.ts';

/**
 * node pages-peer.ts <pages> [hub.db [planned]]: a bare node:http server that answers each path with the recorded
 * headers and bytes. With a database it first asks that what the hub asked for the page, and compresses the page each
 * time, as the hub must; without one it is a server of static files, compressed beforehand. With `planned` each
 * statement is planned once, as those of the hub are (`open-database.ts`).
 */
const [file = '', path, isPlanned] = process.argv.slice(2);
const pages = deserialize(readFileSync(file)) as Map<string, RecordedPage>;
const db = path === undefined ? null : new Database(path);
db?.pragma('cache_size = -16000');
db?.pragma('temp_store = MEMORY');

/** Prepares a statement; makes the temporary table of an index's terms, as the hub does, if the statement needs it. */
function prepare(database: Database.Database, sql: string): Database.Statement {
  const index = /\btemp\.terms_of_(\w+)/.exec(sql)?.[1];
  const using = `USING fts5vocab (main, ${index}, 'instance')`;
  if (index) database.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms_of_${index} ${using}`);
  return database.prepare(sql);
}

const answers = new Map([...pages].map(([target, { headers, body, compressed, calls }]) => {
  const textOf = (sql: string): string =>
    isPlanned ? sql.replace(/'[^']*'|--.*|(?=[?@])/g, (text) => text || '+') : sql;
  const work = db ? calls.map(({ sql, ...call }) => ({ statement: prepare(db, textOf(sql)), ...call })) : [];
  return [target, { headers, body, compressed, work }];
}));

const server = createServer((req, res) => {
  const answer = answers.get((req.url ?? '').replace(/[?&]round=\d+$/, ''));
  if (!answer) return void res.writeHead(404).end();
  const { headers, body, compressed, work } = answer;
  for (const { statement, kind, params, rows } of work) {
    if (kind === 'first') Iterator.from(statement.iterate(...params)).take(rows).toArray();
    else statement[kind](...params);
  }
  const send = (bytes: Buffer): void => void res.writeHead(200, headers).end(bytes);
  if (!db) return send(compressed);
  gzip(body, (error, bytes) => (error ? res.destroy() : send(bytes)));
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('SIGTERM', () => process.exit(0));
