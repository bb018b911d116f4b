import type { ReadPost } from './history-store.ts';

/** An entry of the reading history as the API shows it. */
export function historyJson({ postId, title, sourceId, sourceTitle, readAt }: ReadPost) {
  return { postId, title, source: { id: sourceId, title: sourceTitle }, readAt: new Date(readAt).toISOString() };
}
