import { MINUTE } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError, tooMany } from '../../platform/http/problem.ts';
import { addressGroup } from '../../platform/http/request-origin.ts';
import type { Limit, RateLimits } from '../../platform/db/rate-limit-store.ts';
import type { Actor, RecordAct } from '../audit/audit.ts';
import type { Account, AccountStore, Role } from './account-store.ts';
import type { CredentialStore } from './credential-store.ts';
import type { Invitation, InvitationStore } from './invitation-store.ts';
import { PASSWORD_MAX, PASSWORD_MIN, type Passwords } from './passwords.ts';

const JOIN_LIMIT: Limit = { name: 'join', burst: 20, everyMs: MINUTE };

const USERNAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9])?$/;
export const DISPLAY_NAME_MAX = 80;

type JoinDeps = {
  db: Db;
  accounts: AccountStore;
  invitations: InvitationStore;
  credentials: CredentialStore;
  passwords: Passwords;
  limits: RateLimits;
  recordAct: RecordAct;
};

export type Joined = { account: Account; session: string };

/** How people come in: invitations, and the set-up link of a hub that has nobody yet. */
export function joining({ db, accounts, invitations, credentials, passwords, limits, recordAct }: JoinDeps) {
  const create = db.transaction('join', (token: string, name: NewName, passwordHash: string, from: string): Joined => {
    const invitation = require(token); // again: another may have used it while the password was hashed
    const role: Role = accounts.exists() ? invitation.role : 'admin';
    const account = accounts.create({ ...name, role, passwordHash });
    if (!account) throw nameTaken();
    invitations.remove(invitation.id);
    invitations.removeSetUpLinks();
    const { id, username } = account;
    const actor: Actor = { id, name: username, address: from };
    recordAct('account.joined', actor, { kind: 'account', id, name: username }, { role, invitation: invitation.id });
    return { account, session: credentials.startSession(id) };
  });

  function find(token: string): Invitation | undefined {
    const invitation = invitations.find(token);
    return invitation?.purpose === 'set-up' && accounts.exists() ? undefined : invitation;
  }

  function require(token: string): Invitation {
    const invitation = find(token);
    if (!invitation) throw new HttpError(410, 'This invitation was used or has expired. Ask for a new one.');
    return invitation;
  }

  /** Makes the account, uses the invitation up and signs in. 410, 409, 422 or 429. */
  async function join(token: string, values: Record<string, unknown>, address: string): Promise<Joined> {
    const wait = limits.take(JOIN_LIMIT, addressGroup(address));
    if (wait > 0) throw tooMany(wait / 1000);
    require(token);
    const { password, ...name } = readJoin(values);
    if (accounts.findByName(name.username)) throw nameTaken();
    return create(token, name, await passwords.hash(password), address);
  }

  return {
    find,
    join,
    invite: db.transaction('invite', (role: Role, lifetime: number, actor: Actor) => {
      const invitation = invitations.create({ role, purpose: 'invite', createdBy: actor.id, lifetime });
      recordAct('invitation.created', actor, { kind: 'invitation', id: invitation.id, name: role });
      return invitation;
    }),
    withdraw: db.transaction('withdraw invitation', (id: number, actor: Actor): boolean => {
      const role = invitations.remove(id);
      if (role === undefined) return false;
      recordAct('invitation.withdrawn', actor, { kind: 'invitation', id, name: role });
      return true;
    }),
  };
}

export type Joining = ReturnType<typeof joining>;

type NewName = { username: string; displayName: string };

function readJoin(values: Record<string, unknown>): NewName & { password: string } {
  const input = createInput(values);
  const username = input.text('username', {
    max: 32, pattern: USERNAME, expected: 'may have letters, digits, and . _ - between them.',
  });
  const displayName = input.optionalText('displayName', { max: DISPLAY_NAME_MAX }) ?? username;
  const password = input.secret('password', PASSWORD_MIN, PASSWORD_MAX);
  input.done();
  return { username, displayName, password };
}

function nameTaken(): HttpError {
  const detail = 'This name is taken.';
  return new HttpError(409, detail, { errors: [{ pointer: '/username', detail }] });
}
