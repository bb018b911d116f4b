import { randomBytes } from 'node:crypto';
import { overwritingDeleted } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { accounts, type AccountWithHash } from '../accounts/account-store.ts';
import { credentials } from '../accounts/credential-store.ts';
import { invitations } from '../accounts/invitation-store.ts';
import { checkPassword, PASSWORD_MAX } from '../accounts/passwords.ts';
import { audit } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { beginRemoval } from './remove-account.ts';

export const LEAVE_CONFIRMATION = 'DELETE';

export type OwnedSource = Pick<Source, 'id' | 'title'>;

/**
 * Ends the account's sessions and tokens at once and removes its personal data. 422 without the confirmation, 403 for
 * a wrong password, 429 after repeated ones, 409 while it owns sources (named in `sources`) or is the last
 * administrator.
 */
export async function leaveHub(
  hub: Hub, values: Record<string, unknown>, viewer: Viewer, address: string,
): Promise<void> {
  const attempt = { username: viewer.username, password: readLeave(values), address };
  const outcome = await checkPassword(hub, attempt, async ({ account }) => {
    const obstacle = overwritingDeleted(hub.db, () => depart(hub, account));
    return obstacle === undefined ? undefined : { obstacle };
  });
  if (!outcome) throw new HttpError(403, 'The password is wrong.');
  if (outcome.obstacle) throw outcome.obstacle;
}

/** The obstacle, null when the account has left, undefined when its password is another one by now. */
function depart(hub: Hub, checked: AccountWithHash): HttpError | null | undefined {
  return hub.db.write('leave the hub', () => {
    const { id, passwordHash } = checked;
    if (accounts(hub).find(id)?.passwordHash !== passwordHash) return undefined;
    const obstacle = obstacleToLeaving(hub, checked);
    if (obstacle) return obstacle;
    const name = `left:${randomBytes(4).toString('hex')}`; // nobody can join under a name with a colon
    credentials(hub).removeAllOf(id);
    invitations(hub).removeOf(id);
    accounts(hub).depart(id, name);
    beginRemoval(hub, id);
    audit(hub, 'account.deleted', { id: null, name, address: null }, { kind: 'account', id: null, name });
    return null;
  });
}

/** What keeps an account from leaving, or undefined. */
export function obstacleToLeaving(hub: Hub, { id, role }: Pick<Viewer, 'id' | 'role'>): HttpError | undefined {
  const owned = ownedSources(hub, id);
  if (owned.length > 0) {
    return new HttpError(409, 'Transfer or delete your sources first.', { members: { sources: owned } });
  }
  if (role === 'admin' && !accounts(hub).hasOtherAdmin(id)) {
    return new HttpError(409, 'You are the last administrator. Invite another one first.');
  }
  return undefined;
}

/** All sources that an account owns, without those that are being removed. */
export function ownedSources(hub: Hub, accountId: number): OwnedSource[] {
  return sources(hub).listOwned(accountId, 0, Number.MAX_SAFE_INTEGER).map(({ id, title }) => ({ id, title }));
}

function readLeave(values: Record<string, unknown>): string {
  const input = createInput(values);
  const password = input.secret('password', 1, PASSWORD_MAX);
  if (values['confirmation'] !== LEAVE_CONFIRMATION) input.refuse('confirmation', `must be ${LEAVE_CONFIRMATION}.`);
  input.done();
  return password;
}
