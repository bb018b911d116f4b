export type Post = {
  id: number;
  sourceId: number;
  sourceTitle: string;
  sourceKind: string;
  ownerId: number;
  guid: string;
  title: string;
  url: string | null;
  author: string | null;
  contentHtml: string;
  summary: string;
  publishedAt: number;
  updatedAt: number;
  isPublic: number;
  searchKey: number;
};

/** Where a page of the timeline begins: after this post, newest first. */
export type Position = { publishedAt: number; id: number };

export const COLUMNS = `p.id, p.source_id AS sourceId, s.title AS sourceTitle, s.kind AS sourceKind,
  p.owner_id AS ownerId, p.guid, p.title, p.url, p.author, p.content_html AS contentHtml, p.summary,
  p.published_at AS publishedAt, p.updated_at AS updatedAt, p.is_public AS isPublic, p.search_key AS searchKey`;

/** Posts with what their source is called, without those of sources that are being removed. */
export const SELECT = `
  SELECT ${COLUMNS} FROM posts p JOIN sources s ON s.id = p.source_id AND s.removed_at IS NULL`;
export const NEWEST_FIRST = 'ORDER BY p.published_at DESC, p.id DESC LIMIT ?';

export const FROM_THE_TOP: Position = { publishedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/** For sorting as NEWEST_FIRST does. */
export function newestFirst(a: Position, b: Position): number {
  return b.publishedAt - a.publishedAt || b.id - a.id;
}
