import { HOUR } from '../../platform/clock.ts';
import { readForm } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import { json, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import { accountJson } from './account-json.ts';
import type { AccountStore, ListedAccount } from './account-store.ts';
import { readInvitation, type InvitationRouteDeps } from './invitation-routes.ts';
import { accountsPage, invitationsPage } from './people-views.ts';

type Deps = InvitationRouteDeps & { accounts: AccountStore };

/** Who belongs to the hub, and who is invited: for administrators. */
export function peopleRoutes({ accounts, invitations, joining, baseUrl }: Deps): Route[] {
  return [
    route('GET /api/admin/accounts', 'admin', 'All accounts', list),
    route('GET /admin/accounts', 'admin', 'Page: accounts', (req) => page(accountsPage(readPage(req)))),
    route('GET /admin/invitations', 'admin', 'Page: invitations', () => page(invitationsPage(invitations.list(), {}))),
    route('POST /admin/invitations', 'admin', 'Form: make an invitation', invite),
    route('POST /admin/invitations/:id/withdraw', 'admin', 'Form: withdraw an invitation', withdraw),
  ];

  function readPage({ query }: HubRequest) {
    const limit = readLimit(query);
    const [after = 0] = readCursor(query, 1) ?? [];
    return pageOf(accounts.list(after, limit + 1), limit, (last) => cursorOf(last.id));
  }

  function list(req: HubRequest): Reply {
    const { items, next } = readPage(req);
    return json({ items: items.map(listedJson), next }, 200, nextLink(req.path, req.query, next));
  }

  async function invite(req: MemberRequest): Promise<Reply> {
    const values = await readForm(req);
    try {
      const { role, hours } = readInvitation(values);
      const { token } = joining.invite(role, hours * HOUR, actorOf(req));
      return page(invitationsPage(invitations.list(), { url: `${baseUrl}/join/${token}` }));
    } catch (problem) {
      if (!(problem instanceof HttpError)) throw problem;
      return page(invitationsPage(invitations.list(), { values, problem }), problem.status);
    }
  }

  function withdraw(req: MemberRequest): Reply {
    if (!joining.withdraw(pathId(req.params), actorOf(req))) throw notFound('invitation');
    return seeOther('/admin/invitations');
  }
}

function listedJson(account: ListedAccount) {
  return { ...accountJson(account), sources: account.sources };
}
