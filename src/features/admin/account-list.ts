import { day, html, type Html } from '../../platform/http/html.ts';
import { accountJson, accounts, type Account } from '../accounts/account-store.ts';
import { adminList } from '../hub/admin-list.ts';
import { sources } from '../sources/source-store.ts';

/** `sources`: how many it owns. */
type ListedAccount = Account & { sources: number };

/** Everybody who has joined. */
export const accountList = adminList<ListedAccount>({
  name: 'accounts',
  title: 'Accounts',
  summary: 'All accounts',
  key: ['id'],
  select(hub, after, limit) {
    const rows = accounts(hub).list(after?.id ?? 0, limit);
    const owned = sources(hub).countOwned(rows.map(({ id }) => id));
    return rows.map((account) => ({ ...account, sources: owned.get(account.id) ?? 0 }));
  },
  toJson: (account) => ({ ...accountJson(account), sources: account.sources }),
  lead: () => html`<p class="meta"><a href="/admin/invitations">Invite someone</a></p>`,
  view: (items) => html`
<div class="wide"><table>
  <thead><tr><th>Name</th><th>Display name</th><th>Role</th><th>Sources</th><th>Joined</th></tr></thead>
  <tbody>${items.map(accountRow)}</tbody>
</table></div>`,
  empty: 'Nobody has joined yet.',
  more: 'More accounts',
});

function accountRow({ username, displayName, role, sources, createdAt }: ListedAccount): Html {
  return html`
  <tr><td>${username}</td><td>${displayName}</td><td>${role}</td><td class="number">${sources}</td>
    <td>${day(createdAt)}</td></tr>`;
}
