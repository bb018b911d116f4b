import { DAY, hasPassed, HOUR, MINUTE } from '../../platform/clock.ts';
import { isStorageTrouble } from '../../platform/db/open-database.ts';
import { DEFAULT_PREFERENCES } from '../hub/preferences.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { createTimeRepair } from '../../platform/jobs/scheduler.ts';
import { networksOf } from '../../platform/net/address-guard.ts';
import { hashSecret, newSecret, newTypedSecret } from '../../platform/secrets.ts';
import { store, type StoreHub } from '../hub/hub.ts';
import { TOKEN_PREFIX } from '../hub/setting-values.ts';
import { TABLES } from '../hub/tables.ts';
import type { PreferencesRow } from './preferences-store.ts';

export const SESSION_LIFETIME = 30 * DAY;
export const SESSION_MAX = 180 * DAY;
export const PASSWORD_LINK_LIFETIME = HOUR;

const LAST_USE_STORED_EVERY = 10 * MINUTE;
export const SESSIONS_KEPT = TABLES.sessions.most;
export const TOKENS_MAX = TABLES.api_tokens.most;

/** An API token of scope `reader` is an app password, which opens the Google Reader API and nothing else. */
export const TOKEN_SCOPES = ['read', 'write', 'admin', 'reader'] as const;
type TokenScope = (typeof TOKEN_SCOPES)[number];
type Used = { createdAt: number; seenAt: number | null; address: string | null };
export type ApiToken = Used & { id: number; name: string; scope: TokenScope; expiresAt: number | null };
export type NewToken = ApiToken & { token: string };
export type Session = Used & { id: number; expiresAt: number };

/** `keys`: the preference for keyboard shortcuts; null if the account has no row in `preferences`. */
type ViewerRow = Omit<Viewer, 'via' | 'preferences'> & Omit<PreferencesRow, 'keys'> &
  { keys: number | null; seenAt: number | null };
const VIEWER = `a.id, a.username, a.display_name AS displayName, p.time_zone AS timeZone, p.density,
  p.text_size AS textSize, p.theme, p.typeface, p.measure, p.sources_by AS sourcesBy, p.keys, p.next_steps AS nextSteps,
  p.marks_opened AS marksOpened, p.marks_scrolled AS marksScrolled, p.joins_doubles AS joinsDoubles`;
const WITH_PREFERENCES = 'LEFT JOIN preferences p ON p.account_id = a.id';
const ACTIVE = 'a.left_at IS NULL AND a.disabled_at IS NULL';
/** SQL condition: at the time `?` the token `t` has not expired, and its account `a` is active. */
export const LIVE = `(t.expires_at IS NULL OR t.expires_at > ?) AND ${ACTIVE}`;
const USED = 'created_at AS createdAt, seen_at AS seenAt, expires_at AS expiresAt, address';
const SCOPE = `iif(for_reader, 'reader', scope) AS scope`;
const TOKEN = `id, name, ${SCOPE}, ${USED}`;

/** Networks from which accounts have signed in. Failed sign-ins from unknown networks never lock known networks out. */
export const signInNetworks = store(({ db, clock }) => {
  const upsert = db.prepare<[number, string, number]>('remember network', `
    INSERT INTO sign_in_networks (account_id, network, seen_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at`);
  const keepLatest = db.prepare<[{ id: number; kept: number }]>('forget networks', `
    DELETE FROM sign_in_networks WHERE account_id = @id AND network NOT IN
      (SELECT network FROM sign_in_networks WHERE account_id = @id ORDER BY seen_at DESC LIMIT @kept)`);

  return {
    has: db.prepare<[accountId: number, network: string], { seenAt: number }>('known network',
      'SELECT seen_at AS seenAt FROM sign_in_networks WHERE account_id = ? AND network = ?').has,
    remember(accountId: number, address: string): void {
      upsert.run(accountId, networksOf(address)[0], clock());
      keepLatest.run({ id: accountId, kept: TABLES.sign_in_networks.most });
    },
    listOf: db.prepare<[accountId: number], { network: string; seenAt: number }>('networks of account',
      'SELECT network, seen_at AS seenAt FROM sign_in_networks WHERE account_id = ? ORDER BY seen_at').all,
    removeOf: (accountId: number): void => void keepLatest.run({ id: accountId, kept: 0 }),
  };
});

function viewerOf(row: ViewerRow, via: Viewer['via'], now: number, note: () => void): Viewer {
  const {
    seenAt, timeZone, density, textSize, theme, typeface, measure, sourcesBy,
    keys, marksOpened, marksScrolled, joinsDoubles, nextSteps, ...who
  } = row;
  const chosen = {
    timeZone, density, textSize, theme, typeface, measure, sourcesBy,
    keys: keys === 1, marksOpened: marksOpened === 1, marksScrolled: marksScrolled === 1,
    joinsDoubles: joinsDoubles === 1, nextSteps: nextSteps === 1,
  };
  const viewer = { ...who, via, preferences: keys === null ? DEFAULT_PREFERENCES : chosen };
  if (seenAt !== null && (seenAt > now || !hasPassed(seenAt, LAST_USE_STORED_EVERY, now))) return viewer;
  try {
    note();
  } catch (error) {
    if (!isStorageTrouble(error)) throw error; // a full disk must not sign people out
  }
  return viewer;
}

