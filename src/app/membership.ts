import { accounts as accountsOf } from '../features/accounts/account-store.ts';
import { managingTokens } from '../features/accounts/api-tokens.ts';
import { createChangeAccount } from '../features/accounts/change-account.ts';
import { createCheckPassword } from '../features/accounts/check-password.ts';
import { credentials as credentialsOf } from '../features/accounts/credential-store.ts';
import { invitations as invitationsOf } from '../features/accounts/invitation-store.ts';
import { createExportAccount } from '../features/accounts/export-account.ts';
import { joining } from '../features/accounts/join-hub.ts';
import { leaving } from '../features/accounts/leave-hub.ts';
import { createPasswords } from '../features/accounts/passwords.ts';
import { signingIn } from '../features/accounts/sign-in.ts';
import { accountData } from './account-data.ts';
import type { App } from './app.ts';

export type Membership = ReturnType<typeof createMembership>;

/** Who belongs to the hub and how people come in; only web and the command line need it. */
export function createMembership(app: App) {
  const { hub, db, clock, limits, recordAct, people } = app;
  const { ownedSources, exportParts } = accountData(app);
  const accounts = accountsOf(hub);
  const credentials = credentialsOf(hub);
  const invitations = invitationsOf(hub);
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
    tokens: managingTokens(deps),
    leaving: leaving({ ...deps, ownedSources, removingAccounts: people.removingAccounts }),
    exportAccount: createExportAccount({ ...deps, exportParts, clock }),
  };
}
