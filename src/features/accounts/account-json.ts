import type { Account } from './account-store.ts';

/** An account as the API shows it to its owner. */
export function accountJson({ id, username, displayName, role, createdAt }: Account) {
  return { id, username, displayName, role, createdAt: new Date(createdAt).toISOString() };
}
