import { isoTime } from '../../platform/clock.ts';
import { id, listOf, named, object, PAGE, text, time, type Shown } from '../../platform/http/fields.ts';
import { act, byId, view, type Endpoint } from '../hub/acts.ts';
import { clearHistory, readHistoryPage } from './history-list.ts';
import { readingHistory, type ReadPost } from './reading-history-store.ts';

export const HISTORY_ENTRY = named('HistoryEntry', object({
  postId: id, title: text, source: object({ id, title: text }), readAt: time,
}));

/** An entry of the reading history in the API and in the export. */
export function historyJson({ postId, title, sourceId, sourceTitle, readAt }: ReadPost): Shown<typeof HISTORY_ENTRY> {
  return { postId, title, source: { id: sourceId, title: sourceTitle }, readAt: isoTime(readAt) };
}

export const HISTORY_ROUTES: Endpoint[] = [
  view(
    'GET /api/history', { access: 'member', summary: 'Posts you have read, last read first', query: PAGE },
    listOf(HISTORY_ENTRY), (hub, req) => {
      const { items, next } = readHistoryPage(hub, req);
      return { items: items.map(historyJson), next };
    },
  ),
  ...act({
    api: 'DELETE /api/history', form: 'POST /history/clear', summary: 'Clear your reading history',
    run: (hub, _given, { viewer }) => clearHistory(hub, viewer), usesReserve: true, to: '/history',
  }),
  ...act({
    form: 'POST /history/:id/forget', summary: 'Remove a post from your history', usesReserve: true,
    // even a post that the viewer may no longer see
    run: byId((hub, postId, { viewer }) => readingHistory(hub).forget(viewer.id, postId)), to: '/history',
  }),
];
