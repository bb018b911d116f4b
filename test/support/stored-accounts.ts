import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { type Account, accounts, type Role } from '../../src/features/accounts/account-store.ts';
import { type AuditRecord, auditRecords } from '../../src/features/audit/audit-store.ts';
import type { Stored } from './stored-rows.ts';

/** Adds somebody who cannot sign in. Returns the id. */
export function addAccount({ db }: Stored, username: string, role: Role = 'member'): number {
  const person = { username, displayName: username, role, passwordHash: '' };
  return accounts({ db, clock: Date.now }).create(person)?.id ?? NaN;
}

/** Changes an account without what the hub does when somebody asks for that. */
export function setAccount(
  { db }: Stored, username: string, change: Partial<Pick<Account, 'role' | 'disabledAt'>>,
): void {
  const store = accounts({ db, clock: Date.now });
  const account = store.findByName(username);
  assert.ok(account);
  const { role, disabledAt } = { ...account, ...change };
  store.setState(account.id, role, disabledAt);
}

/** Every audit record, oldest first. */
export function storedActs({ db }: Stored): AuditRecord[] {
  return auditRecords({ db, clock: Date.now }).list({}, undefined, 100_000).sort((a, b) => a.id - b.id);
}

/** Makes an app password of an API token, which keeps its spelling. */
export function makeAppPassword({ db }: Stored, tokenId: number): void {
  db.exec(`UPDATE api_tokens SET for_reader = 1 WHERE id = ${tokenId}`);
}

/** A stored hash with other parameters than the hub's; quick to check when they are small. */
export function storedHash(password: string, { memory = 8, passes = 1, parallelism = 1 } = {}): string {
  const nonce = Buffer.alloc(16, 7);
  const tag = argon2Sync('argon2id', { message: password, nonce, tagLength: 32, memory, passes, parallelism });
  const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}
