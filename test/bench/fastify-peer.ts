import Database from 'better-sqlite3';
import type { AddressInfo } from 'node:net';

/**
 * node fastify-peer.ts <hub.db>: Fastify with better-sqlite3, doing for each request what the hub does by its SQL:
 * GET /api/posts without its kept copy; and the calls of an app's synchronisation, from account 1's follows and marks,
 * without signing in, rights, turns and limits.
 */
type Request = { query: Record<string, string>; body: URLSearchParams };
type Instance = {
  get(path: string, handler: (request: Request) => unknown): void;
  post(path: string, handler: (request: Request) => unknown): void;
  addContentTypeParser(type: string, options: object, parse: (request: unknown, body: string, done: (error: null, value: unknown) => void) => void): void;
  listen(at: object): Promise<string>;
  server: { address(): AddressInfo };
};
type Row = Record<string, string | number | null> & { id: number };

const FIRST = 10 ** 15;
const STATE = 'user/-/state/com.google/';
const { default: fastify } = (await import('fastify' as string)) as { default: (options: object) => Instance };
const db = new Database(process.argv[2] ?? '', { readonly: true });
const posts = db.prepare<[], Row>(`
  SELECT p.id, p.source_id, s.title AS source_title, s.kind, p.title, p.url, p.author, p.content_html, p.summary,
         p.published_at, p.updated_at
    FROM posts p JOIN sources s ON s.id = p.source_id
   WHERE p.is_public = 1 ORDER BY p.published_at DESC, p.id DESC LIMIT 31`);
const follows = db.prepare<[], Row>(`
  SELECT f.source_id AS id, s.title, (SELECT name FROM folders WHERE id = f.folder_id) AS folder
    FROM follows f JOIN sources s ON s.id = f.source_id WHERE f.account_id = 1`);
const unread = db.prepare<[], Row>(`
  SELECT post_id AS id FROM entries WHERE account_id = 1 AND is_unread = 1 AND muted_by IS NULL
   ORDER BY post_id DESC LIMIT 10001`);
const since = db.prepare<[number], Row>(`
  SELECT p.id FROM follows f CROSS JOIN posts p INDEXED BY posts_arrival ON p.source_id = f.source_id AND p.id >= ?
   WHERE f.account_id = 1 ORDER BY p.id DESC LIMIT 10001`);
const firstSince = db.prepare<[number], Row>('SELECT id FROM posts WHERE created_at >= ? ORDER BY id LIMIT 1');
const among = db.prepare<[string], Row>(`
  SELECT p.id, p.source_id, s.title AS source_title, f2.site_url, p.title, p.url, p.author, p.content_html, p.published_at,
         p.updated_at, p.created_at, NOT e.is_unread AS is_read, e.starred_at IS NOT NULL AS is_starred
    FROM json_each(?) j CROSS JOIN posts p ON p.id = j.value JOIN sources s ON s.id = p.source_id
    LEFT JOIN feeds f2 ON f2.source_id = s.id LEFT JOIN entries e ON e.account_id = 1 AND e.post_id = p.id`);
const attachments = db.prepare<[string], Row>(`
  SELECT id, post_id, url_key, kind, filename, media_type, bytes, sha256, remote_url FROM attachments
   WHERE post_id IN (SELECT value FROM json_each(?)) ORDER BY post_id, position`);

function filesOf(ids: unknown[]): Map<unknown, Row[]> {
  return Map.groupBy(attachments.all(JSON.stringify(ids)), (file) => file['post_id']);
}

const app = fastify({ bodyLimit: 2 ** 20 });
app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' },
  (_request, body, done) => done(null, new URLSearchParams(body)));
app.get('/api/posts', () => {
  const rows = posts.all();
  const files = filesOf(rows.map((row) => row.id));
  const items = rows.slice(0, 30).map((row) => ({
    id: row.id,
    source: { id: row['source_id'], title: row['source_title'], kind: row['kind'] },
    title: row['title'], url: row['url'], author: row['author'],
    contentHtml: row['content_html'], summary: row['summary'],
    publishedAt: new Date(Number(row['published_at'])).toISOString(),
    updatedAt: new Date(Number(row['updated_at'])).toISOString(),
    visibility: 'public',
    attachments: files.get(row.id) ?? [],
  }));
  return { items, next: String(items.at(-1)?.id) };
});
app.get('/reader/api/0/tag/list', () => ({ tags: [{ id: `${STATE}starred` }] }));
app.get('/reader/api/0/subscription/list', () => ({
  subscriptions: follows.all().map(({ id, title }) => ({ id: `feed/${id}`, title, categories: [], url: `http://hub/${id}`, htmlUrl: 'http://hub/' })),
}));
app.get('/reader/api/0/stream/items/ids', ({ query }) => {
  const from = query['ot'] === undefined ? undefined : firstSince.get(Number(query['ot']) * 1_000)?.id ?? Number.MAX_SAFE_INTEGER;
  const ids = from === undefined ? unread.all() : since.all(from);
  return { itemRefs: ids.slice(0, 10_000).map(({ id }) => ({ id: String(FIRST + id) })), ...(ids.length > 10_000 && { continuation: '1' }) };
});
app.post('/reader/api/0/stream/items/contents', ({ body }) => {
  const ids = body.getAll('i').map((id) => Number(id) - FIRST);
  const files = filesOf(ids);
  const items = among.all(JSON.stringify(ids)).map((row) => itemOf(row, files.get(row.id) ?? []));
  return { id: `${STATE}reading-list`, updated: Math.floor(Date.now() / 1_000), items };
});

function itemOf(row: Row, files: Row[]) {
  return {
    id: `tag:google.com,2005:reader/item/${(FIRST + row.id).toString(16).padStart(16, '0')}`,
    crawlTimeMsec: String(row['created_at']), timestampUsec: `${row['created_at']}000`,
    published: Math.floor(Number(row['published_at']) / 1_000), updated: Math.floor(Number(row['updated_at']) / 1_000),
    title: row['title'], author: row['author'] ?? '', canonical: [{ href: row['url'] }],
    alternate: [{ href: row['url'], type: 'text/html' }], summary: { direction: 'ltr', content: row['content_html'] },
    categories: [`${STATE}reading-list`, ...(row['is_read'] ? [`${STATE}read`] : []), ...(row['is_starred'] ? [`${STATE}starred`] : [])],
    origin: { streamId: `feed/${row['source_id']}`, title: row['source_title'], htmlUrl: row['site_url'] ?? 'http://hub/' },
    ...(files.length > 0 && { enclosure: files.map((file) => ({ href: `http://hub/${file['url_key']}`, type: file['media_type'], length: file['bytes'] })) }),
  };
}

await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ port: app.server.address().port });
process.on('SIGTERM', () => process.exit(0));