type NewSession = { accountId: number; hash: string; now: number; address: string | null; expiresAt: number };

export const sessions = store((hub) => {
  const { db, clock } = hub;
  const select = db.prepare<[string, number], ViewerRow>('session', `
    SELECT ${VIEWER}, a.role, s.id AS credentialId, s.seen_at AS seenAt
      FROM sessions s JOIN accounts a ON a.id = s.account_id ${WITH_PREFERENCES}
     WHERE s.token_hash = ? AND s.expires_at > ? AND ${ACTIVE}`);
  const insert = db.prepare<[NewSession]>('create session', `
    INSERT INTO sessions (account_id, token_hash, created_at, seen_at, address, expires_at)
    VALUES (@accountId, @hash, @now, @now, @address, @expiresAt)`);
  const renew = db.prepare<[{ id: number; now: number; address: string }]>('renew session', `
    UPDATE sessions SET seen_at = @now, address = @address,
           expires_at = max(expires_at, min(@now + ${SESSION_LIFETIME}, created_at + ${SESSION_MAX})) WHERE id = @id`);
  const removeOldest = db.prepare<[{ accountId: number }]>('end oldest sessions', `
    DELETE FROM sessions WHERE account_id = @accountId AND id NOT IN
      (SELECT id FROM sessions WHERE account_id = @accountId ORDER BY id DESC LIMIT ${SESSIONS_KEPT})`);
  const selectOf = db.prepare<[number, number], Session>('sessions of account', `
    SELECT id, ${USED} FROM sessions WHERE account_id = ? AND expires_at > ?
     ORDER BY id DESC LIMIT ${SESSIONS_KEPT}`);

  return {
    /** The viewer of a valid session, or null. `from`: the client's address; undefined if the hub must not write. */
    viewerOf(secret: string, from: () => string | undefined): Viewer | null {
      const now = clock();
      const row = select.get(hashSecret(secret), now);
      if (!row) return null;
      return viewerOf(row, 'session', now, () => {
        const address = from();
        if (address !== undefined) renew.run({ id: row.credentialId, now, address });
      });
    },

    accountOf: (secret: string): number | undefined => select.get(hashSecret(secret), clock())?.id,

    /** Returns the new session's secret for the session cookie. The oldest sessions beyond SESSIONS_KEPT end. */
    start(accountId: number, address: string | null = null): string {
      const secret = newSecret();
      const now = clock();
      insert.run({ accountId, hash: hashSecret(secret), now, address, expiresAt: now + SESSION_LIFETIME });
      removeOldest.run({ accountId });
      if (address) signInNetworks(hub).remember(accountId, address);
      return secret;
    },

    listOf: (accountId: number): Session[] => selectOf.all(accountId, clock()).toReversed(),
    end: db.prepare<[id: number]>('end session', 'DELETE FROM sessions WHERE id = ?').run,
    endOthers: db.prepare<[accountId: number, id: number]>('end other sessions',
      'DELETE FROM sessions WHERE account_id = ? AND id <> ?').change,
    removeExpired: db.prepare<[before: number, batch: number]>('remove expired sessions',
      'DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= ? LIMIT ?)').change,
    /** SESSION_MAX counts from a session's `created_at`, SESSION_LIFETIME from its `seen_at`. */
    bringBackTimes: createTimeRepair(db, clock, [
      { table: 'sessions', column: 'created_at', furthest: 0 },
      { table: 'sessions', column: 'seen_at', furthest: 0 },
      { table: 'api_tokens', column: 'seen_at', furthest: 0 },
      { table: 'sessions', column: 'expires_at', furthest: SESSION_LIFETIME, to: SESSION_LIFETIME },
    ]),
  };
});

type NewTokenRow = {
  accountId: number; name: string; hash: string; scope: TokenScope; isReader: number; now: number;
  expiresAt: number | null;
};

type Opens = 'api' | 'reader';

