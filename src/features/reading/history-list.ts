import { html, type Html } from '../../platform/http/html.ts';
import { readPage } from '../../platform/http/input.ts';
import { emptyText, nextPage, postButton, postForm, titledPage } from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { nextTurn } from '../../platform/turns.ts';
import { id, listOf, madeOf, named, object, PAGE, text, time } from '../../platform/http/fields.ts';
import type { Hub } from '../hub/hub.ts';
import { act, byId, view, type Endpoint } from '../hub/acts.ts';
import { readingHistory, type ReadPost } from './reading-history-store.ts';

const BATCH = 500;

/** Clears the viewer's reading history in small transactions, so that other writers do not wait long. */
export async function clearHistory(hub: Hub, { id }: Viewer): Promise<void> {
  while (readingHistory(hub).removeOf(id, BATCH) === BATCH) await nextTurn();
}

export function readHistoryPage(hub: Hub, { query, viewer }: MemberRequest) {
  return readPage<ReadPost, 'readAt' | 'postId'>(query, ['readAt', 'postId'], (after, limit) =>
    readingHistory(hub).list(viewer, after, limit));
}

/** Page: the viewer's reading history, newest entry first. */
export function showHistory(hub: Hub, req: MemberRequest): Reply {
  const shown = { ...readHistoryPage(hub, req), isFirstPage: !req.query.get('cursor') };
  return page(historyPage(shown, timesOf(hub, req.viewer)));
}

function historyPage(
  { items, next, isFirstPage }: { items: ReadPost[]; next: string | null; isFirstPage: boolean }, times: Times,
): Page {
  const nothing = isFirstPage ? 'You have not read anything yet.' : 'There is nothing earlier.';
  const main = html`
<p class="lead">The posts that you have opened. Only you see this list.</p>
${items.length > 0 ? html`<ul class="items of-posts">${items.map((one) => item(one, times))}</ul>`
    : emptyText(nothing)}
${nextPage(next && `/history?cursor=${next}`, 'Earlier')}
${items.length > 0 && postForm('/history/clear', html`<button class="secondary">Clear history</button>`,
    html`<span class="hint">The posts stay marked as read.</span>`, 'actions')}`;
  return titledPage('Reading history', main, { section: 'history' });
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

export const HISTORY_ROUTES: Endpoint[] = [
  view(
    'GET /api/history', { summary: 'Posts you have read, last read first', query: PAGE },
    listOf(HISTORY_ENTRY), readHistoryPage,
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
