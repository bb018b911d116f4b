import { DAY, hasPassed, HOUR, isoTime, MINUTE } from '../../platform/clock.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { isStorageTrouble } from '../../platform/db/open-database.ts';
import { networksOf } from '../../platform/http/call-handler.ts';
import { hashSecret, newSecret, TOKEN_PREFIX } from '../../platform/secrets.ts';
import { store, type StoreHub } from '../hub/hub.ts';

export type Role = Viewer['role'];
export type Account = {
  id: number; username: string; displayName: string; role: Role; createdAt: number; disabledAt: number | null;
};
export type AccountWithHash = Account & { passwordHash: string };
type Pseudonym = { name: string };
type NewAccount = { username: string; displayName: string; role: Role; passwordHash: string };

/** An account as the API shows it to its owner. */
export function accountJson({ id, username, displayName, role, createdAt }: Account) {
  return { id, username, displayName, role, createdAt: isoTime(createdAt) };
}

/** Of accounts that have not left. */
const PRESENT = 'left_at IS NULL';
const COLUMNS = 'id, username, display_name AS displayName, role, created_at AS createdAt, disabled_at AS disabledAt';

/** SQL: whether the account of an id has not left. */
export const isPresent = (id: string): string => `EXISTS (SELECT 1 FROM accounts WHERE id = ${id} AND ${PRESENT})`;

/** SQL: the name that the account of an id shows. */
export const displayNameOf = (id: string): string => `(SELECT display_name FROM accounts WHERE id = ${id})`;

/** People who have joined. Names are compared without regard to case. */
export const accounts = store(({ db, clock }) => {
  const selectAny = db.prepare<[], { id: number }>('any account', `SELECT id FROM accounts WHERE ${PRESENT} LIMIT 1`);
  const select = db.prepare<[number], AccountWithHash>('account',
    `SELECT ${COLUMNS}, password_hash AS passwordHash FROM accounts WHERE id = ? AND ${PRESENT}`);
  const selectByName = db.prepare<[string], AccountWithHash>('account by name',
    `SELECT ${COLUMNS}, password_hash AS passwordHash FROM accounts WHERE username = ? AND ${PRESENT}`);
  const insert = db.prepare<[string, string, Role, string, number, number], Account>('create account', `
    INSERT INTO accounts (username, display_name, role, password_hash, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`);
  const updateName = db.prepare<[string, number, number]>('rename account',
    'UPDATE accounts SET display_name = ?, updated_at = ? WHERE id = ?');
  const updatePassword = db.prepare<[string, number, number]>('set password',
    'UPDATE accounts SET password_hash = ?, updated_at = ? WHERE id = ?');

  const updateState = db.prepare<[Role, number | null, number, number]>('change account',
    'UPDATE accounts SET role = ?, disabled_at = ?, updated_at = ? WHERE id = ?');
  const selectPage = db.prepare<[number, number], Account>('accounts',
    `SELECT ${COLUMNS} FROM accounts WHERE id > ? AND ${PRESENT} ORDER BY id LIMIT ?`);
  const selectOtherAdmin = db.prepare<[number], { id: number }>('another admin',
    `SELECT id FROM accounts WHERE role = 'admin' AND id <> ? AND disabled_at IS NULL AND ${PRESENT} LIMIT 1`);
  const depart = db.prepare<[Pseudonym & { id: number; now: number }]>('account leaves', `
    UPDATE accounts SET username = @name, display_name = @name, role = 'member', password_hash = '', left_at = @now,
           created_at = @now, updated_at = @now
     WHERE id = @id AND ${PRESENT}`);
  const selectLeaver = db.prepare<[number], Pseudonym>('account that left',
    'SELECT username AS name FROM accounts WHERE id = ? AND left_at IS NOT NULL');
  const remove = db.prepare<[number]>('delete account', 'DELETE FROM accounts WHERE id = ? AND left_at IS NOT NULL');

  return {
    exists: (): boolean => selectAny.get() !== undefined,
    find: (id: number): AccountWithHash | undefined => select.get(id),
    findByName: (username: string): AccountWithHash | undefined => selectByName.get(username),

    /** Undefined when the name is taken. */
    create({ username, displayName, role, passwordHash }: NewAccount): Account | undefined {
      return insert.get(username, displayName, role, passwordHash, clock(), clock());
    },

    /** By id. */
    list: (after: number, limit: number): Account[] => selectPage.all(after, limit),
    /** Whether somebody else administers the hub, and can sign in. */
    hasOtherAdmin: (id: number): boolean => selectOtherAdmin.get(id) !== undefined,
    /** From now on nobody can be this account; `name` stands where its names stood. */
    depart: (id: number, name: string): void => void depart.run({ id, name, now: clock() }),
    /** The name that stands for an account that has left; undefined for one that has not, or is gone altogether. */
    pseudonymOf: (id: number): string | undefined => selectLeaver.get(id)?.name,
    /** The row of an account that has left. */
    delete: (id: number): void => void remove.run(id),
    setDisplayName: (id: number, displayName: string): void => void updateName.run(displayName, clock(), id),
    setState: (id: number, role: Role, disabledAt: number | null): void =>
      void updateState.run(role, disabledAt, clock(), id),
    setPasswordHash: (id: number, hash: string): void => void updatePassword.run(hash, clock(), id),
  };
});

