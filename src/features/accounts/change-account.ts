import { DAY } from '../../platform/clock.ts';
import { choice, line, noted, optional, time, whole, type Given } from '../../platform/http/fields.ts';
import type { Input } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { audit, type By } from '../audit/audit.ts';
import { requireSession } from '../hub/acts.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { accounts, publicPart, type Account } from './account-store.ts';
import { apiTokens, passwordLinks, sessions, TOKEN_SCOPES, TOKENS_MAX, type NewToken } from './credential-store.ts';
import { displayName } from './join-hub.ts';
import { confirmed, currentPassword, newPassword } from './passwords.ts';

const onlyForNew: typeof currentPassword = {
  ...currentPassword,
  read: (input, name) => (input.has('newPassword') ? currentPassword.read(input, name) : undefined),
};

export const ACCOUNT_CHANGES = {
  displayName: optional(displayName), newPassword: optional(newPassword), currentPassword: optional(onlyForNew),
};
type Changes = Given<typeof ACCOUNT_CHANGES>;

export function checkAccount(input: Input, changes: Changes, _hub: Hub, { viewer }: { viewer: Viewer }): void {
  if (input.has('newPassword')) requireSession(viewer);
  else if (changes.displayName === undefined) input.refuse('displayName', 'must be sent, or newPassword.');
}

/**
 * A new password ends the account's other sessions, app passwords and password links, but not other API tokens. It
 * needs a session and the current password; a new name does not.
 */
export async function changeAccount(hub: Hub, changes: Changes, by: By): Promise<Account> {
  if (changes.newPassword !== undefined) await changePassword(hub, changes, by);
  else if (changes.displayName !== undefined) rename(hub, changes.displayName, by);
  return ownAccount(hub, by.viewer);
}

/** The viewer's account; throws 401 if the account was deleted while the request ran. */
export function ownAccount(hub: Hub, { id }: Viewer): Account {
  const account = accounts(hub).find(id);
  if (!account) throw new HttpError(401, 'This account no longer exists.');
  return publicPart(account);
}

function rename(hub: Hub, name: string, by: By): void {
  hub.db.write('rename account', () => {
    accounts(hub).setDisplayName(by.viewer.id, name);
    audit(hub, 'account.renamed', by);
  });
}

async function changePassword(hub: Hub, changes: Changes, by: By): Promise<void> {
  const { id, credentialId } = by.viewer;
  await confirmed(hub, changes.currentPassword ?? '', by, () => {
    if (changes.displayName !== undefined) accounts(hub).setDisplayName(id, changes.displayName);
    sessions(hub).endOthers(id, credentialId);
    passwordLinks(hub).removeOf(id);
    apiTokens(hub).revokeReadersOf(id);
    audit(hub, 'account.password-changed', by);
  }, changes.newPassword);
}

/** Without `sessionId`, ends all the viewer's other sessions. Throws 404 if it is not one of the viewer's. */
export async function endSessions(hub: Hub, password: string, by: By, sessionId?: number): Promise<void> {
  const { id, credentialId } = by.viewer;
  await confirmed(hub, password, by, () => {
    if (sessionId === undefined) {
      const ended = sessions(hub).endOthers(id, credentialId);
      return audit(hub, 'session.others-ended', by, undefined, { sessions: ended });
    }
    if (!sessions(hub).listOf(id).some((session) => session.id === sessionId)) throw notFound('session');
    audit(hub, 'session.ended', by, { kind: 'session', id: sessionId, name: '' });
    sessions(hub).end(sessionId);
  });
}

export const WANTED_TOKEN = {
  name: line({ max: 80 }), scope: optional(noted(choice(TOKEN_SCOPES), { default: 'write' })),
  expiresAt: optional(time), days: optional(whole(1, 3_650)), currentPassword,
};
type Wanted = Given<typeof WANTED_TOKEN>;

export function checkExpiry(input: Input, { expiresAt }: Partial<Wanted>, hub: Hub): void {
  if (expiresAt !== undefined && expiresAt <= hub.clock()) input.refuse('expiresAt', 'must be in the future.');
  if (input.has('days') && input.has('expiresAt')) input.refuse('days', 'must not be given together with expiresAt.');
}

/** A token without `expiresAt` and `days` never expires. Throws 422 if the account has TOKENS_MAX tokens. */
export async function makeToken(hub: Hub, wanted: Wanted, by: By): Promise<NewToken> {
  const { name, scope = 'write', days } = wanted;
  const expiresAt = days === undefined ? wanted.expiresAt : hub.clock() + days * DAY;
  return confirmed(hub, wanted.currentPassword, by, () => {
    if (apiTokens(hub).left(by.viewer.id) === 0) throw metLimit(hub, 'tokens-max', 0, TOO_MANY_TOKENS);
    const made = apiTokens(hub).create(by.viewer.id, name, scope, expiresAt ?? null);
    audit(hub, 'token.created', by, { kind: 'token', id: made.id, name }, { scope });
    return made;
  });
}

const TOO_MANY_TOKENS = `An account may have ${TOKENS_MAX} API tokens and app passwords together. End one first.`;

/** Revokes an API token of the viewer; throws 404 for another account's token. */
export function revokeToken(hub: Hub, id: number, by: By): void {
  hub.db.write('revoke api token', () => {
    const name = apiTokens(hub).nameOf(id, by.viewer.id);
    if (name === undefined) throw notFound('token');
    audit(hub, 'token.revoked', by, { kind: 'token', id, name });
    apiTokens(hub).revoke(id, by.viewer.id);
  });
}
