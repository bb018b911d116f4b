import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { MINUTE, SECOND } from '../../platform/clock.ts';
import { secret, type Field } from '../../platform/http/fields.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { createSlots } from '../../platform/limit-concurrency.ts';
import { networksOf } from '../../platform/net/address-guard.ts';
import { hashSecret } from '../../platform/secrets.ts';
import { ownTurn } from '../../platform/turns.ts';
import type { By } from '../audit/audit.ts';
import { limits, metLimit, once, takeTurns, type Hub, type StoreHub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { accounts, publicPart, type Account, type AccountWithHash } from './account-store.ts';
import { signInNetworks } from './credential-store.ts';

/** The shortest and the longest new password, in bytes of UTF-8. */
export const PASSWORD_MIN = 10;
export const PASSWORD_MAX = 1024;

export const newPassword = secret(PASSWORD_MIN, PASSWORD_MAX);

/** The password of who asks for what a session alone must not do; `password` is another name for it. */
export const currentPassword: Field<string, string, string> = {
  ...secret(1, PASSWORD_MAX),
  read(input, name) {
    const sent = ['currentPassword', 'password'].find((one) => input.value(one) !== undefined) ?? name;
    return input.secret(sent, 1, PASSWORD_MAX);
  },
};

/** Spread into acts that have `currentPassword`. */
export const CONFIRMED: { proof: 'session'; refusals: number[] } = { proof: 'session', refusals: [429] };

/** OWASP's minimum for argon2id (2023): 19 MiB, 2 passes, 1 lane. */
const CURRENT = { memory: 19 * 1024, passes: 2, parallelism: 1 };
const TAG_LENGTH = 32;

/** Computing a password hash takes 0.1 s and 19 MiB, in Node's thread pool, which also serves files and DNS. */
const AT_ONCE = 2;
const WAITING = 30;

type Parameters = typeof CURRENT;
type Parsed = { parameters: Parameters; salt: Buffer; tag: Buffer };

/** Sign-ins with an unknown user name are checked against this hash, so that they take as long as other sign-ins. */
const OF_NOBODY: Parsed = { parameters: CURRENT, salt: Buffer.alloc(16), tag: Buffer.alloc(TAG_LENGTH) };

const derive = promisify(argon2);
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

const CONFIRMATION_LIMIT: NamedLimit = { name: 'sign-in-session', burst: 10, everyMs: MINUTE };
const KNOWN_NETWORK_LIMIT: NamedLimit = { name: 'sign-in-known', burst: 10, everyMs: MINUTE };
const ADDRESS_LIMIT: NamedLimit = { name: 'sign-in', burst: 10, everyMs: MINUTE };
/** Of a user name. It is high, so that strangers hardly lock an owner out who comes from an unknown network. */
const NAME_LIMIT: NamedLimit = { name: 'sign-in-name', burst: 100, everyMs: 10 * SECOND };

const ROUNDS = 2;

type Attempt = {
  username: string;
  password: string;
  address: string;
  sessionId?: number; // the viewer's session, if a signed-in viewer confirms an action
  newPassword?: string | undefined; // the hub stores the new password if `password` is right
};

/**
 * Runs `act` in a transaction if the password is right; undefined if it is wrong. If the stored hash changed during the
 * slow check, checks once more. Throws 429.
 */
export async function checkPassword<T>(
  hub: Hub, attempt: Attempt, act: (account: Account) => T,
): Promise<{ result: T } | undefined> {
  const { giveBack, who, refusal } = await admitted(hub, attempt);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const account = accounts(hub).findByName(attempt.username);
      const { ok, outdated } = await passwords(hub).verify(attempt.password, account?.passwordHash, who);
      await ownTurn();
      if (!ok || !account) break;
      const toHash = attempt.newPassword ?? (outdated ? attempt.password : undefined);
      const newHash = toHash === undefined ? undefined : await passwords(hub).hash(toHash);
      await ownTurn();
      const done = whileUnchanged(hub, account, newHash, act);
      if (done === undefined) continue;
      giveBack();
      return done;
    }
  } catch (error) {
    giveBack(); // the given password was right, or no password was checked
    throw error;
  }
  if (refusal) throw refusal;
  return undefined;
}

type Admitted = { giveBack: () => void; who: string | number | undefined; refusal?: unknown };

/**
 * Where strangers may guess no more, the owner still signs in from a known network; a wrong password is then refused
 * with `refusal`, as it is for every other name, and after as long. Throws 429.
 */
async function admitted(hub: Hub, attempt: Attempt): Promise<Admitted> {
  const { taken, known, who } = signInLimitsOf(hub, attempt);
  try {
    return { giveBack: takeTurns(hub, taken), who };
  } catch (refusal) {
    if (known && limits(hub).take(...known) === 0) {
      return { giveBack: () => limits(hub).refund(...known), who, refusal };
    }
    if (attempt.sessionId === undefined) await delay(passwords(hub).lastMs());
    throw refusal;
  }
}