/** An account without its password's hash. */
export function publicPart({ id, username, displayName, role, createdAt, disabledAt }: Account): Account {
  return { id, username, displayName, role, createdAt, disabledAt };
}

/** For backups, whose databases are no running hubs'. */
export function countAccounts({ db }: Pick<StoreHub, 'db'>): { accounts: number; admins: number } {
  return db.prepare<[], { accounts: number; admins: number }>('count accounts',
    `SELECT COUNT(*) AS accounts, COUNT(*) FILTER (WHERE role = 'admin') AS admins FROM accounts`).get()
    ?? { accounts: 0, admins: 0 };
}

/** A session ends when it is not used for so long, and after the longer time in any case. */
export const SESSION_LIFETIME = 30 * DAY;
export const SESSION_MAX = 180 * DAY;

/** Uses are noted once in so long. */
const USE_NOTED = 10 * MINUTE;
/** Networks that are remembered of an account. */
const NETWORKS = 20;
export const PASSWORD_LINK_LIFETIME = HOUR;

export const TOKEN_SCOPES = ['read', 'write', 'admin'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];
type Used = { createdAt: number; seenAt: number | null };
export type ApiToken = Used & { id: number; name: string; scope: TokenScope; expiresAt: number | null };
export type Session = Used & { id: number; expiresAt: number; address: string | null };

type ViewerRow = Omit<Viewer, 'via'> & { seenAt: number | null };
const VIEWER = 'a.id, a.username, a.display_name AS displayName';
const ACTIVE = 'a.left_at IS NULL AND a.disabled_at IS NULL';
const USED = 'created_at AS createdAt, seen_at AS seenAt, expires_at AS expiresAt';

