import { nextSteps } from '../features/admin/next-steps.ts';
import type { Hub } from '../features/hub/hub.ts';
import { showPublic } from '../features/posts/public-pages.ts';
import { showList } from '../features/reading/list-pages.ts';
import type { Reply } from '../platform/http/reply.ts';
import type { HubRequest } from '../platform/http/router.ts';

/** Answers `/`: members get their reading list with the getting-started list above it, visitors get the public page. */
export function showHome(hub: Hub, req: HubRequest): Reply | Promise<Reply> {
  const { viewer, query } = req;
  if (!viewer) return showPublic(hub, req);
  const isFirstPage = !query.has('q') && !query.has('cursor');
  return showList(hub, { ...req, viewer }, isFirstPage && nextSteps(hub, viewer, '/'));
}