function whileUnchanged<T>(
  hub: Hub, { id, passwordHash }: AccountWithHash, newHash: string | undefined, act: (account: Account) => T,
): { result: T } | undefined {
  return hub.db.write('use password', () => {
    const account = accounts(hub).find(id); // reads the account again: its role may have changed meanwhile
    if (account?.passwordHash !== passwordHash) return undefined;
    if (newHash !== undefined) accounts(hub).setPasswordHash(id, newHash);
    return { result: act(publicPart(account)) };
  });
}

type Limited = [NamedLimit, who: string];

/**
 * The limits that one password attempt counts towards. `known`: the limit that counts once one of them is reached, for
 * an account that has signed in from this network. `who`: the account or network, for fair queueing.
 */
export function signInLimitsOf(
  hub: Hub, { username, address, sessionId }: Omit<Attempt, 'password'>,
): { taken: Limited[]; known?: Limited; who: string | number | undefined } {
  const account = accounts(hub).findByName(username);
  if (sessionId !== undefined) return { taken: [[CONFIRMATION_LIMIT, String(sessionId)]], who: account?.id };
  const networks = networksOf(address);
  const taken: Limited[] = [...byNetwork(ADDRESS_LIMIT, address), [NAME_LIMIT, hashSecret(username.toLowerCase())]];
  const isKnown = account && signInNetworks(hub).has(account.id, networks[0]);
  if (!isKnown) return { taken, who: networks.at(-1) };
  return { taken, known: [KNOWN_NETWORK_LIMIT, `${account.id}:${networks[0]}`], who: account.id };
}

/** Limits of an IPv4 address, or of the /64, /56 and /48 of an IPv6 one: each has twice the limit of the one before. */
export function byNetwork({ name, burst, everyMs }: NamedLimit, address: string): [NamedLimit, string][] {
  return networksOf(address).map((network, n) => [{ name, burst: burst * 2 ** n, everyMs: everyMs / 2 ** n }, network]);
}

/** Throws 403 for a wrong password. */
export async function confirmed<T>(
  hub: Hub, password: string, by: By, act: () => T, toStore?: string,
): Promise<T> {
  const done = await checkPassword(hub, { ...confirmation(password, by), newPassword: toStore }, act);
  if (!done) throw new HttpError(403, 'The current password is wrong.');
  return done.result;
}

/** Counts towards the limit of the viewer's session, not of the address or the name. */
export function confirmation(password: string, { viewer, address }: By): Attempt {
  return { username: viewer.username, password, address, sessionId: viewer.credentialId };
}

/** Hashes and verifies passwords with argon2id (RFC 9106). Throws 503 when too many passwords wait for hashing. */
export const passwords = once((hub: StoreHub) => {
  const queue = createSlots(AT_ONCE, WAITING, () => metLimit(hub, 'passwords', 5, 'Too many people are signing in.'));
  let lastMs = 0;

  return {
    /** How long the last check took: refusals without a check take as long. */
    lastMs: (): number => lastMs,

    hash: (password: string): Promise<string> => queue(async () => {
      const salt = randomBytes(16);
      return format(CURRENT, salt, await tagOf(password, salt, CURRENT));
    }),

    /** `outdated`: the stored hash has weaker parameters than CURRENT. */
    verify(
      password: string, stored: string | undefined, who?: string | number,
    ): Promise<{ ok: boolean; outdated: boolean }> {
      return queue(async () => {
        const { parameters, salt, tag } = stored === undefined ? OF_NOBODY : parse(stored);
        const began = performance.now();
        const fits = timingSafeEqual(await tagOf(password, salt, parameters), tag);
        lastMs = performance.now() - began;
        return { ok: fits && stored !== undefined, outdated: isWeaker(parameters) };
      }, who);
    },
  };
});

function tagOf(password: string, salt: Buffer, parameters: Parameters): Promise<Buffer> {
  return derive('argon2id', { message: password, nonce: salt, tagLength: TAG_LENGTH, ...parameters });
}

function format({ memory, passes, parallelism }: Parameters, salt: Buffer, tag: Buffer): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

function parse(phc: string): Parsed {
  const [, memory, passes, parallelism, salt = '', tag = ''] = PHC.exec(phc) ?? [];
  if (!tag) throw new Error('the stored password hash has an unknown format');
  const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return { parameters, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') };
}

function isWeaker({ memory, passes }: Parameters): boolean {
  return memory < CURRENT.memory || passes < CURRENT.passes;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/={1,2}$/, '');
}