/** What proves who is asking: sessions of browsers and tokens of programs. Reading one never writes. */
export const credentials = store(({ db, clock }) => {
  const selectSession = db.prepare<[string, number], ViewerRow>('session', `
    SELECT ${VIEWER}, a.role, s.id AS credentialId, s.seen_at AS seenAt
      FROM sessions s JOIN accounts a ON a.id = s.account_id
     WHERE s.token_hash = ? AND s.expires_at > ? AND ${ACTIVE}`);
  const selectToken = db.prepare<[string, number], ViewerRow>('api token', `
    SELECT ${VIEWER}, iif(t.scope = 'admin', a.role, 'member') AS role, t.scope, t.id AS credentialId,
           t.seen_at AS seenAt
      FROM api_tokens t JOIN accounts a ON a.id = t.account_id
     WHERE t.token_hash = ? AND (t.expires_at IS NULL OR t.expires_at > ?) AND ${ACTIVE}`);
  const insertSession = db.prepare<[number, string, number, number, string | null, number]>('create session', `
    INSERT INTO sessions (account_id, token_hash, created_at, seen_at, address, expires_at) VALUES (?, ?, ?, ?, ?, ?)`);
  const renewSession = db.prepare<[{ id: number; now: number; address: string }]>('renew session', `
    UPDATE sessions SET seen_at = @now, address = @address,
           expires_at = min(@now + ${SESSION_LIFETIME}, created_at + ${SESSION_MAX}) WHERE id = @id`);
  const noteToken = db.prepare<[number, number]>('note api token', 'UPDATE api_tokens SET seen_at = ? WHERE id = ?');
  const deleteSession = db.prepare<[number]>('end session', 'DELETE FROM sessions WHERE id = ?');
  const deleteOthers = db.prepare<[number, number]>('end other sessions',
    'DELETE FROM sessions WHERE account_id = ? AND id <> ?');
  const deleteExpired = db.prepare<[number, number]>('remove expired sessions',
    'DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= ? LIMIT ?)');
  const selectSessions = db.prepare<[number, number], Session>('sessions of account', `
    SELECT id, address, ${USED} FROM sessions WHERE account_id = ? AND expires_at > ? ORDER BY id`);
  const insertToken = db.prepare<[number, string, string, TokenScope, number, number | null], ApiToken>(
    'create api token', `
    INSERT INTO api_tokens (account_id, name, token_hash, scope, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
    RETURNING id, name, scope, ${USED}`);
  const selectTokens = db.prepare<[number], ApiToken>('api tokens',
    `SELECT id, name, scope, ${USED} FROM api_tokens WHERE account_id = ? ORDER BY id`);
  const deleteToken = db.prepare<[number, number]>('revoke api token',
    'DELETE FROM api_tokens WHERE id = ? AND account_id = ?');
  const deleteTokens = db.prepare<[number]>('revoke api tokens', 'DELETE FROM api_tokens WHERE account_id = ?');

  const selectNetwork = db.prepare<[number, string], { seenAt: number }>('known network',
    'SELECT seen_at AS seenAt FROM sign_in_networks WHERE account_id = ? AND network = ?');
  const upsertNetwork = db.prepare<[number, string, number]>('remember network', `
    INSERT INTO sign_in_networks (account_id, network, seen_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at`);
  const forgetNetworks = db.prepare<[{ id: number; kept: number }]>('forget networks', `
    DELETE FROM sign_in_networks WHERE account_id = @id AND network NOT IN
      (SELECT network FROM sign_in_networks WHERE account_id = @id ORDER BY seen_at DESC LIMIT @kept)`);
  const selectNetworks = db.prepare<[number], { network: string; seenAt: number }>('networks of account',
    'SELECT network, seen_at AS seenAt FROM sign_in_networks WHERE account_id = ? ORDER BY seen_at');

  const upsertLink = db.prepare<[number, string, number]>('create password link', `
    INSERT INTO password_links (account_id, token_hash, expires_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET token_hash = excluded.token_hash, expires_at = excluded.expires_at`);
  const selectLink = db.prepare<[string, number], { accountId: number }>('password link',
    'SELECT account_id AS accountId FROM password_links WHERE token_hash = ? AND expires_at > ?');
  const deleteLink = db.prepare<[number]>('remove password link', 'DELETE FROM password_links WHERE account_id = ?');
  const deleteLinks = db.prepare<[]>('remove all password links', 'DELETE FROM password_links');
  const deleteExpiredLinks = db.prepare<[number, number]>('remove expired password links', `
    DELETE FROM password_links WHERE account_id IN
      (SELECT account_id FROM password_links WHERE expires_at <= ? LIMIT ?)`);

  /** The viewer of a row; a use that is worth noting is, with the address that `from` tells. */
  function viewerOf({ seenAt, ...row }: ViewerRow, via: Viewer['via'], from: () => string): Viewer {
    const [now, id, viewer] = [clock(), row.credentialId, { ...row, via }];
    if (seenAt !== null && !hasPassed(seenAt, USE_NOTED, now)) return viewer;
    try {
      if (via === 'session') renewSession.run({ id, now, address: from() });
      else noteToken.run(now, id);
    } catch (error) {
      if (!isStorageTrouble(error)) throw error; // a disk that cannot be written keeps nobody out
    }
    return viewer;
  }

  return {
    /** Null where there is none. `from`: the client's address, asked for when it is to be noted. */
    viewerOfSession(secret: string, from: () => string): Viewer | null {
      const row = selectSession.get(hashSecret(secret), clock());
      return row ? viewerOf(row, 'session', from) : null;
    },

    viewerOfToken(token: string, from: () => string): Viewer | null {
      const row = selectToken.get(hashSecret(token), clock());
      return row ? viewerOf(row, 'token', from) : null;
    },

    /** The secret for the cookie; it is not kept. The network of the address is remembered as the account's. */
    startSession(accountId: number, address: string | null = null): string {
      const secret = newSecret();
      const now = clock();
      insertSession.run(accountId, hashSecret(secret), now, now, address, now + SESSION_LIFETIME);
      if (address) upsertNetwork.run(accountId, networksOf(address)[0], now);
      forgetNetworks.run({ id: accountId, kept: NETWORKS });
      return secret;
    },

    /** Whether the account has signed in from that network. */
    knows: (accountId: number, network: string): boolean => selectNetwork.get(accountId, network) !== undefined,
    networksOf: (accountId: number): { network: string; seenAt: number }[] => selectNetworks.all(accountId),

    /** Those that have not expired. */
    sessionsOf: (accountId: number): Session[] => selectSessions.all(accountId, clock()),
    /** Nothing that proves to be the account does so any more. */
    removeAllOf(accountId: number): void {
      deleteOthers.run(accountId, 0);
      deleteTokens.run(accountId);
      deleteLink.run(accountId);
    },
    forgetNetworks: (accountId: number): void => void forgetNetworks.run({ id: accountId, kept: 0 }),

    endSession: (sessionId: number): void => void deleteSession.run(sessionId),
    /** Ends all sessions of the account but this one, and says how many. */
    endOtherSessions: (accountId: number, sessionId: number): number => deleteOthers.run(accountId, sessionId).changes,
    /** Sessions and links for new passwords. */
    removeExpired: (batch: number): number =>
      Math.max(deleteExpired.run(clock(), batch).changes, deleteExpiredLinks.run(clock(), batch).changes),

    /** The token's value is in the answer and nowhere else. */
    createToken(
      accountId: number, name: string, scope: TokenScope, expiresAt: number | null,
    ): ApiToken & { token: string } {
      const token = TOKEN_PREFIX + newSecret();
      const row = insertToken.get(accountId, name, hashSecret(token), scope, clock(), expiresAt);
      if (!row) throw new Error('api token was not created');
      return { ...row, token };
    },

    tokensOf: (accountId: number): ApiToken[] => selectTokens.all(accountId),
    revokeToken: (id: number, accountId: number): void => void deleteToken.run(id, accountId),

    /** A new link for a new password, in the place of an older one; its token is not kept. */
    createPasswordLink(accountId: number): { token: string; expiresAt: number } {
      const [token, expiresAt] = [newSecret(), clock() + PASSWORD_LINK_LIFETIME];
      upsertLink.run(accountId, hashSecret(token), expiresAt);
      return { token, expiresAt };
    },
    removePasswordLink: (accountId: number): void => void deleteLink.run(accountId),
    /** Whoever they are for. */
    removeAllLinks: (): void => void deleteLinks.run(),
    /** The id of the account that a link is for; undefined for an unknown, used or expired one. */
    accountOfPasswordLink: (token: string): number | undefined => selectLink.get(hashSecret(token), clock())?.accountId,
  };
});

