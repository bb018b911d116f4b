import { HOUR, MINUTE } from '../../platform/clock.ts';
import { choice, line, noted, optional, readGiven, whole, type Given } from '../../platform/http/fields.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import { actorOf, audit, THE_HUB, type Actor, type By } from '../audit/audit.ts';
import { metLimit, takeTurns, type Hub, type StoreHub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import type { Config } from '../hub/read-config.ts';
import {
  accounts, invitations, INVITATIONS_MAX, ROLES, type Invitation, type NewInvitation, type Role,
} from './account-store.ts';
import { sessions } from './credential-store.ts';
import { byNetwork, confirmed, currentPassword, newPassword, passwords } from './passwords.ts';
import type { SignedIn } from './authenticate.ts';

export const displayName = line({ max: 80 });
export const INVITATION_HOURS = { standard: 72, max: 24 * 30 };

const SET_UP_LIFETIME = 24 * HOUR;
export const JOIN_LIMIT: NamedLimit = { name: 'join', burst: 20, everyMs: MINUTE };
const USERNAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9])?$/;

/** Fields of who joins, besides the invitation. */
export const JOINING = {
  username: line({
    max: 32, pattern: USERNAME, expected: 'may contain letters, digits, and . _ - between letters or digits.',
  }),
  displayName: optional(displayName), password: newPassword,
};

export const INVITING = {
  role: optional(choice(ROLES)),
  hours: optional(noted(whole(1, INVITATION_HOURS.max), { default: INVITATION_HOURS.standard })),
  currentPassword,
};

export async function invite(hub: Hub, wanted: Given<typeof INVITING>, by: By): Promise<NewInvitation> {
  const { role = 'member', hours = INVITATION_HOURS.standard } = wanted;
  return confirmed(hub, wanted.currentPassword, by, () => makeInvitation(hub, role, hours * HOUR, actorOf(by)));
}

/** `lifetime`: in ms. Throws 422 if the account of the actor has INVITATIONS_MAX open invitations. */
export function makeInvitation(hub: Hub, role: Role, lifetime: number, actor: Actor): NewInvitation {
  return hub.db.write('invite', () => {
    const open = actor.id === null ? 0 : invitations(hub).listOf(actor.id).length;
    if (open >= INVITATIONS_MAX) throw metLimit(hub, 'invitations-max', 0, TOO_MANY_LINKS);
    const invitation = invitations(hub).create({ role, purpose: 'invite', createdBy: actor.id, lifetime });
    audit(hub, 'invitation.created', actor, { kind: 'invitation', id: invitation.id, name: role });
    return invitation;
  });
}

const TOO_MANY_LINKS = `You have ${INVITATIONS_MAX} unused invitation links. Withdraw some first.`;

/** Throws 404 if the invitation does not exist or has been used. */
export function withdrawInvitation(hub: Hub, id: number, by: By): void {
  hub.db.write('withdraw invitation', () => {
    const role = invitations(hub).remove(id);
    if (role === undefined) throw notFound('invitation');
    audit(hub, 'invitation.withdrawn', by, { kind: 'invitation', id, name: role });
  });
}

/**
 * Returns the token of a new link for the first account, or null if there is an account already. Earlier links stay
 * valid until they expire or one of them is used, because the operator may have one open.
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

export function joinUrl({ baseUrl }: Pick<Config, 'baseUrl'>, token: string): string {
  return `${baseUrl}/join/${token}`;
}

/** Undefined if it is gone, has expired or never existed, and for a set-up link once there is an account. */
export function findInvitation(hub: Hub, token: string): Invitation | undefined {
  const invitation = invitations(hub).find(token);
  return invitation?.purpose === 'set-up' && accounts(hub).exists() ? undefined : invitation;
}

/** Creates an account and signs it in. Throws 410 without a valid invitation, 409 for a taken name. */
export async function joinHub(
  hub: Hub, token: string, values: Record<string, unknown>, address: string,
): Promise<SignedIn> {
  takeTurns(hub, byNetwork(JOIN_LIMIT, address));
  requireInvitation(hub, token);
  const { username, displayName: shown = username, password } = readGiven(JOINING, values);
  if (accounts(hub).findByName(username)) throw nameTaken();
  const name = { username, displayName: shown };
  return createAccount(hub, token, name, await passwords(hub).hash(password), address);
}

function createAccount(
  hub: Hub, token: string, name: { username: string; displayName: string }, passwordHash: string, address: string,
): SignedIn {
  return hub.db.write('join', () => {
    // Somebody may have used the invitation while the password was hashed.
    const invitation = requireInvitation(hub, token);
    const role: Role = accounts(hub).exists() ? invitation.role : 'admin';
    const account = accounts(hub).create({ ...name, role, passwordHash });
    if (!account) throw nameTaken();
    invitations(hub).remove(invitation.id);
    invitations(hub).removeSetUpLinks();
    const { id, username } = account;
    const target = { kind: 'account', id, name: username };
    audit(hub, 'account.joined', { id, name: username, address }, target, { role, invitation: invitation.id });
    return { account, session: sessions(hub).start(id, address) };
  });
}

function requireInvitation(hub: Hub, token: string): Invitation {
  const invitation = findInvitation(hub, token);
  if (!invitation) throw new HttpError(410, 'This invitation was used or has expired. Ask for a new one.');
  return invitation;
}

function nameTaken(): HttpError {
  const detail = 'This user name is taken.';
  return new HttpError(409, detail, { errors: [{ pointer: '/username', detail }] });
}
