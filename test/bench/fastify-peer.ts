import Database from 'better-sqlite3';
import type { AddressInfo } from 'node:net';

/**
 * node fastify-peer.ts <hub.db>: Fastify with better-sqlite3, doing for each request what GET /api/posts does without
 * its kept copy: the query for the 30 newest public posts with their attachments, and their JSON.
 */
type Instance = {
  get(path: string, handler: () => unknown): void;
  listen(at: object): Promise<string>;
  server: { address(): AddressInfo };
};
type Row = Record<string, string | number | null> & { id: number };

const { default: fastify } = (await import('fastify' as string)) as { default: () => Instance };
const db = new Database(process.argv[2] ?? '', { readonly: true });
const posts = db.prepare<[], Row>(`
  SELECT p.id, p.source_id, s.title AS source_title, s.kind, p.title, p.url, p.author, p.content_html, p.summary,
         p.published_at, p.updated_at
    FROM posts p JOIN sources s ON s.id = p.source_id
   WHERE p.is_public = 1 ORDER BY p.published_at DESC, p.id DESC LIMIT 31`);
const attachments = db.prepare<[string], Row>(`
  SELECT id, post_id, kind, filename, media_type, bytes, sha256, remote_url FROM attachments
   WHERE post_id IN (SELECT value FROM json_each(?)) ORDER BY post_id, position`);

const app = fastify();
app.get('/api/posts', () => {
  const rows = posts.all();
  const files = Map.groupBy(attachments.all(JSON.stringify(rows.map((row) => row.id))), (file) => file['post_id']);
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
await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ port: app.server.address().port });
process.on('SIGTERM', () => process.exit(0));
