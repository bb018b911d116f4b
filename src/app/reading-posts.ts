import type { Reading } from '../features/posts/post-routes.ts';
import { isStorageTrouble } from '../platform/db/open-database.ts';
import { errorFields } from '../platform/log.ts';
import type { App } from './app.ts';

/** What each person has read. A disk that cannot be written keeps nobody from reading. */
export function readingPosts({ people: { history }, log }: Pick<App, 'people' | 'log'>): Reading {
  return {
    readAmong: (viewer, postIds) => (viewer ? history.readAmong(viewer.id, postIds) : new Set()),

    opened(viewer, postId): void {
      try {
        history.markRead(viewer.id, postId);
      } catch (error) {
        if (!isStorageTrouble(error)) throw error;
        log.warn('reading not noted', errorFields(error));
      }
    },
  };
}