/**
 * In a database that was restored: whoever signed out since must not be signed in again, and no link for a password
 * work twice. Returns how many sessions ended.
 */
export function endAllSessions({ db }: Pick<StoreHub, 'db'>): number {
  db.exec('DELETE FROM password_links');
  return db.prepare<[]>('end all sessions', 'DELETE FROM sessions').run().changes;
}

export type Invitation = { id: number; role: Role; purpose: 'set-up' | 'invite'; createdAt: number; expiresAt: number };
type Wanted = { role: Role; purpose: Invitation['purpose']; createdBy: number | null; lifetime: number };

/** `token` belongs in the link and is not kept. */
export type NewInvitation = Invitation & { token: string };

const INVITATION = 'id, role, purpose, created_at AS createdAt, expires_at AS expiresAt';

/** Links by which people join. A row is removed when its link is used or has expired. */
export const invitations = store(({ db, clock }) => {
  const insert = db.prepare<[string, Role, string, number | null, number, number], Invitation>('create invitation', `
    INSERT INTO invitations (token_hash, role, purpose, created_by, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?) RETURNING ${INVITATION}`);
  const select = db.prepare<[string, number], Invitation>('invitation',
    `SELECT ${INVITATION} FROM invitations WHERE token_hash = ? AND expires_at > ?`);
  const selectPage = db.prepare<[number, number, number], Invitation>('invitations', `
    SELECT ${INVITATION} FROM invitations WHERE id > ? AND purpose = 'invite' AND expires_at > ? ORDER BY id LIMIT ?`);
  const selectOf = db.prepare<[number, number], Invitation>('invitations of account',
    `SELECT ${INVITATION} FROM invitations WHERE created_by = ? AND expires_at > ? ORDER BY id`);
  const remove = db.prepare<[number], { role: Role }>('remove invitation',
    'DELETE FROM invitations WHERE id = ? RETURNING role');
  const removeOf = db.prepare<[number]>('remove invitations of account',
    'DELETE FROM invitations WHERE created_by = ?');
  const removeSetUp = db.prepare<[]>('remove set-up links', `DELETE FROM invitations WHERE purpose = 'set-up'`);
  const deleteExpired = db.prepare<[number, number]>('remove expired invitations',
    'DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at <= ? LIMIT ?)');

  return {
    create({ role, purpose, createdBy, lifetime }: Wanted): NewInvitation {
      const token = newSecret();
      const row = insert.get(hashSecret(token), role, purpose, createdBy, clock(), clock() + lifetime);
      if (!row) throw new Error('invitation was not created');
      return { ...row, token };
    },

    /** Undefined for an unknown, used or expired link. */
    find: (token: string): Invitation | undefined => select.get(hashSecret(token), clock()),
    /** Those that can still be used, by id. */
    list: (after: number, limit: number): Invitation[] => selectPage.all(after, clock(), limit),
    /** Those that an account has made. */
    listOf: (accountId: number): Invitation[] => selectOf.all(accountId, clock()),
    /** The role it was for; undefined when there is no such invitation. */
    remove: (id: number): Role | undefined => remove.get(id)?.role,
    removeOf: (accountId: number): void => void removeOf.run(accountId),
    removeSetUpLinks: (): void => void removeSetUp.run(),
    removeExpired: (batch: number): number => deleteExpired.run(clock(), batch).changes,
  };
});
