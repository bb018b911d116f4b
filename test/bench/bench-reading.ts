import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { benchFolder, newHub } from './bench-hub.ts';
import { benchReadingLists } from './bench-reading-lists.ts';
import { benchReadingPages } from './bench-reading-pages.ts';
import { alternate, moreRow, type BenchRow } from './bench-row.ts';
import { load, startPeer, startWeb, type RunningServer } from './bench-servers.ts';
import { fillReadingLists } from './reading-readers.ts';
import { OWN_HEADERS } from './record-pages.ts';

const POSTS = 100_000;
const ROUNDS = 5;
const ROUND_MS = 1_500;

/**
 * Answers per second of `GET /api/posts` and of the timeline page with 100,000 posts, hot, over 16 kept-alive
 * connections: the hub's web process beside a bare node:http server that sends the same headers and bytes, and beside
 * Fastify doing the same query and JSON. The rounds alternate; the medians are compared. And what members' pages and lists take.
 */
export async function* benchReading(posts = POSTS): AsyncGenerator<BenchRow> {
  using folder = benchFolder('reading');
  const ofMembers = join(folder.path, 'members');
  mkdirSync(ofMembers);
  await fillReadingLists(join(ofMembers, 'hub.db'));
  fill(join(folder.path, 'hub.db'), posts);
  await using hub = await startWeb(folder.path);
  await using fastify = await startPeer('fastify-peer.ts', [join(folder.path, 'hub.db')]);
  await using bareApi = await startPeer('bare-peers.ts', ['same', await capture(hub, '/api/posts', folder.path)]);
  await using barePage = await startPeer('bare-peers.ts', ['same', await capture(hub, '/', folder.path)]);
  yield row('GET /api/posts', '>= 0.7', await compare([hub, bareApi], '/api/posts'), 'bare node:http, same bytes');
  yield row('timeline page', '>= 0.7', await compare([hub, barePage], '/'), 'bare node:http, same bytes');
  yield row('GET /api/posts', '>= 2', await compare([hub, fastify], '/api/posts'), 'Fastify + better-sqlite3');
  yield* benchReadingPages(ofMembers);
  yield* benchReadingLists(join(ofMembers, 'hub.db'));
}

function row(what: string, want: string, [ours = NaN, peerFigure = NaN]: number[], peer: string): BenchRow {
  const name = `${what}, ${POSTS.toLocaleString('en')} posts`;
  return moreRow({ name, ours, peer, peerFigure, unit: 'answers/s', want });
}

function compare(servers: RunningServer[], path: string): Promise<number[]> {
  return alternate(servers.map((server) => () => load(server, path, ROUND_MS)), ROUNDS);
}

/** One answer of the hub as a file from which the bare server gives it again. */
async function capture(hub: RunningServer, path: string, folder: string): Promise<string> {
  const asked = { headers: { 'accept-encoding': 'identity' } }; // as the load client asks
  const response = await fetch(`http://127.0.0.1:${hub.port}${path}`, asked);
  const body = await response.text();
  const headers = [...response.headers].filter(([name]) => !OWN_HEADERS.has(name)).flat();
  const file = join(folder, `${path.replaceAll('/', '_')}.json`);
  writeFileSync(file, JSON.stringify({ headers, body }));
  return file;
}

function fill(path: string, posts: number): void {
  const db = newHub(path);
  db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
      INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at) SELECT i, 1, 'feed', 'Source ' || i, 0, 0 FROM n;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${posts})
      INSERT INTO posts (source_id, owner_id, guid, is_public, title, url, author, content_html, summary, content_hash,
                         published_at, updated_at, created_at)
      SELECT 1 + i % 100, 1, i, 1, 'Title of post ' || i, 'https://example.org/' || i, 'Author ' || (i % 50),
             '<p>' || substr(hex(zeroblob(400)), 1, 600) || '</p>', substr(hex(zeroblob(150)), 1, 280), i,
             1700000000000 + i * 60000, 1700000000000 + i * 60000, 0 FROM n;
    PRAGMA optimize;`);
  db.close();
}
