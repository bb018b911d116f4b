import { choice, flag, optional, readGiven, type Given } from '../../platform/http/fields.ts';
import type { Input } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import { actorOf, audit, type Actor, type By } from '../audit/audit.ts';
import { takeTurns, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { accounts, invitations, publicPart, ROLES, type Account, type Role } from './account-store.ts';
import { passwordLinks, revokeCredentials, sessions } from './credential-store.ts';
import { JOIN_LIMIT } from './join-hub.ts';
import { byNetwork, confirmed, currentPassword, newPassword, passwords } from './passwords.ts';
import type { SignedIn } from './authenticate.ts';

export const GOVERNING = { role: optional(choice(ROLES)), disabled: optional(flag), currentPassword };
type Change = { role?: Role; disabled?: boolean };

export function checkGoverning(input: Input, { role, disabled }: Change): void {
  if (role === undefined && disabled === undefined) input.refuse('role', 'must be sent, or disabled.');
}

export async function governAccount(hub: Hub, id: number, change: Given<typeof GOVERNING>, by: By): Promise<Account> {
  return confirmed(hub, change.currentPassword, by, () => setState(hub, id, change, actorOf(by)));
}

/** Disabling an account ends its credentials. Throws 409 if the change would leave no enabled administrator. */
export function setState(hub: Hub, id: number, change: Change, actor: Actor): Account {
  return hub.db.write('change account', () => {
    const before = requireAccount(hub, id);
    const role = change.role ?? before.role;
    const isDisabled = change.disabled ?? before.disabledAt !== null;
    const isAdmin = role === 'admin' && !isDisabled;
    if (before.role === 'admin' && !isAdmin && !accounts(hub).hasOtherAdmin(id)) {
      throw new HttpError(409, 'This is the last administrator. Make another account one first.');
    }
    audit(hub, 'account.changed', actor, targetOf(before), { role, disabled: isDisabled });
    accounts(hub).setState(id, role, isDisabled ? before.disabledAt ?? hub.clock() : null);
    if (isDisabled) revokeCredentials(hub, id);
    if (!isAdmin) invitations(hub).removeOf(id);
    // When an administrator loses the role or is disabled, all password links end: nobody knows who made which.
    if (before.role === 'admin' && !isAdmin) passwordLinks(hub).removeAll();
    return requireAccount(hub, id);
  });
}

export async function linkForPassword(hub: Hub, id: number, password: string, by: By): Promise<PasswordLink> {
  return confirmed(hub, password, by, () => makePasswordLink(hub, id, actorOf(by)));
}

/** A password link, for an administrator to send to the account's owner, and when the link expires (unix ms). */
export type PasswordLink = { url: string; expiresAt: number };

/** The link replaces the account's older one, and the account is notified. Throws 409 for a disabled account. */
export function makePasswordLink(hub: Hub, id: number, actor: Actor): PasswordLink {
  return hub.db.write('make password link', () => {
    const account = requireAccount(hub, id);
    if (account.disabledAt !== null) throw new HttpError(409, 'This account is disabled. Enable it first.');
    audit(hub, 'account.password-link-made', actor, targetOf(account));
    tell(hub, id, 'An administrator made a link that can change the password of your account.');
    const { token, expiresAt } = passwordLinks(hub).create(id);
    return { url: `${hub.config.baseUrl}/new-password/${token}`, expiresAt };
  });
}

/** Undefined if the link was used, has expired or never existed. */
export function accountOfLink(hub: Hub, token: string): Account | undefined {
  const id = passwordLinks(hub).accountOf(token);
  return id === undefined ? undefined : accounts(hub).find(id);
}

function requireLink(hub: Hub, token: string): Account {
  const account = accountOfLink(hub, token);
  if (account) return publicPart(account);
  throw new HttpError(410, 'This link was used or has expired. Ask an administrator for a new one.');
}

/** Sets a new password through a password link; ends the link, the account's sessions and its tokens; signs in. */
export async function choosePassword(
  hub: Hub, token: string, values: Record<string, unknown>, address: string,
): Promise<SignedIn> {
  takeTurns(hub, byNetwork(JOIN_LIMIT, address));
  requireLink(hub, token);
  const { password } = readGiven({ password: newPassword }, values);
  const hash = await passwords(hub).hash(password);
  return hub.db.write('choose password', () => {
    // While the new password was hashed, another request may have used the password link.
    const account = requireLink(hub, token);
    const { id, username } = account;
    accounts(hub).setPasswordHash(id, hash);
    revokeCredentials(hub, id);
    audit(hub, 'account.password-changed', { id, name: username, address }, targetOf(account), { byLink: true });
    tell(hub, id, 'The password of your account was changed through a link, which ended all sessions and API tokens.');
    return { account, session: sessions(hub).start(id, address) };
  });
}

export function requireAccount(hub: Hub, id: number): Account {
  const account = accounts(hub).find(id);
  if (!account) throw notFound('account');
  return publicPart(account);
}

function targetOf({ id, username }: Account) {
  return { kind: 'account', id, name: username };
}

function tell(hub: Hub, accountId: number, title: string): void {
  notifications(hub).add({ accountId, kind: 'account', title, path: '/settings' });
}
