import { act, byId, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { deletePost } from './delete-post-pages.ts';

export const DELETE_POST_ROUTES: Endpoint[] = act({
  api: 'DELETE /api/posts/:id', form: 'POST /posts/:id/delete',
  summary: 'Delete a post for good: no synchronisation brings it back',
  run: byId(deletePost), usesReserve: true, next: ({ sourceId }) => saying(`/sources/${sourceId}`, 'post-deleted'),
});
