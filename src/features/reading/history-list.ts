import { setImmediate } from 'node:timers/promises';
import { isoTime } from '../../platform/clock.ts';
import { isStorageTrouble } from '../../platform/db/open-database.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { nextLink, pathId, readPage } from '../../platform/http/input.ts';
import { json, noContent, page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { errorFields } from '../../platform/log.ts';
import type { Hub } from '../hub/hub.ts';
import { mayRecord } from '../hub/may-record.ts';
import { readingHistory, type ReadPost } from './reading-history-store.ts';
import { setRead, setSeen } from './reading-list.ts';

/** Entries removed in one transaction. */
const BATCH = 500;

/** API: for a post that was read elsewhere, such as in an app. */
export function markPostRead(hub: Hub, { params, viewer }: MemberRequest): Reply {
  noteRead(hub, viewer, pathId(params));
  return noContent();
}

export function markPostUnread(hub: Hub, { params, viewer }: MemberRequest): Reply {
  const id = pathId(params);
  setRead(hub, viewer, id, false);
  readingHistory(hub).forget(viewer.id, id);
  return noContent();
}

/**
 * Notes that its reader has opened a post, which is read then, unless they mark posts themselves or have too many
 * marks. A disk that cannot be written keeps nobody from it.
 */
export function noteOpened(hub: Hub, viewer: Viewer, postId: number): void {
  if (!mayRecord(hub)) return;
  try {
    readingHistory(hub).note(viewer.id, postId);
    if (viewer.preferences.marksOpened) setSeen(hub, viewer, postId);
  } catch (error) {
    if (!isStorageTrouble(error)) throw error;
    hub.log.warn('reading not recorded', errorFields(error));
  }
}

function noteRead(hub: Hub, viewer: Viewer, postId: number): void {
  if (viewer.preferences.marksOpened) setRead(hub, viewer, postId, true);
  readingHistory(hub).note(viewer.id, postId);
}

export function listHistory(hub: Hub, req: MemberRequest): Reply {
  const { items, next } = readHistoryPage(hub, req);
  return json({ items: items.map(historyJson), next }, 200, nextLink(req.path, req.query, next));
}

/** In small transactions, so that nobody waits for a long one. */
export async function clearHistory(hub: Hub, { viewer }: MemberRequest): Promise<Reply> {
  while (readingHistory(hub).removeOf(viewer.id, BATCH) === BATCH) await setImmediate();
  return noContent();
}

/** One page of the viewer's history, as `?cursor=&limit=` ask for it. */
function readHistoryPage(hub: Hub, { query, viewer }: MemberRequest) {
  return readPage<ReadPost, 'readAt' | 'postId'>(query, ['readAt', 'postId'], (after, limit) =>
    readingHistory(hub).list(viewer.id, after, limit));
}

/** An entry of the reading history as the API shows it. */
export function historyJson({ postId, title, sourceId, sourceTitle, readAt }: ReadPost) {
  return { postId, title, source: { id: sourceId, title: sourceTitle }, readAt: isoTime(readAt) };
}

export function showHistory(hub: Hub, req: MemberRequest): Reply {
  const shown = { ...readHistoryPage(hub, req), isFirstPage: !req.query.get('cursor') };
  return page(historyPage(shown, timesOf(hub, req.viewer)));
}

/** Works also for a post that the reader may no longer see. */
export function submitForget(hub: Hub, { params, viewer }: MemberRequest): Reply {
  readingHistory(hub).forget(viewer.id, pathId(params));
  return seeOther('/history');
}

/** The posts that the viewer has opened, last opened first. */
function historyPage(
  { items, next, isFirstPage }: { items: ReadPost[]; next: string | null; isFirstPage: boolean }, times: Times,
): Page {
  const nothing = isFirstPage ? 'You have not read anything yet.' : 'There are no earlier posts.';
  const bar = html`<h1>Reading history</h1>`;
  const main = html`
<p class="lead">Posts that you have opened. Only you see this.</p>
${items.length > 0 ? html`<ul class="items of-posts">${items.map((one) => item(one, times))}</ul>`
    : html`<p class="empty">${nothing}</p>`}
${next && html`<p class="more"><a class="button" rel="next" href="/history?cursor=${next}">Earlier</a></p>`}
${items.length > 0 && html`
<form method="post" action="/history/clear" class="actions">
  <button class="secondary">Clear history</button>
  <span class="hint">Posts stay marked as read.</span>
</form>`}`;
  return { title: 'Reading history', bar, main, section: 'history' };
}

function item({ postId, title, sourceId, sourceTitle, readAt }: ReadPost, times: Times): Html {
  const name = title || 'Untitled';
  return html`
  <li>
    <div><a class="title" href="/posts/${postId}" dir="auto">${name}</a>
      <p class="meta"><a href="/sources/${sourceId}">${sourceTitle}</a>
        <span>opened ${showTime(times, readAt)}</span></p></div>
    <form method="post" action="/history/${postId}/forget">
      <button class="link" aria-label="Remove ${name} from the history">Remove</button></form>
  </li>`;
}
