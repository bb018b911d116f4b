import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';

export type Role = 'admin' | 'member';
export type Account = { id: number; username: string; displayName: string; role: Role; createdAt: number };
export type AccountWithHash = Account & { passwordHash: string };
type NewAccount = { username: string; displayName: string; role: Role; passwordHash: string };

export type AccountStore = ReturnType<typeof createAccountStore>;

const COLUMNS = 'id, username, display_name AS displayName, role, created_at AS createdAt';

/** People who have joined. Names are compared without regard to case. */
export function createAccountStore(db: Db, clock: Clock) {
  const selectAny = db.prepare<[], { id: number }>('any account', 'SELECT id FROM accounts LIMIT 1');
  const select = db.prepare<[number], AccountWithHash>('account',
    `SELECT ${COLUMNS}, password_hash AS passwordHash FROM accounts WHERE id = ?`);
  const selectByName = db.prepare<[string], AccountWithHash>('account by name',
    `SELECT ${COLUMNS}, password_hash AS passwordHash FROM accounts WHERE username = ?`);
  const insert = db.prepare<[string, string, Role, string, number, number], Account>('create account', `
    INSERT INTO accounts (username, display_name, role, password_hash, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`);
  const updateName = db.prepare<[string, number, number]>('rename account',
    'UPDATE accounts SET display_name = ?, updated_at = ? WHERE id = ?');
  const updatePassword = db.prepare<[string, number, number]>('set password',
    'UPDATE accounts SET password_hash = ?, updated_at = ? WHERE id = ?');

  return {
    exists: (): boolean => selectAny.get() !== undefined,
    find: (id: number): AccountWithHash | undefined => select.get(id),
    findByName: (username: string): AccountWithHash | undefined => selectByName.get(username),

    /** Undefined when the name is taken. */
    create({ username, displayName, role, passwordHash }: NewAccount): Account | undefined {
      return insert.get(username, displayName, role, passwordHash, clock(), clock());
    },

    setDisplayName: (id: number, displayName: string): void => void updateName.run(displayName, clock(), id),
    setPasswordHash: (id: number, hash: string): void => void updatePassword.run(hash, clock(), id),
  };
}

/** An account without its password's hash. */
export function publicPart({ id, username, displayName, role, createdAt }: Account): Account {
  return { id, username, displayName, role, createdAt };
}
