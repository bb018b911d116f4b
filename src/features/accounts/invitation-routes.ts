import { HOUR } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/problem.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { Role } from './account-store.ts';
import type { Invitation, InvitationStore } from './invitation-store.ts';
import type { Joining } from './join-hub.ts';

export const INVITATION_HOURS = { standard: 72, max: 24 * 30 };

export type InvitationRouteDeps = { invitations: InvitationStore; joining: Joining; baseUrl: string };

/** The API of invitations, for administrators. */
export function invitationRoutes({ invitations, joining, baseUrl }: InvitationRouteDeps): Route[] {
  return [
    route('GET /api/invitations', 'admin', 'Invitations that can still be used', list),
    route('POST /api/invitations', 'admin', 'Make an invitation link', create),
    route('DELETE /api/invitations/:id', 'admin', 'Withdraw an invitation', withdraw),
  ];

  function list(): Reply {
    return json({ items: invitations.list().map(invitationJson), next: null });
  }

  async function create(req: MemberRequest): Promise<Reply> {
    const { role, hours } = readInvitation(await readJson(req));
    const made = joining.invite(role, hours * HOUR, actorOf(req));
    const url = `${baseUrl}/join/${made.token}`;
    return json({ id: made.id, url, role, expiresAt: new Date(made.expiresAt).toISOString() }, 201);
  }

  function withdraw(req: MemberRequest): Reply {
    if (!joining.withdraw(pathId(req.params), actorOf(req))) throw notFound('invitation');
    return noContent();
  }
}

/** What kind of invitation is wanted: a member's for three days when nothing is said. 422. */
export function readInvitation(values: Record<string, unknown>): { role: Role; hours: number } {
  const input = createInput(values);
  const role = input.optionalChoice('role', ['admin', 'member']) ?? 'member';
  const hours = input.optionalInteger('hours', 1, INVITATION_HOURS.max) ?? INVITATION_HOURS.standard;
  input.done();
  return { role, hours };
}

/** An invitation without its link. */
export function invitationJson({ id, role, createdAt, expiresAt }: Invitation) {
  return { id, role, createdAt: new Date(createdAt).toISOString(), expiresAt: new Date(expiresAt).toISOString() };
}
