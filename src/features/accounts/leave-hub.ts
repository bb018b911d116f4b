import { randomBytes } from 'node:crypto';
import { overwritingDeleted, type Db } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import type { RecordAct } from '../audit/audit.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { AccountStore, AccountWithHash } from './account-store.ts';
import type { CheckPassword } from './check-password.ts';
import type { CredentialStore } from './credential-store.ts';
import type { InvitationStore } from './invitation-store.ts';
import { PASSWORD_MAX } from './passwords.ts';
import type { RemovingAccounts } from './remove-account.ts';

export const LEAVE_CONFIRMATION = 'DELETE';

export type OwnedSource = { id: number; title: string };

type Deps = {
  db: Db;
  accounts: AccountStore;
  credentials: CredentialStore;
  invitations: InvitationStore;
  checkPassword: CheckPassword;
  recordAct: RecordAct;
  removingAccounts: Pick<RemovingAccounts, 'begin'>;
  /** All sources that the account owns; given by app. */
  ownedSources(accountId: number): OwnedSource[];
};

export type Leaving = ReturnType<typeof leaving>;

/** How a person leaves the hub for good. */
export function leaving(deps: Deps) {
  const { db, accounts, credentials, invitations, checkPassword, recordAct, removingAccounts, ownedSources } = deps;

  /** What keeps the account from leaving, or undefined. */
  function obstacle({ id, role }: Pick<Viewer, 'id' | 'role'>): HttpError | undefined {
    const sources = ownedSources(id);
    if (sources.length > 0) {
      return new HttpError(409, 'Transfer or delete your sources first.', { members: { sources } });
    }
    if (role === 'admin' && !accounts.hasOtherAdmin(id)) {
      return new HttpError(409, 'You are the last administrator. Invite another one first.');
    }
    return undefined;
  }

  /** The obstacle, null when the account has left, undefined when its password is another one by now. */
  const leave = db.transaction('leave the hub', (checked: AccountWithHash): HttpError | null | undefined => {
    const { id, passwordHash } = checked;
    if (accounts.find(id)?.passwordHash !== passwordHash) return undefined;
    const problem = obstacle(checked);
    if (problem) return problem;
    const name = `left:${randomBytes(4).toString('hex')}`; // nobody can join under a name with a colon
    credentials.removeAllOf(id);
    invitations.removeOf(id);
    accounts.depart(id, name);
    removingAccounts.begin(id);
    recordAct('account.deleted', { id: null, name, address: null }, { kind: 'account', id: null, name });
    return null;
  });

  return {
    obstacle,
    ownedSources,

    /**
     * Ends the account's sessions and tokens at once and removes its personal data. 422 without the confirmation, 403
     * for a wrong password, 429 after repeated ones, 409 while it owns sources (named in `sources`) or is the last
     * administrator.
     */
    async leave(viewer: Viewer, values: Record<string, unknown>, address: string): Promise<void> {
      const password = readLeave(values);
      const outcome = await checkPassword({ username: viewer.username, password, address }, async ({ account }) => {
        const problem = overwritingDeleted(db, () => leave(account));
        return problem === undefined ? undefined : { problem };
      });
      if (!outcome) throw new HttpError(403, 'The password is wrong.');
      if (outcome.problem) throw outcome.problem;
    },
  };
}

function readLeave(values: Record<string, unknown>): string {
  const input = createInput(values);
  const password = input.secret('password', 1, PASSWORD_MAX);
  if (values['confirmation'] !== LEAVE_CONFIRMATION) input.refuse('confirmation', `must be ${LEAVE_CONFIRMATION}.`);
  input.done();
  return password;
}
