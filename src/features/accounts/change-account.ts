import type { Db } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import type { Actor, RecordAct } from '../audit/audit.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { publicPart, type Account, type AccountStore, type AccountWithHash } from './account-store.ts';
import type { CheckPassword } from './check-password.ts';
import type { CredentialStore } from './credential-store.ts';
import { DISPLAY_NAME_MAX } from './join-hub.ts';
import { PASSWORD_MAX, PASSWORD_MIN, type Passwords } from './passwords.ts';

type Deps = {
  db: Db;
  accounts: AccountStore;
  credentials: CredentialStore;
  passwords: Passwords;
  checkPassword: CheckPassword;
  recordAct: RecordAct;
};

type NewPassword = { current: string; next: string };
type Name = string | undefined;
type Wanted = { displayName: Name; password: NewPassword | undefined };
type By = { viewer: Viewer; actor: Actor };

export type ChangeAccount = ReturnType<typeof createChangeAccount>;

/**
 * Changes the display name or, with the current one, the password. A new password ends all other sessions; API tokens
 * go on working, but none of them may change it. 401, 403 for a wrong current password or a token, 422, 429.
 */
export function createChangeAccount({ db, accounts, credentials, passwords, checkPassword, recordAct }: Deps) {
  const rename = db.transaction('rename account', (viewer: Viewer, displayName: string, actor: Actor): void => {
    accounts.setDisplayName(viewer.id, displayName);
    recordAct('account.changed', actor);
  });

  const apply = db.transaction('change password', (checked: AccountWithHash, hash: string, name: Name, by: By) => {
    if (accounts.find(checked.id)?.passwordHash !== checked.passwordHash) return undefined;
    if (name) accounts.setDisplayName(checked.id, name);
    accounts.setPasswordHash(checked.id, hash);
    credentials.endOtherSessions(checked.id, by.viewer.credentialId);
    recordAct('account.password-changed', by.actor);
    return true;
  });

  async function changePassword({ current, next }: NewPassword, name: Name, by: By): Promise<void> {
    const { viewer, actor } = by;
    if (viewer.via === 'token') throw new HttpError(403, 'An API token may not change the password. Sign in for that.');
    const tried = { username: viewer.username, password: current, address: actor.address ?? '' };
    const done = await checkPassword(tried, async ({ account }) =>
      apply(account, await passwords.hash(next), name, by));
    if (!done) throw new HttpError(403, 'The current password is wrong.');
  }

  return async (viewer: Viewer, values: Record<string, unknown>, actor: Actor): Promise<Account> => {
    const { displayName, password } = readChange(values);
    if (password) await changePassword(password, displayName, { viewer, actor });
    else if (displayName) rename(viewer, displayName, actor);
    const account = accounts.find(viewer.id);
    if (!account) throw new HttpError(401, 'This account is gone.');
    return publicPart(account);
  };
}

function readChange(values: Record<string, unknown>): Wanted {
  const input = createInput(values);
  const displayName = input.optionalText('displayName', { max: DISPLAY_NAME_MAX });
  const wantsPassword = values['newPassword'] !== undefined;
  const next = wantsPassword ? input.secret('newPassword', PASSWORD_MIN, PASSWORD_MAX) : '';
  const current = wantsPassword ? input.secret('currentPassword', 1, PASSWORD_MAX) : '';
  if (displayName === undefined && !wantsPassword) input.refuse('displayName', 'or newPassword is required.');
  input.done();
  return { displayName, password: wantsPassword ? { current, next } : undefined };
}
