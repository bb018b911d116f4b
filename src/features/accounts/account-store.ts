import { choice, id, named, object, text, time } from '../../platform/http/fields.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { createTimeRepair } from '../../platform/jobs/scheduler.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import { store, type StoreHub } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';

export type Role = Viewer['role'];
export const ROLES: readonly Role[] = ['admin', 'member'];
export type Account = {
  id: number; username: string; displayName: string; role: Role; createdAt: number; disabledAt: number | null;
};
export type AccountWithHash = Account & { passwordHash: string };
type NewAccount = { username: string; displayName: string; role: Role; passwordHash: string };

/** What its owner may see; administrators see more. */
export const ACCOUNT_MEMBERS = { id, username: text, displayName: text, role: choice(ROLES), createdAt: time };
export const ACCOUNT = named('Account', object(ACCOUNT_MEMBERS));

const PRESENT = 'left_at IS NULL';
const COLUMNS = 'id, username, display_name AS displayName, role, created_at AS createdAt, disabled_at AS disabledAt';

export const isPresent = (id: string): string => `EXISTS (SELECT 1 FROM accounts WHERE id = ${id} AND ${PRESENT})`;

/** SQL: whether the account is an administrator's. */
export const isAdmin = (id: string): string => `(SELECT role = 'admin' FROM accounts WHERE id = ${id})`;

export const displayNameOf = (id: string): string => `(SELECT display_name FROM accounts WHERE id = ${id})`;

export const presentNameOf = (id: string): string =>
  `(SELECT display_name FROM accounts WHERE id = ${id} AND ${PRESENT})`;

/** User names are case-insensitive. */
export const accounts = store(({ db, clock }) => {
  const insert = db.prepare<[NewAccount & { now: number }], Account>('create account', `
    INSERT INTO accounts (username, display_name, role, password_hash, created_at, updated_at)
    VALUES (@username, @displayName, @role, @passwordHash, @now, @now) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`);
  const updateName = db.prepare<[string, number, number]>('rename account',
    'UPDATE accounts SET display_name = ?, updated_at = ? WHERE id = ?');
  const updatePassword = db.prepare<[string, number, number]>('set password',
    'UPDATE accounts SET password_hash = ?, updated_at = ? WHERE id = ?');

  const updateState = db.prepare<[Role, number | null, number, number]>('change account',
    'UPDATE accounts SET role = ?, disabled_at = ?, updated_at = ? WHERE id = ?');
  const depart = db.prepare<[{ id: number; pseudonym: string; now: number }]>('account leaves', `
    UPDATE accounts SET username = @pseudonym, display_name = @pseudonym, role = 'member', password_hash = '',
           left_at = @now, created_at = @now, updated_at = @now
     WHERE id = @id AND ${PRESENT}`);
  const selectLeaver = db.prepare<[number], { name: string }>('account that left',
    'SELECT username AS name FROM accounts WHERE id = ? AND left_at IS NOT NULL');

  return {
    exists: db.prepare<[], { id: number }>('any account', `SELECT id FROM accounts WHERE ${PRESENT} LIMIT 1`).has,
    find: db.prepare<[id: number], AccountWithHash>('account',
      `SELECT ${COLUMNS}, password_hash AS passwordHash FROM accounts WHERE id = ? AND ${PRESENT}`).get,
    findByName: db.prepare<[username: string], AccountWithHash>('account by name',
      `SELECT ${COLUMNS}, password_hash AS passwordHash FROM accounts WHERE username = ? AND ${PRESENT}`).get,

    /** Undefined if the user name is taken. */
    create: (account: NewAccount): Account | undefined => insert.get({ ...account, now: clock() }),

    list: db.prepare<[after: number, limit: number], Account>('accounts',
      `SELECT ${COLUMNS} FROM accounts WHERE id > ? AND ${PRESENT} ORDER BY id LIMIT ?`).all,
    hasOtherAdmin: db.prepare<[id: number], { id: number }>('another admin',
      `SELECT id FROM accounts WHERE role = 'admin' AND id <> ? AND disabled_at IS NULL AND ${PRESENT} LIMIT 1`).has,
    depart: (id: number, pseudonym: string): void => void depart.run({ id, pseudonym, now: clock() }),
    pseudonymOf: (id: number): string | undefined => selectLeaver.get(id)?.name,
    delete: db.prepare<[id: number]>('delete account', 'DELETE FROM accounts WHERE id = ? AND left_at IS NOT NULL').run,
    setDisplayName: (id: number, displayName: string): void => void updateName.run(displayName, clock(), id),
    setState: (id: number, role: Role, disabledAt: number | null): void =>
      void updateState.run(role, disabledAt, clock(), id),
    setPasswordHash: (id: number, hash: string): void => void updatePassword.run(hash, clock(), id),
  };
});

