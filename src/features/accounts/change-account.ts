import { DAY } from '../../platform/clock.ts';
import { createInput, readInput, type Input } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { audit, type By } from '../audit/audit.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { accounts, publicPart, type Account } from './account-store.ts';
import { apiTokens, passwordLinks, sessions, TOKEN_SCOPES, TOKENS_MAX, type NewToken } from './credential-store.ts';
import { DISPLAY_NAME_MAX } from './join-hub.ts';
import { confirmed, PASSWORD_MAX, PASSWORD_MIN, readConfirmation } from './passwords.ts';

type Change = { displayName: string | undefined; newPassword: string | undefined; currentPassword: string };

/**
 * A new password ends the account's other sessions, app passwords and password links, but not other API tokens. It
 * needs a session and the current password; a new name does not.
 */
export async function changeAccount(hub: Hub, values: Record<string, unknown>, by: By): Promise<Account> {
  const change = readChange(values, by);
  if (change.newPassword !== undefined) await changePassword(hub, change, by);
  else if (change.displayName) rename(hub, change.displayName, by);
  return ownAccount(hub, by.viewer);
}

/** The viewer's account; throws 401 if the account was deleted while the request ran. */
export function ownAccount(hub: Hub, { id }: Viewer): Account {
  const account = accounts(hub).find(id);
  if (!account) throw new HttpError(401, 'This account no longer exists.');
  return publicPart(account);
}

function rename(hub: Hub, displayName: string, by: By): void {
  hub.db.write('rename account', () => {
    accounts(hub).setDisplayName(by.viewer.id, displayName);
    audit(hub, 'account.renamed', by);
  });
}

async function changePassword(hub: Hub, change: Change, by: By): Promise<void> {
  const { displayName, newPassword, currentPassword } = change;
  const { id, credentialId } = by.viewer;
  await confirmed(hub, currentPassword, by, () => {
    if (displayName) accounts(hub).setDisplayName(id, displayName);
    sessions(hub).endOthers(id, credentialId);
    passwordLinks(hub).removeOf(id);
    apiTokens(hub).revokeReadersOf(id);
    audit(hub, 'account.password-changed', by);
  }, newPassword);
}

function readChange(values: Record<string, unknown>, by: By): Change {
  const input = createInput(values);
  const displayName = input.optionalText('displayName', { max: DISPLAY_NAME_MAX });
  const wantsPassword = values['newPassword'] !== undefined;
  const newPassword = wantsPassword ? input.secret('newPassword', PASSWORD_MIN, PASSWORD_MAX) : undefined;
  const currentPassword = wantsPassword ? readConfirmation(input, by) : '';
  if (displayName === undefined && !wantsPassword) input.refuse('displayName', 'must be sent, or newPassword.');
  input.done();
  return { displayName, newPassword, currentPassword };
}

/** Without `sessionId`, ends all the viewer's other sessions. Throws 404 if it is not one of the viewer's. */
export async function endSessions(
  hub: Hub, values: Record<string, unknown>, by: By, sessionId?: number,
): Promise<void> {
  const password = readInput(values, (input) => readConfirmation(input, by));
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

export const TOKEN_DAYS_MAX = 3_650;

/** A token without `expiresAt` and `days` never expires. Throws 422 if the account has TOKENS_MAX tokens. */
export async function makeToken(
  hub: Hub, values: Record<string, unknown>, by: By,
): Promise<NewToken> {
  const input = createInput(values);
  const name = input.text('name', { max: 80 });
  const scope = input.optionalChoice('scope', TOKEN_SCOPES) ?? 'write';
  const expiresAt = readExpiry(input, hub.clock());
  const password = readConfirmation(input, by);
  input.done();
  return confirmed(hub, password, by, () => {
    if (apiTokens(hub).left(by.viewer.id) === 0) throw metLimit(hub, 'tokens-max', 0, TOO_MANY_TOKENS);
    const made = apiTokens(hub).create(by.viewer.id, name, scope, expiresAt);
    audit(hub, 'token.created', by, { kind: 'token', id: made.id, name }, { scope });
    return made;
  });
}

const TOO_MANY_TOKENS = `An account may have ${TOKENS_MAX} API tokens and app passwords together. End one first.`;

function readExpiry(input: Input, now: number): number | null {
  const days = input.optionalInteger('days', 1, TOKEN_DAYS_MAX);
  const expiresAt = input.time('expiresAt');
  if (expiresAt !== undefined && expiresAt <= now) input.refuse('expiresAt', 'must be in the future.');
  if (input.has('days') && input.has('expiresAt')) input.refuse('days', 'must not be given together with expiresAt.');
  return days === undefined ? expiresAt ?? null : now + days * DAY;
}

/** Revokes an API token of the viewer; throws 404 for another account's token. */
export function revokeToken(hub: Hub, id: number, by: By): void {
  hub.db.write('revoke api token', () => {
    const name = apiTokens(hub).nameOf(id, by.viewer.id);
    if (name === undefined) throw notFound('token');
    audit(hub, 'token.revoked', by, { kind: 'token', id, name });
    apiTokens(hub).revoke(id, by.viewer.id);
  });
}
