import { HOUR, isoTime, MINUTE } from '../../platform/clock.ts';
import { readForm } from '../../platform/http/body.ts';
import { addressGroup } from '../../platform/http/call-handler.ts';
import { html, moment, type Html } from '../../platform/http/html.ts';
import { createInput } from '../../platform/http/input.ts';
import { formProblem, HttpError, notFound, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { actorOf, audit, THE_HUB, type Actor, type By } from '../audit/audit.ts';
import { adminList } from '../hub/admin-list.ts';
import { takeTurn, type Hub, type StoreHub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import type { Config } from '../hub/read-config.ts';
import { accounts, credentials, invitations, type Invitation, type NewInvitation, type Role } from './account-store.ts';
import { PASSWORD_MAX, PASSWORD_MIN, passwords } from './passwords.ts';
import type { SignedIn } from './sign-in.ts';

export const DISPLAY_NAME_MAX = 80;
export const INVITATION_HOURS = { standard: 72, max: 24 * 30 };

const SET_UP_LIFETIME = 24 * HOUR;
const JOIN_LIMIT: NamedLimit = { name: 'join', burst: 20, everyMs: MINUTE };
const USERNAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9])?$/;

/** A new invitation, by `role` and `hours` in `values`: a member's for three days when they say nothing; 422. */
export function invite(hub: Hub, values: Record<string, unknown>, by: By): NewInvitation {
  const input = createInput(values);
  const role = input.optionalChoice('role', ['admin', 'member']) ?? 'member';
  const hours = input.optionalInteger('hours', 1, INVITATION_HOURS.max) ?? INVITATION_HOURS.standard;
  input.done();
  return makeInvitation(hub, role, hours * HOUR, actorOf(by));
}

/** A new invitation that is good for so many milliseconds. */
export function makeInvitation(hub: Hub, role: Role, lifetime: number, actor: Actor): NewInvitation {
  return hub.db.write('invite', () => {
    const invitation = invitations(hub).create({ role, purpose: 'invite', createdBy: actor.id, lifetime });
    audit(hub, 'invitation.created', actor, { kind: 'invitation', id: invitation.id, name: role });
    return invitation;
  });
}

/** Makes the link useless; 404 where there is no such invitation (any more). */
export function withdrawInvitation(hub: Hub, id: number, by: By): void {
  hub.db.write('withdraw invitation', () => {
    const role = invitations(hub).remove(id);
    if (role === undefined) throw notFound('invitation');
    audit(hub, 'invitation.withdrawn', by, { kind: 'invitation', id, name: role });
  });
}

/**
 * The token of a link for the first account, or null when somebody has joined already. Earlier links stay good until
 * one of them is used: whoever started the hub first may still hold one.
 */
export function makeSetUpLink(hub: StoreHub): string | null {
  return hub.db.write('make set-up link', () => {
    if (accounts(hub).exists()) return null;
    const link = { role: 'admin', purpose: 'set-up', createdBy: null, lifetime: SET_UP_LIFETIME } as const;
    const { token } = invitations(hub).create(link);
    audit(hub, 'set-up-link.created', THE_HUB);
    return token;
  });
}

/** The link of an invitation. */
export function joinUrl({ baseUrl }: Pick<Config, 'baseUrl'>, token: string): string {
  return `${baseUrl}/join/${token}`;
}

/** The invitation of a link; undefined where nobody can join by it (any more). */
export function findInvitation(hub: Hub, token: string): Invitation | undefined {
  const invitation = invitations(hub).find(token);
  return invitation?.purpose === 'set-up' && accounts(hub).exists() ? undefined : invitation;
}

/** Makes the account, uses the invitation up and signs in. 410, 409, 422 or 429. */
export async function joinHub(
  hub: Hub, token: string, values: Record<string, unknown>, address: string,
): Promise<SignedIn> {
  takeTurn(hub, JOIN_LIMIT, addressGroup(address));
  requireInvitation(hub, token);
  const { password, ...name } = readJoin(values);
  if (accounts(hub).findByName(name.username)) throw nameTaken();
  return createAccount(hub, token, name, await passwords(hub).hash(password), address);
}