/** A copy without the password hash. */
export function publicPart({ id, username, displayName, role, createdAt, disabledAt }: Account): Account {
  return { id, username, displayName, role, createdAt, disabledAt };
}

/** For a database that no running hub uses, such as a backup. Also counts accounts that have left. */
export function countAccounts({ db }: Pick<StoreHub, 'db'>): { accounts: number; admins: number } {
  return db.prepare<[], { accounts: number; admins: number }>('count accounts',
    `SELECT COUNT(*) AS accounts, COUNT(*) FILTER (WHERE role = 'admin') AS admins FROM accounts`).get()
    ?? { accounts: 0, admins: 0 };
}

export type Invitation = { id: number; role: Role; purpose: 'set-up' | 'invite'; createdAt: number; expiresAt: number };
type Wanted = { role: Role; purpose: Invitation['purpose']; createdBy: number | null; lifetime: number };

/** `token` is the secret part of an invitation link; the database stores only the token's hash. */
export type NewInvitation = Invitation & { token: string };

const INVITATION = 'id, role, purpose, created_at AS createdAt, expires_at AS expiresAt';

export const INVITATIONS_MAX = TABLES.invitations.most;

/** Invitation links, and set-up links for the first account. Joining by one removes its row. */
export const invitations = store(({ db, clock }) => {
  const insert = db.prepare<[string, Role, string, number | null, number, number], Invitation>('create invitation', `
    INSERT INTO invitations (token_hash, role, purpose, created_by, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?) RETURNING ${INVITATION}`);
  const select = db.prepare<[string, number], Invitation>('invitation',
    `SELECT ${INVITATION} FROM invitations WHERE token_hash = ? AND expires_at > ?`);
  const selectPage = db.prepare<[number, number, number], Invitation>('invitations', `
    SELECT ${INVITATION} FROM invitations WHERE id > ? AND purpose = 'invite' AND expires_at > ? ORDER BY id LIMIT ?`);
  const selectOf = db.prepare<[number, number], Invitation>('invitations of account', `
    SELECT ${INVITATION} FROM invitations WHERE created_by = ? AND expires_at > ?
     ORDER BY id DESC LIMIT ${INVITATIONS_MAX}`);
  const remove = db.prepare<[number], { role: Role }>('remove invitation',
    'DELETE FROM invitations WHERE id = ? RETURNING role');

  return {
    create({ role, purpose, createdBy, lifetime }: Wanted): NewInvitation {
      const token = newSecret();
      const row = insert.get(hashSecret(token), role, purpose, createdBy, clock(), clock() + lifetime);
      if (!row) throw new Error('the invitation was not created');
      return { ...row, token };
    },

    find: (token: string): Invitation | undefined => select.get(hashSecret(token), clock()),
    list: (after: number, limit: number): Invitation[] => selectPage.all(after, clock(), limit),
    listOf: (accountId: number): Invitation[] => selectOf.all(accountId, clock()),
    remove: (id: number): Role | undefined => remove.get(id)?.role,
    removeOf: db.prepare<[accountId: number]>('remove invitations of account',
      'DELETE FROM invitations WHERE created_by = ?').run,
    removeSetUpLinks: db.prepare<[]>('remove set-up links', `DELETE FROM invitations WHERE purpose = 'set-up'`).run,
    removeExpired: db.prepare<[before: number, batch: number]>('remove expired invitations',
      'DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at <= ? LIMIT ?)').change,
    bringBackTimes: createTimeRepair(db, clock, [
      { table: 'invitations', column: 'created_at', furthest: 0, along: 'expires_at' },
    ]),
  };
});
