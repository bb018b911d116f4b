import { seeOther, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { sendTestAlert } from '../alerts/raise-alerts.ts';
import type { Hub } from '../hub/hub.ts';
import { showPublic } from '../posts/public-pages.ts';
import { showList } from '../reading/list-pages.ts';
import { nextSteps } from './next-steps.ts';

/** The reading list of a member, with what is to be done first above it; visitors see what is public. */
export function showHome(hub: Hub, req: HubRequest): Reply | Promise<Reply> {
  const { viewer, query } = req;
  if (!viewer) return showPublic(hub, req);
  const isBeginning = !query.has('q') && !query.has('cursor');
  return showList(hub, { ...req, viewer }, isBeginning && nextSteps(hub, viewer, '/'));
}

/** What comes of it stands on the page to which this leads. */
export function submitTestAlert(hub: Hub): Reply {
  sendTestAlert(hub);
  return seeOther('/admin/alerts');
}
