import { html, type Html } from '../../platform/http/html.ts';
import { moment } from '../../platform/http/readable.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { ErrorEvent } from './error-store.ts';

/** Errors of the hub itself, each kind once. */
export function errorsPage({ items, next }: { items: ErrorEvent[]; next: string | null }): Page {
  const main = html`
<header class="page-head">
  <h1>Errors</h1>
  <p class="lead">What went wrong in the hub itself and nobody expected. Each kind stands here once.</p>
</header>
${items.length > 0 ? html`<ul class="rows">${items.map(item)}</ul>` : html`<p class="empty">Nothing went wrong.</p>`}
${next && html`<p class="more"><a class="button" rel="next" href="/admin/errors?cursor=${next}">Older</a></p>`}`;
  return { title: 'Errors', main, section: 'admin/errors' };
}

function item({ program, message, stack, count, firstAt, lastAt }: ErrorEvent): Html {
  return html`
  <li><div>
    <p class="title">${message || 'An error without a message'}</p>
    <p class="meta"><span>${program}</span> <span>${count === 1 ? 'once' : `${count} times`}</span>
      <span>last ${moment(lastAt)}</span> <span>first ${moment(firstAt)}</span></p>
    <details><summary>Where</summary><pre>${stack}</pre></details>
  </div></li>`;
}