function createAccount(
  hub: Hub, token: string, name: { username: string; displayName: string }, passwordHash: string, address: string,
): SignedIn {
  return hub.db.write('join', () => {
    const invitation = requireInvitation(hub, token); // again: another may have used it while the password was hashed
    const role: Role = accounts(hub).exists() ? invitation.role : 'admin';
    const account = accounts(hub).create({ ...name, role, passwordHash });
    if (!account) throw nameTaken();
    invitations(hub).remove(invitation.id);
    invitations(hub).removeSetUpLinks();
    const { id, username } = account;
    const target = { kind: 'account', id, name: username };
    audit(hub, 'account.joined', { id, name: username, address }, target, { role, invitation: invitation.id });
    return { account, session: credentials(hub).startSession(id) };
  });
}

function requireInvitation(hub: Hub, token: string): Invitation {
  const invitation = findInvitation(hub, token);
  if (!invitation) throw new HttpError(410, 'This invitation was used or has expired. Ask for a new one.');
  return invitation;
}

function readJoin(values: Record<string, unknown>): { username: string; displayName: string; password: string } {
  const input = createInput(values);
  const username = input.text('username', {
    max: 32, pattern: USERNAME, expected: 'may have letters, digits, and . _ - between them.',
  });
  const displayName = input.optionalText('displayName', { max: DISPLAY_NAME_MAX }) ?? username;
  const password = input.secret('password', PASSWORD_MIN, PASSWORD_MAX);
  input.done();
  return { username, displayName, password };
}

function nameTaken(): HttpError {
  const detail = 'This name is taken.';
  return new HttpError(409, detail, { errors: [{ pointer: '/username', detail }] });
}

/** Links that can still be used, with the form for a new one. */
export const invitationList = adminList<Invitation>({
  name: 'invitations',
  api: '/api/invitations',
  title: 'Invitations',
  summary: 'Invitations that can still be used',
  key: ['id'],
  select: (hub, after, limit) => invitations(hub).list(after?.id ?? 0, limit),
  toJson: invitationJson,
  above: () => inviteForm({}),
  view: (items) => html`<ul class="rows">${items.map(invitationItem)}</ul>`,
  empty: 'No open invitations.',
  more: 'More invitations',
});

export async function submitInvitation(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  try {
    const { token } = invite(hub, values, req);
    return invitationList.show(hub, req, { above: inviteForm({ url: joinUrl(hub.config, token) }) });
  } catch (problem) {
    if (!(problem instanceof HttpError)) throw problem;
    return invitationList.show(hub, req, { above: inviteForm({ values, problem }), status: problem.status });
  }
}

/** An invitation without its link. */
export function invitationJson({ id, role, createdAt, expiresAt }: Invitation) {
  return { id, role, createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
}

/** `url`: the link that was just made. */
type InviteForm = { values?: Record<string, string>; problem?: HttpError; url?: string };

function inviteForm({ values = {}, problem, url }: InviteForm): Html {
  return html`
${url && html`
<div class="done" role="status"><p>This link is shown only once. Send it to one person:</p>
  <p><code class="secret">${url}</code></p></div>`}
<form method="post" action="/admin/invitations" class="panel stack">
  <h2>Invite someone</h2>
  ${problem && formProblem(problem)}
  <label>Role
    <select name="role"><option value="member">member</option>
      <option value="admin" ${values['role'] === 'admin' && html`selected`}>administrator</option></select></label>
  <label>Valid for how many hours
    <input name="hours" type="number" min="1" max="${INVITATION_HOURS.max}" required
      value="${values['hours'] ?? INVITATION_HOURS.standard}"></label>
  <button>Create link</button>
</form>`;
}

function invitationItem({ id, role, createdAt, expiresAt }: Invitation): Html {
  return html`
  <li><div><p class="title">${role === 'admin' ? 'An administrator' : 'A member'}</p>
      <p class="meta"><span>created ${moment(createdAt)}</span> <span>valid until ${moment(expiresAt)}</span></p></div>
    <form method="post" action="/admin/invitations/${id}/withdraw">
      <button class="link" aria-label="Withdraw invitation ${id}">Withdraw</button></form></li>`;
}
