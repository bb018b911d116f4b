import { readForm } from '../../platform/http/body.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { endedSession } from '../accounts/authenticate.ts';
import type { Hub } from '../hub/hub.ts';
import { leaveHub, obstacleToLeaving, ownedSources } from './leave-hub.ts';
import { goodbyePage, leavePage } from './leaving-views.ts';

export function showLeave(hub: Hub, req: MemberRequest): Reply {
  return leaveForm(hub, req);
}

export async function submitLeave(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  try {
    await leaveHub(hub, values, req.viewer, req.address);
    return seeOther('/goodbye', endedSession(hub));
  } catch (problem) {
    if (!(problem instanceof HttpError)) throw problem;
    return leaveForm(hub, req, problem);
  }
}

function leaveForm(hub: Hub, { viewer }: MemberRequest, problem?: HttpError): Reply {
  const form = {
    sources: ownedSources(hub, viewer.id),
    obstacle: obstacleToLeaving(hub, viewer),
    backupDays: hub.config.backupRetentionDays,
    problem,
  };
  return page(leavePage(form), problem?.status, problem?.headers);
}

export function showGoodbye(): Reply {
  return page(goodbyePage());
}
