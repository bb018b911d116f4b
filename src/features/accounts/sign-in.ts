import { MINUTE, SECOND } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError, tooMany } from '../../platform/http/problem.ts';
import { addressGroup } from '../../platform/http/client-address.ts';
import type { Limit, RateLimits } from '../../platform/http/rate-limit.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { Actor, RecordAct } from '../../platform/record-act.ts';
import type { Account, AccountStore, AccountWithHash } from './account-store.ts';
import type { CredentialStore } from './credential-store.ts';
import { DISPLAY_NAME_MAX, type Joined } from './join-hub.ts';
import { PASSWORD_MAX, PASSWORD_MIN, type Passwords } from './passwords.ts';
import { hashSecret } from './secrets.ts';

/** From one address, whatever name is tried: ten failures, then one a minute. */
const ADDRESS_LIMIT: Limit = { name: 'sign-in', burst: 10, everyMs: MINUTE };
/** For one name from everywhere: wide, so that a stranger can hardly lock its owner out. */
const NAME_LIMIT: Limit = { name: 'sign-in-name', burst: 100, everyMs: 10 * SECOND };

export type SignInDeps = {
  db: Db;
  accounts: AccountStore;
  credentials: CredentialStore;
  passwords: Passwords;
  limits: RateLimits;
  recordAct: RecordAct;
};

export type SigningIn = ReturnType<typeof signingIn>;

/** Signing in and out, and what people change about their own account. */
export function signingIn({ db, accounts, credentials, passwords, limits, recordAct }: SignInDeps) {
  const start = db.transaction('sign in', (account: AccountWithHash, newHash: string | null, address: string): string => {
    if (newHash) accounts.setPasswordHash(account.id, newHash);
    recordAct('session.created', { id: account.id, name: account.username, address });
    return credentials.startSession(account.id);
  });

  function admit(username: string, address: string): () => void {
    const taken: [Limit, string][] = [[ADDRESS_LIMIT, addressGroup(address)], [NAME_LIMIT, hashSecret(username.toLowerCase())]];
    for (const [limit, who] of taken) {
      const wait = limits.take(limit, who);
      if (wait > 0) throw tooMany(wait / SECOND);
    }
    return () => taken.forEach(([limit, who]) => limits.refund(limit, who));
  }

  /** 401 for a wrong name or password, without saying which; 429 after repeated failures. */
  async function signIn(values: Record<string, unknown>, address: string): Promise<Joined> {
    const { username, password } = readCredentials(values);
    const refund = admit(username, address);
    const account = accounts.findByName(username);
    const { ok, outdated } = await passwords.verify(password, account?.passwordHash);
    if (!ok || !account) throw new HttpError(401, 'This name and password do not fit.');
    refund();
    const session = start(account, outdated ? await passwords.hash(password) : null, address);
    return { account: publicPart(account), session };
  }

  async function checkPassword(account: AccountWithHash, password: string, address: string): Promise<void> {
    const refund = admit(account.username, address);
    const { ok } = await passwords.verify(password, account.passwordHash);
    if (!ok) throw new HttpError(403, 'The current password is wrong.');
    refund();
  }

  const applyChange = db.transaction('change account', (viewer: Viewer, change: Change, hash: string | null, actor: Actor) => {
    if (change.displayName) accounts.setDisplayName(viewer.id, change.displayName);
    if (hash) {
      accounts.setPasswordHash(viewer.id, hash);
      credentials.endOtherSessions(viewer.id, viewer.via === 'session' ? viewer.credentialId : 0);
    }
    recordAct(hash ? 'account.password-changed' : 'account.changed', actor);
  });

  return {
    signIn,

    signOut: db.transaction('sign out', (viewer: Viewer, actor: Actor): void => {
      credentials.endSession(viewer.credentialId);
      recordAct('session.ended', actor);
    }),

    /** Changes the display name or, with the current one, the password, which ends all other sessions. */
    async change(viewer: Viewer, values: Record<string, unknown>, actor: Actor): Promise<Account> {
      const change = readChange(values);
      const account = accounts.find(viewer.id);
      if (!account) throw new HttpError(401, 'This account is gone.');
      if (change.newPassword) await checkPassword(account, change.currentPassword, actor.address ?? '');
      applyChange(viewer, change, change.newPassword ? await passwords.hash(change.newPassword) : null, actor);
      return publicPart(accounts.find(viewer.id) ?? account);
    },
  };
}

type Change = { displayName: string | undefined; currentPassword: string; newPassword: string | undefined };

function readCredentials(values: Record<string, unknown>): { username: string; password: string } {
  const input = createInput(values);
  const username = input.text('username', { max: 200 });
  const password = input.secret('password', 1, PASSWORD_MAX);
  input.done();
  return { username, password };
}

function readChange(values: Record<string, unknown>): Change {
  const input = createInput(values);
  const displayName = input.optionalText('displayName', { max: DISPLAY_NAME_MAX });
  const wantsPassword = values['newPassword'] !== undefined;
  const newPassword = wantsPassword ? input.secret('newPassword', PASSWORD_MIN, PASSWORD_MAX) : undefined;
  const currentPassword = wantsPassword ? input.secret('currentPassword', 1, PASSWORD_MAX) : '';
  if (displayName === undefined && !wantsPassword) input.refuse('displayName', 'or newPassword is required.');
  input.done();
  return { displayName, currentPassword, newPassword };
}

function publicPart({ id, username, displayName, role, createdAt }: Account): Account {
  return { id, username, displayName, role, createdAt };
}
