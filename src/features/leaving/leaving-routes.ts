import { readJson } from '../../platform/http/body.ts';
import { noContent, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { endedSession } from '../accounts/authenticate.ts';
import type { Hub } from '../hub/hub.ts';
import { exportAccount } from './export-account.ts';
import { leaveHub } from './leave-hub.ts';

export async function deleteAccount(hub: Hub, req: MemberRequest): Promise<Reply> {
  await leaveHub(hub, await readJson(req), req);
  return noContent(endedSession(hub));
}

export function downloadAccount(hub: Hub, req: MemberRequest): Reply {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="content-hub-account.json"',
  };
  return { status: 200, headers, body: exportAccount(hub, req) };
}
