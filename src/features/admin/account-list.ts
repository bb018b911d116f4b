import { flag, from, integer, named, object } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import { notFound, type HttpError } from '../../platform/http/http-error.ts';
import { formProblem, postForm } from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { byteSize, plural } from '../../platform/in-words.ts';
import { ACCOUNT_MEMBERS, accounts, type Account } from '../accounts/account-store.ts';
import { passwordField } from '../accounts/account-views.ts';
import { adminList } from '../hub/lists.ts';
import type { Hub } from '../hub/hub.ts';
import { contentUsage } from '../sources/content-usage-store.ts';
import { sources } from '../sources/source-store.ts';

type ListedAccount = Account & { sources: number; contentBytes: number };

const isSet = { schema: flag.schema, show: (at: number | null) => at !== null };

export const LISTED_ACCOUNT = named('ListedAccount', object({
  ...ACCOUNT_MEMBERS, disabled: from('disabledAt', isSet), sources: integer, contentBytes: integer,
}));

export const accountList = adminList<ListedAccount>({
  name: 'accounts',
  title: 'Accounts',
  summary: 'All accounts',
  key: ['id'],
  select: (hub, { after, limit }) => withSources(hub, accounts(hub).list(after?.id ?? 0, limit)),
  shape: LISTED_ACCOUNT,
  lead: () => html`<p class="meta"><a href="/admin/invitations">Invite someone</a></p>`,
  rows: (items, times) => html`
<div class="wide"><table>
  <thead><tr><th>Name</th><th>Display name</th><th>Role</th><th class="number">Sources</th>
    <th class="number">Contents</th><th>Joined</th></tr></thead>
  <tbody>${items.map((one) => accountRow(one, times))}</tbody>
</table></div>`,
  empty: 'No account exists yet.',
  more: 'More accounts',
});

function withSources(hub: Hub, rows: Account[]): ListedAccount[] {
  const ids = rows.map(({ id }) => id);
  const [owned, bytes] = [sources(hub).countOwned(ids), contentUsage(hub).among(ids)];
  return rows.map((account) => (
    { ...account, sources: owned.get(account.id) ?? 0, contentBytes: bytes.get(account.id) ?? 0 }));
}

function accountRow(account: ListedAccount, times: Times): Html {
  const { id, username, displayName, role, sources, contentBytes, createdAt, disabledAt } = account;
  return html`
  <tr><td><a href="/admin/accounts/${id}">${username}</a>
      ${disabledAt !== null && html`<span class="tag">disabled</span>`}</td>
    <td>${displayName}</td><td>${roleName(role)}</td><td class="number">${sources}</td>
    <td class="number">${byteSize(contentBytes)}</td>
    <td>${showTime(times, createdAt)}</td></tr>`;
}

function roleName(role: Account['role']): string {
  return role === 'admin' ? 'administrator' : 'member';
}

export function requestedAccount(hub: Hub, { params }: MemberRequest): ListedAccount {
  const account = accounts(hub).find(pathId(params));
  const [listed] = account ? withSources(hub, [account]) : [];
  if (!listed) throw notFound('account');
  return listed;
}

type Sent = { problem?: HttpError; url?: string; done?: string };

/** Page: one account. `sent`: the error, the password link or the message that a sent form leads to. */
export function showAccountPage(hub: Hub, req: MemberRequest, sent: Sent = {}): Reply {
  const shown = accountPage(requestedAccount(hub, req), sent, timesOf(hub, req.viewer));
  return page(shown, sent.problem?.status, sent.problem?.headers);
}

/** Whether the form that changes an account shows the error at its top; a wrong password is shown at its own field. */
function isAboutTheAct(problem: HttpError | undefined): problem is HttpError {
  return problem !== undefined && problem.status !== 403 && problem.errors.at(-1)?.pointer !== '/currentPassword';
}

function accountPage(account: ListedAccount, sent: Sent, times: Times): Page {
  const { id, username, displayName, role, sources, createdAt, disabledAt } = account;
  const button = (act: string, label: string): Html =>
    html`<button name="act" value="${act}" class="secondary">${label}</button>`;
  const main = html`
<header class="page-head">
  <p class="meta"><span>${displayName}</span> <span>${roleName(role)}</span>
    <span>${plural(sources, 'source')}</span>
    <span>joined ${showTime(times, createdAt)}</span></p>
</header>
${sent.url && html`
<div class="done" role="status">
  <p>Send ${username} this link. It is shown only once, works once, and expires in an hour:</p>
  <p><code class="secret">${sent.url}</code></p></div>`}
${sent.done && html`<div class="done" role="status"><p>${sent.done}</p></div>`}
${postForm(`/admin/accounts/${id}`, html`
  <h2>Change this account</h2>
  ${isAboutTheAct(sent.problem) && formProblem(sent.problem)}
  <p class="hint">${disabledAt === null
    ? 'Disabled, it cannot sign in; its sessions and tokens end at once, but its sources stay active.'
    : 'It is disabled and cannot sign in, but its sources stay active.'}
    A link for a new password, once used, ends its sessions and tokens.</p>
  ${passwordField(sent.problem)}`, html`
  <div class="actions">
    ${disabledAt === null && button('reset-password', 'Make a link for a new password')}
    ${role === 'admin' ? button('make-member', 'Make a member') : button('make-admin', 'Make an administrator')}
    ${disabledAt === null ? button('disable', 'Disable') : button('enable', 'Enable')}
  </div>`, 'panel stack')}
<p class="actions"><a class="quiet" href="/admin/accounts">All accounts</a></p>`;
  const bar = html`<h1><span>${username}</span> ${disabledAt !== null && html`<span class="tag">disabled</span>`}</h1>`;
  return { title: username, bar, main, section: 'admin/accounts' };
}