export const apiTokens = store(({ db, clock }) => {
  const select = db.prepare<[string, number, number], ViewerRow>('api token', `
    SELECT ${VIEWER}, iif(t.scope = 'admin', a.role, 'member') AS role, ${SCOPE}, t.id AS credentialId,
           t.seen_at AS seenAt
      FROM api_tokens t JOIN accounts a ON a.id = t.account_id ${WITH_PREFERENCES}
     WHERE t.token_hash = ? AND t.for_reader = ? AND ${LIVE}`);
  const note = db.prepare<[number, string, number]>('note api token',
    'UPDATE api_tokens SET seen_at = ?, address = ? WHERE id = ?');
  const insert = db.prepare<[NewTokenRow], ApiToken>('create api token', `
    INSERT INTO api_tokens (account_id, name, token_hash, scope, for_reader, created_at, expires_at)
    VALUES (@accountId, @name, @hash, iif(@isReader, 'read', @scope), @isReader, @now, @expiresAt) RETURNING ${TOKEN}`);
  const selectOne = db.prepare<[number, number], { name: string }>('api token of account',
    'SELECT name FROM api_tokens WHERE id = ? AND account_id = ?');
  const count = db.prepare<[number], { n: number }>('count api tokens',
    `SELECT COUNT(*) AS n FROM (SELECT 1 FROM api_tokens WHERE account_id = ? LIMIT ${TOKENS_MAX})`);

  return {
    /** The viewer of a valid API token, or null. `from`: the client's address; undefined if the hub must not write. */
    viewerOf(token: string, opens: Opens, from: () => string | undefined): Viewer | null {
      const now = clock();
      const row = select.get(hashSecret(token), Number(opens === 'reader'), now);
      if (!row) return null;
      return viewerOf(row, 'token', now, () => {
        const address = from();
        if (address !== undefined) note.run(now, address, row.credentialId);
      });
    },

    accountOf: (token: string, opens: Opens): number | undefined =>
      select.get(hashSecret(token), Number(opens === 'reader'), clock())?.id,

    create(accountId: number, name: string, scope: TokenScope, expiresAt: number | null): NewToken {
      const isReader = scope === 'reader';
      const token = isReader ? newTypedSecret() : TOKEN_PREFIX + newSecret();
      const hash = hashSecret(token);
      const row = insert.get({ accountId, name, hash, scope, isReader: Number(isReader), now: clock(), expiresAt });
      if (!row) throw new Error('the API token was not created');
      return { ...row, token };
    },

    left: (accountId: number): number => TOKENS_MAX - (count.get(accountId)?.n ?? 0),
    nameOf: (id: number, accountId: number): string | undefined => selectOne.get(id, accountId)?.name,
    /** An account may have more than TOKENS_MAX tokens if it made them with version 1.0.0. */
    listOf: db.prepare<[accountId: number, after: number, limit: number], ApiToken>('api tokens',
      `SELECT ${TOKEN} FROM api_tokens WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`).all,
    revoke: db.prepare<[id: number, accountId: number]>('revoke api token',
      'DELETE FROM api_tokens WHERE id = ? AND account_id = ?').run,
    revokeReadersOf: db.prepare<[accountId: number]>('end app passwords',
      'DELETE FROM api_tokens WHERE account_id = ? AND for_reader = 1').run,
    revokeAllOf: db.prepare<[accountId: number]>(
      'revoke api tokens', 'DELETE FROM api_tokens WHERE account_id = ?').run,
  };
});

/** Links for choosing a new password; an account has at most one such link. */
export const passwordLinks = store(({ db, clock }) => {
  const upsert = db.prepare<[number, string, number]>('create password link', `
    INSERT INTO password_links (account_id, token_hash, expires_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET token_hash = excluded.token_hash, expires_at = excluded.expires_at`);
  const select = db.prepare<[string, number], { accountId: number }>('password link',
    'SELECT account_id AS accountId FROM password_links WHERE token_hash = ? AND expires_at > ?');

  return {
    create(accountId: number): { token: string; expiresAt: number } {
      const [token, expiresAt] = [newSecret(), clock() + PASSWORD_LINK_LIFETIME];
      upsert.run(accountId, hashSecret(token), expiresAt);
      return { token, expiresAt };
    },

    accountOf: (token: string): number | undefined => select.get(hashSecret(token), clock())?.accountId,
    removeOf: db.prepare<[accountId: number]>(
      'remove password link', 'DELETE FROM password_links WHERE account_id = ?').run,
    removeAll: db.prepare<[]>('remove all password links', 'DELETE FROM password_links').run,
    removeExpired: db.prepare<[before: number, batch: number]>('remove expired password links', `
      DELETE FROM password_links WHERE account_id IN
        (SELECT account_id FROM password_links WHERE expires_at <= ? LIMIT ?)`).change,
    bringBackTimes: createTimeRepair(db, clock, [
      { table: 'password_links', column: 'expires_at', furthest: PASSWORD_LINK_LIFETIME, to: PASSWORD_LINK_LIFETIME },
    ]),
  };
});

/** Ends all sessions, API tokens and password links of an account. */
export function revokeCredentials(hub: StoreHub, accountId: number): void {
  sessions(hub).endOthers(accountId, 0);
  apiTokens(hub).revokeAllOf(accountId);
  passwordLinks(hub).removeOf(accountId);
}

/** What ended after the backup was made must not work again: sessions and password links. Returns how many sessions. */
export function endAllSessions({ db }: Pick<StoreHub, 'db'>): number {
  db.exec('DELETE FROM password_links');
  return db.prepare<[]>('end all sessions', 'DELETE FROM sessions').run().changes;
}
