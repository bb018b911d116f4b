import { HOUR } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import type { AccountStore } from './account-store.ts';
import type { InvitationStore } from './invitation-store.ts';

const LIFETIME = 24 * HOUR;

/** The way into a hub that has nobody yet. */
export function setUpLinks(db: Db, accounts: AccountStore, invitations: InvitationStore) {
  return {
    /**
     * The token of a fresh link, good for 24 h, or null when somebody has joined already. Earlier links stay good until
     * one of them is used: whoever started the hub first may still hold one.
     */
    create: db.transaction('create set-up link', (): string | null => {
      if (accounts.exists()) return null;
      return invitations.create({ role: 'admin', purpose: 'set-up', createdBy: null, lifetime: LIFETIME }).token;
    }),
  };
}
