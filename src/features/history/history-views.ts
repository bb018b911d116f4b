import { html, type Html } from '../../platform/http/html.ts';
import { moment } from '../../platform/http/readable.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { ReadPost } from '../posts/reading-history-store.ts';

type HistoryList = { items: ReadPost[]; next: string | null; isFirstPage: boolean };

/** The posts that the viewer has read, last read first. */
export function historyPage({ items, next, isFirstPage }: HistoryList): Page {
  const main = html`
<header class="page-head">
  <h1>Reading history</h1>
  <p class="meta"><span>Only you see this.</span> <a href="/?unread=1">Unread posts</a></p>
</header>
${items.length > 0 ? html`<ul class="rows">${items.map(item)}</ul>` : nothing(isFirstPage)}
${next && html`<p class="more"><a class="button" rel="next" href="/history?cursor=${next}">Earlier</a></p>`}
${items.length > 0 && html`
<form method="post" action="/history/clear" class="actions">
  <button class="secondary">Clear history</button>
  <span class="hint">All posts will be unread again.</span>
</form>`}`;
  return { title: 'Reading history', main, section: 'history' };
}

function nothing(isFirstPage: boolean): Html {
  return html`<p class="empty">${isFirstPage ? 'You have not read anything yet.' : 'There are no earlier posts.'}</p>`;
}

function item({ postId, title, sourceId, sourceTitle, readAt }: ReadPost): Html {
  const name = title || 'Untitled';
  return html`
  <li>
    <div><a class="title" href="/posts/${postId}">${name}</a>
      <p class="meta"><a href="/sources/${sourceId}">${sourceTitle}</a> <span>read ${moment(readAt)}</span></p></div>
    <form method="post" action="/posts/${postId}/unread">
      <button class="link" aria-label="Mark ${name} as unread">Mark as unread</button></form>
  </li>`;
}
