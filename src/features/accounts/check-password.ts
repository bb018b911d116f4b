import { MINUTE, SECOND } from '../../platform/clock.ts';
import { addressGroup } from '../../platform/http/request-origin.ts';
import { tooMany } from '../../platform/http/problem.ts';
import type { Limit, RateLimits } from '../../platform/db/rate-limit-store.ts';
import type { AccountStore, AccountWithHash } from './account-store.ts';
import type { Passwords } from './passwords.ts';
import { hashSecret } from '../../platform/secrets.ts';

/** From one address, whatever name is tried: ten failures, then one a minute. */
const ADDRESS_LIMIT: Limit = { name: 'sign-in', burst: 10, everyMs: MINUTE };
/** For one name from everywhere: wide, so that a stranger can hardly lock its owner out. */
const NAME_LIMIT: Limit = { name: 'sign-in-name', burst: 100, everyMs: 10 * SECOND };

/** One more than the first, since only a hash that changed in between is worth another look. */
const ROUNDS = 2;

type Deps = { accounts: AccountStore; passwords: Passwords; limits: RateLimits };
type Tried = { username: string; password: string; address: string };

/** An account whose password fitted its hash; `isOutdated`: the hash was made with weaker parameters than today's. */
export type Checked = { account: AccountWithHash; isOutdated: boolean };

export type CheckPassword = ReturnType<typeof createCheckPassword>;

/**
 * Checks the password of a name and, where it fits, lets `act` use that. Checking takes a while, in which the password
 * may be changed or its hash renewed: `act` looks at the hash again, in its transaction, and answers undefined when it
 * is another one. Then the password is checked against that, once. Resolves to undefined where it does not fit; throws
 * 429 after repeated failures.
 */
export function createCheckPassword({ accounts, passwords, limits }: Deps) {
  return async <T>(tried: Tried, act: (checked: Checked) => Promise<T | undefined>): Promise<T | undefined> => {
    const refund = admit(tried);
    for (let round = 0; round < ROUNDS; round++) {
      const account = accounts.findByName(tried.username);
      const { ok, outdated } = await passwords.verify(tried.password, account?.passwordHash);
      if (!ok || !account) return undefined;
      const done = await act({ account, isOutdated: outdated });
      if (done === undefined) continue;
      refund();
      return done;
    }
    return undefined;
  };

  function admit({ username, address }: Tried): () => void {
    const taken: [Limit, string][] = [
      [ADDRESS_LIMIT, addressGroup(address)], [NAME_LIMIT, hashSecret(username.toLowerCase())],
    ];
    for (const [limit, who] of taken) {
      const wait = limits.take(limit, who);
      if (wait > 0) throw tooMany(wait / SECOND);
    }
    return () => taken.forEach(([limit, who]) => limits.refund(limit, who));
  }
}
