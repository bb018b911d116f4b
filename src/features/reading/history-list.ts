import { html, type Html } from '../../platform/http/html.ts';
import { postButton, postForm } from '../../platform/http/page-parts.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { nextTurn } from '../../platform/turns.ts';
import { id, madeOf, named, object, text, time } from '../../platform/http/fields.ts';
import type { Hub } from '../hub/hub.ts';
import { act, byId, type Endpoint } from '../hub/acts.ts';
import { each, pagedList } from '../hub/lists.ts';
import { readingHistory, type ReadPost } from './reading-history-store.ts';

const BATCH = 500;

/** Clears the viewer's reading history in small transactions, so that other writers do not wait long. */
export async function clearHistory(hub: Hub, { id }: Viewer): Promise<void> {
  while (readingHistory(hub).removeOf(id, BATCH) === BATCH) await nextTurn();
}

function item({ postId, title, sourceId, sourceTitle, readAt }: ReadPost, times: Times): Html {
  const name = title || 'Untitled';
  return html`
  <li>
    <div><a class="title" href="/posts/${postId}" dir="auto">${name}</a>
      <p class="meta"><a href="/sources/${sourceId}" dir="auto">${sourceTitle}</a>
        <span>opened ${showTime(times, readAt)}</span></p></div>
    ${postButton(`/history/${postId}/forget`, 'Remove', 'link', `Remove ${name} from the history`)}
  </li>`;
}

/** An entry of the reading history in the API and in the export. */
export const HISTORY_ENTRY = named('HistoryEntry', madeOf(object({
  postId: id, title: text, source: object({ id, title: text }), readAt: time,
}), ({ sourceId, sourceTitle, ...entry }: ReadPost) => ({ ...entry, source: { id: sourceId, title: sourceTitle } })));

const historyList = pagedList<ReadPost, 'readAt' | 'postId'>({
  access: 'member',
  api: '/api/history',
  page: '/history',
  title: 'Reading history',
  summary: 'Posts you have read, last read first',
  key: ['readAt', 'postId'],
  select: (hub, { req, after, limit }) => readingHistory(hub).list(req.viewer, after, limit),
  shape: HISTORY_ENTRY,
  lead: () => html`<p class="lead">The posts that you have opened. Only you see this list.</p>`,
  rows: each(item, 'of-posts'),
  empty: 'You have not read anything yet.',
  more: 'Earlier',
  below: postForm('/history/clear', html`<button class="secondary">Clear history</button>`,
    html`<span class="hint">The posts stay marked as read.</span>`, 'actions'),
});

export const HISTORY_ROUTES: Endpoint[] = [
  ...historyList.routes,
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
