import { html, type Html } from '../../platform/http/html.ts';
import { day, moment } from '../../platform/http/readable.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { ListedWebhook } from './webhook-list-store.ts';

/** All webhooks and whether they are heard. */
export function webhooksPage({ items, next }: { items: ListedWebhook[]; next: string | null }): Page {
  const main = html`
<header class="page-head"><h1>Webhooks</h1></header>
${items.length > 0 ? table(items) : html`<p class="empty">There are no webhooks.</p>`}
${next && html`
<p class="more"><a class="button" rel="next" href="/admin/webhooks?cursor=${next}">More webhooks</a></p>`}`;
  return { title: 'Webhooks', main, section: 'admin/webhooks' };
}

function table(items: ListedWebhook[]): Html {
  return html`
<div class="wide"><table>
  <thead><tr><th>Source</th><th>State</th><th>Last event</th><th>Made</th></tr></thead>
  <tbody>${items.map(row)}</tbody>
</table></div>`;
}

function row({ sourceId, title, state, lastEventAt, createdAt }: ListedWebhook): Html {
  return html`
  <tr><td><a href="/sources/${sourceId}">${title}</a></td>
    <td><span class="tag ${state === 'silent' && 'failing'}">${state}</span></td>
    <td>${lastEventAt === null ? 'none yet' : moment(lastEventAt)}</td><td>${day(createdAt)}</td></tr>`;
}
