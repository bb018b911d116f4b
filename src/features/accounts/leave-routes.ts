import { readJson } from '../../platform/http/body.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { ExportAccount } from './export-account.ts';
import type { Leaving } from './leave-hub.ts';
import { endedSession } from './session-cookie.ts';

export type LeaveRouteDeps = { leaving: Leaving; exportAccount: ExportAccount; secure: boolean };

/** The API of taking one's data along and leaving. */
export function leaveRoutes({ leaving, exportAccount, secure }: LeaveRouteDeps): Route[] {
  return [
    route('DELETE /api/account', 'member', 'Delete your account: {password, confirmation: "DELETE"}', leave),
    route('GET /api/account/export', 'member', 'All your personal data as one JSON document', download),
  ];

  async function leave(req: MemberRequest): Promise<Reply> {
    await leaving.leave(req.viewer, await readJson(req), req.address);
    return noContent({ 'set-cookie': endedSession(secure) });
  }

  function download(req: MemberRequest): Reply {
    const body = exportAccount(req.viewer.id, actorOf(req));
    if (!body) throw new HttpError(401, 'This account is gone.');
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="content-hub-account.json"',
    };
    return { status: 200, headers, body };
  }
}
