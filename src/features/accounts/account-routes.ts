import { readJson } from '../../platform/http/body.ts';
import { notFound } from '../../platform/http/problem.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { AccountStore } from './account-store.ts';
import { accountJson } from './account-json.ts';
import type { ChangeAccount } from './change-account.ts';
import { invitationRoutes, type InvitationRouteDeps } from './invitation-routes.ts';
import { leaveRoutes, type LeaveRouteDeps } from './leave-routes.ts';
import { sessionRoutes, type SessionRouteDeps } from './session-routes.ts';
import { tokenRoutes, type TokenRouteDeps } from './token-routes.ts';

type OwnDeps = { accounts: AccountStore; changeAccount: ChangeAccount };
type Deps = OwnDeps & LeaveRouteDeps & SessionRouteDeps & TokenRouteDeps & InvitationRouteDeps;

/** The API of accounts and of all by which people come in and are known. */
export function accountRoutes(deps: Deps): Route[] {
  return [
    ...sessionRoutes(deps), ...ownAccountRoutes(deps), ...leaveRoutes(deps), ...tokenRoutes(deps),
    ...invitationRoutes(deps),
  ];
}

function ownAccountRoutes({ accounts, changeAccount }: OwnDeps): Route[] {
  return [
    route('GET /api/account', 'member', 'Your own account', show),
    route(
      'PATCH /api/account', 'member',
      'Change your display name or password; a new password ends other sessions, API tokens go on working', change,
    ),
  ];

  function show(req: MemberRequest): Reply {
    const account = accounts.find(req.viewer.id);
    if (!account) throw notFound('account');
    return json(accountJson(account));
  }

  async function change(req: MemberRequest): Promise<Reply> {
    return json(accountJson(await changeAccount(req.viewer, await readJson(req), actorOf(req))));
  }
}
