import { createAccountStore } from '../features/accounts/account-store.ts';
import { createCredentialStore } from '../features/accounts/credential-store.ts';
import { createInvitationStore } from '../features/accounts/invitation-store.ts';
import { joining } from '../features/accounts/join-hub.ts';
import { createPasswords } from '../features/accounts/passwords.ts';
import { signingIn } from '../features/accounts/sign-in.ts';
import type { App } from './app.ts';

export type Accounts = ReturnType<typeof createAccounts>;

/** Everything about people; only web and the command line need it. */
export function createAccounts({ db, clock, limits, recordAct }: Pick<App, 'db' | 'clock' | 'limits' | 'recordAct'>) {
  const stores = {
    accounts: createAccountStore(db, clock),
    credentials: createCredentialStore(db, clock),
    invitations: createInvitationStore(db, clock),
  };
  const deps = { ...stores, db, limits, recordAct, passwords: createPasswords() };
  return { ...stores, joining: joining(deps), signingIn: signingIn(deps) };
}
