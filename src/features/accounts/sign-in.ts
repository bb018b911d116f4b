import { createInput } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/reply.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import type { Account } from './account-store.ts';
import { sessions } from './credential-store.ts';
import { checkPassword, PASSWORD_MAX } from './passwords.ts';

/** An account and the secret of a new session of it, for the cookie. */
export type SignedIn = { account: Account; session: string };

/**
 * Checks name and password: 401 where they do not fit, without saying which, 403 where they do but the account is
 * disabled; 429 after repeated failures.
 */
export async function signIn(hub: Hub, values: Record<string, unknown>, address: string): Promise<SignedIn> {
  const { username, password } = readCredentials(values);
  const signedIn = await checkPassword(hub, { username, password, address }, (account) => {
    const { id, username: name, disabledAt } = account;
    if (disabledAt !== null) throw new HttpError(403, 'This account is disabled. Ask an administrator.');
    audit(hub, 'session.created', { id, name, address });
    return { account, session: sessions(hub).start(id, address) };
  });
  if (!signedIn) throw new HttpError(401, 'Wrong name or password.');
  return signedIn.result;
}

/** Ends the session by which the viewer asks for it. */
export function signOut(hub: Hub, by: By): void {
  hub.db.write('sign out', () => {
    audit(hub, 'session.ended', by);
    sessions(hub).end(by.viewer.credentialId);
  });
}

function readCredentials(values: Record<string, unknown>): { username: string; password: string } {
  const input = createInput(values);
  const username = input.text('username', { max: 200 });
  const password = input.secret('password', 1, PASSWORD_MAX);
  input.done();
  return { username, password };
}
