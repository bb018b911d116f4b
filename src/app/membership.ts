import { createAccountStore } from '../features/accounts/account-store.ts';
import { createChangeAccount } from '../features/accounts/change-account.ts';
import { createCheckPassword } from '../features/accounts/check-password.ts';
import { createCredentialStore } from '../features/accounts/credential-store.ts';
import { createInvitationStore } from '../features/accounts/invitation-store.ts';
import { joining } from '../features/accounts/join-hub.ts';
import { createPasswords } from '../features/accounts/passwords.ts';
import { signingIn } from '../features/accounts/sign-in.ts';
import type { App } from './app.ts';

export type Membership = ReturnType<typeof createMembership>;

/** Who belongs to the hub and how people come in; only web and the command line need it. */
export function createMembership({ db, clock, limits, recordAct }: Pick<App, 'db' | 'clock' | 'limits' | 'recordAct'>) {
  const accounts = createAccountStore(db, clock);
  const credentials = createCredentialStore(db, clock);
  const invitations = createInvitationStore(db, clock);
  const passwords = createPasswords();
  const checkPassword = createCheckPassword({ accounts, passwords, limits });
  const deps = { db, accounts, credentials, invitations, passwords, limits, recordAct, checkPassword };

  return {
    accounts,
    credentials,
    invitations,
    joining: joining(deps),
    signingIn: signingIn(deps),
    changeAccount: createChangeAccount(deps),
  };
}
