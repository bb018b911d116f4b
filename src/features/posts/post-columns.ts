import { joinSource } from '../sources/source-store.ts';
import type { PreparedPost } from './incoming-post.ts';

/** What a publisher says of a post, by column: all of it is stored and read by this list. */
const CONTENT = {
  title: 'title', url: 'url', author: 'author', contentHtml: 'content_html', summary: 'summary',
} satisfies Partial<Record<keyof PreparedPost, string>>;

/** A post as it is stored, with what its source is called. Times in unix ms. */
export type Post = Pick<PreparedPost, 'guid' | keyof typeof CONTENT> & {
  id: number;
  sourceId: number;
  sourceTitle: string;
  sourceKind: string;
  ownerId: number;
  publishedAt: number;
  updatedAt: number;
  isPublic: number;
  searchKey: number;
};

/** Where a page of the timeline begins: after this post, newest first. */
export type Position = { publishedAt: number; id: number };

const content = Object.entries(CONTENT);

export const COLUMNS = `p.id, p.source_id AS sourceId, s.title AS sourceTitle, s.kind AS sourceKind,
  p.owner_id AS ownerId, p.guid, ${content.map(([name, column]) => `p.${column} AS ${name}`).join(', ')},
  p.published_at AS publishedAt, p.updated_at AS updatedAt, p.is_public AS isPublic, p.search_key AS searchKey`;

/** Posts with what their source is called, without those of sources that are being removed. */
export const SELECT = `SELECT ${COLUMNS} FROM posts p ${joinSource('p.source_id')}`;

/** Stores a post of a source that is not being removed, unless it was deleted here or is stored as it is. */
export const UPSERT = `
  INSERT INTO posts (source_id, is_public, owner_id, guid, ${content.map(([, column]) => column).join(', ')},
                     content_hash, published_at, updated_at, created_at)
  SELECT s.id, s.visibility = 'public', s.owner_id, @guid, ${content.map(([name]) => `@${name}`).join(', ')},
         @contentHash, COALESCE(@publishedAt, @firstSeenAt), COALESCE(@updatedAt, @publishedAt, @firstSeenAt), @now
    FROM (SELECT 1) ${joinSource('@sourceId')}
   WHERE NOT EXISTS (SELECT 1 FROM post_tombstones WHERE source_id = @sourceId AND guid = @guid)
  ON CONFLICT (source_id, guid) DO UPDATE SET
    ${content.map(([, column]) => `${column} = excluded.${column}`).join(', ')}, content_hash = excluded.content_hash,
    published_at = COALESCE(@publishedAt, published_at), updated_at = COALESCE(@updatedAt, @now)
   WHERE content_hash <> excluded.content_hash
  RETURNING id, published_at AS publishedAt, search_key AS searchKey`;

export const AFTER = '(p.published_at, p.id) < (?, ?)';
export const NEWEST_FIRST = 'ORDER BY p.published_at DESC, p.id DESC LIMIT ?';

export const FROM_THE_TOP: Position = { publishedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/** For sorting as NEWEST_FIRST does. */
export function newestFirst(a: Position, b: Position): number {
  return b.publishedAt - a.publishedAt || b.id - a.id;
}
