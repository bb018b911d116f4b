import { hashSecret, newSecret } from '../../platform/secrets.ts';
import { store } from '../hub/hub.ts';
import type { Role } from './account-store.ts';

export type Invitation = { id: number; role: Role; purpose: 'set-up' | 'invite'; createdAt: number; expiresAt: number };
type Wanted = { role: Role; purpose: Invitation['purpose']; createdBy: number | null; lifetime: number };

/** `token` belongs into the link and is not kept. */
export type NewInvitation = Invitation & { token: string };

const COLUMNS = 'id, role, purpose, created_at AS createdAt, expires_at AS expiresAt';

/** Links by which people join. A row is removed when its link is used or has expired. */
export const invitations = store(({ db, clock }) => {
  const insert = db.prepare<[string, Role, string, number | null, number, number], Invitation>('create invitation', `
    INSERT INTO invitations (token_hash, role, purpose, created_by, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?) RETURNING ${COLUMNS}`);
  const select = db.prepare<[string, number], Invitation>('invitation',
    `SELECT ${COLUMNS} FROM invitations WHERE token_hash = ? AND expires_at > ?`);
  const selectPage = db.prepare<[number, number, number], Invitation>('invitations', `
    SELECT ${COLUMNS} FROM invitations WHERE id > ? AND purpose = 'invite' AND expires_at > ? ORDER BY id LIMIT ?`);
  const selectOf = db.prepare<[number, number], Invitation>('invitations of account',
    `SELECT ${COLUMNS} FROM invitations WHERE created_by = ? AND expires_at > ? ORDER BY id`);
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
