import { formProblem, type HttpError } from '../../platform/http/problem.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { day, moment } from '../../platform/http/readable.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { ListedAccount } from './account-store.ts';
import { INVITATION_HOURS } from './invitation-routes.ts';
import type { Invitation } from './invitation-store.ts';

/** Everybody who has joined. */
export function accountsPage({ items, next }: { items: ListedAccount[]; next: string | null }): Page {
  const main = html`
<header class="page-head">
  <h1>Accounts</h1>
  <p class="meta"><a href="/admin/invitations">Invite somebody</a></p>
</header>
<div class="wide"><table>
  <thead><tr><th>Name</th><th>Shown as</th><th>Role</th><th>Sources</th><th>Joined</th></tr></thead>
  <tbody>${items.map(accountRow)}</tbody>
</table></div>
${next && html`
<p class="more"><a class="button" rel="next" href="/admin/accounts?cursor=${next}">More accounts</a></p>`}`;
  return { title: 'Accounts', main, section: 'admin/accounts' };
}

function accountRow({ username, displayName, role, sources, createdAt }: ListedAccount): Html {
  return html`
  <tr><td>${username}</td><td>${displayName}</td><td>${role}</td><td class="number">${sources}</td>
    <td>${day(createdAt)}</td></tr>`;
}

/** `url`: the link that was just made. */
type InviteForm = { values?: Record<string, string>; problem?: HttpError; url?: string };

/** Links that can still be used, and the form for a new one. */
export function invitationsPage(invitations: Invitation[], { values = {}, problem, url }: InviteForm): Page {
  const main = html`
<header class="page-head"><h1>Invitations</h1></header>
${url && html`
<div class="done" role="status"><p>The link is shown this once. Send it to one person:</p>
  <p><code class="secret">${url}</code></p></div>`}
<form method="post" action="/admin/invitations" class="panel stack">
  <h2>Invite somebody</h2>
  ${problem && formProblem(problem)}
  <label>Role
    <select name="role"><option value="member">member</option>
      <option value="admin" ${values['role'] === 'admin' && html`selected`}>administrator</option></select></label>
  <label>Good for so many hours
    <input name="hours" type="number" min="1" max="${INVITATION_HOURS.max}" required
      value="${values['hours'] ?? INVITATION_HOURS.standard}"></label>
  <button>Make a link</button>
</form>
${invitations.length > 0
    ? html`<ul class="rows">${invitations.map(invitationItem)}</ul>`
    : html`<p class="empty">No invitation is open.</p>`}`;
  return { title: 'Invitations', main, section: 'admin/invitations' };
}

function invitationItem({ id, role, createdAt, expiresAt }: Invitation): Html {
  return html`
  <li><div><p class="title">${role === 'admin' ? 'An administrator' : 'A member'}</p>
      <p class="meta"><span>made ${moment(createdAt)}</span> <span>good until ${moment(expiresAt)}</span></p></div>
    <form method="post" action="/admin/invitations/${id}/withdraw">
      <button class="link" aria-label="Withdraw invitation ${id}">Withdraw</button></form></li>`;
}
