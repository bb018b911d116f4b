import { pathId } from '../../platform/http/input.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { readingHistory } from '../posts/reading-history-store.ts';
import { clearOwnHistory, readHistoryPage } from './history-routes.ts';
import { historyPage } from './history-views.ts';

export function showHistory(hub: Hub, req: MemberRequest): Reply {
  return page(historyPage({ ...readHistoryPage(hub, req), isFirstPage: !req.query.get('cursor') }));
}

export async function submitClearHistory(hub: Hub, req: MemberRequest): Promise<Reply> {
  await clearOwnHistory(hub, req);
  return seeOther('/history');
}

/** Of a post that is hidden by now, too. */
export function submitPostUnread(hub: Hub, { params, viewer }: MemberRequest): Reply {
  readingHistory(hub).markUnread(viewer.id, pathId(params));
  return seeOther('/history');
}
