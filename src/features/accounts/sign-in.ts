import type { Db } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import type { Actor, RecordAct } from '../audit/audit.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { publicPart, type AccountStore, type AccountWithHash } from './account-store.ts';
import type { Checked, CheckPassword } from './check-password.ts';
import type { CredentialStore } from './credential-store.ts';
import type { Joined } from './join-hub.ts';
import { PASSWORD_MAX, type Passwords } from './passwords.ts';

type Deps = {
  db: Db;
  accounts: AccountStore;
  credentials: CredentialStore;
  passwords: Passwords;
  checkPassword: CheckPassword;
  recordAct: RecordAct;
};

export type SigningIn = ReturnType<typeof signingIn>;

/** Signing in and out. */
export function signingIn({ db, accounts, credentials, passwords, checkPassword, recordAct }: Deps) {
  const start = db.transaction('sign in', (account: AccountWithHash, newHash: string | null, address: string) => {
    const { id, username, passwordHash } = account;
    if (accounts.find(id)?.passwordHash !== passwordHash) return undefined;
    if (newHash) accounts.setPasswordHash(id, newHash);
    recordAct('session.created', { id, name: username, address });
    return credentials.startSession(id);
  });

  return {
    /** 401 for a wrong name or password, without saying which; 429 after repeated failures. */
    async signIn(values: Record<string, unknown>, address: string): Promise<Joined> {
      const { username, password } = readCredentials(values);
      const joined = await checkPassword({ username, password, address }, async ({ account, isOutdated }: Checked) => {
        const session = start(account, isOutdated ? await passwords.hash(password) : null, address);
        return session === undefined ? undefined : { account: publicPart(account), session };
      });
      if (!joined) throw new HttpError(401, 'This name and password do not fit.');
      return joined;
    },

    signOut: db.transaction('sign out', (viewer: Viewer, actor: Actor): void => {
      recordAct('session.ended', actor);
      credentials.endSession(viewer.credentialId);
    }),
  };
}

function readCredentials(values: Record<string, unknown>): { username: string; password: string } {
  const input = createInput(values);
  const username = input.text('username', { max: 200 });
  const password = input.secret('password', 1, PASSWORD_MAX);
  input.done();
  return { username, password };
}
