import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorFields, type Log } from '../../platform/log.ts';
import { newSecret } from '../../platform/secrets.ts';

/** A header by which `bin/healthcheck.ts` proves to the web process that it may read DATA_DIR. */
export const OWN_CHECK_HEADER = 'x-own-check';

/**
 * Stores a new secret of health checks. On a full disk no secret can be stored, so that the rate limit of health
 * requests also limits the hub's own health checks.
 */
export function makeOwnCheckSecret(dataDir: string, log: Log): string {
  const secret = newSecret();
  try {
    rmSync(secretPath(dataDir), { force: true });
    writeFileSync(secretPath(dataDir), secret, { mode: 0o600 });
  } catch (error) {
    log.warn('the secret of health checks was not stored', errorFields(error));
  }
  return secret;
}

/** The secret of the web process, also after it has stopped; undefined if there is none or it is not readable. */
export function readOwnCheckSecret(dataDir: string): string | undefined {
  try {
    return readFileSync(secretPath(dataDir), 'utf8');
  } catch {
    return undefined;
  }
}

function secretPath(dataDir: string): string {
  return join(dataDir, 'run', 'health-check-secret');
}

/** Whether a client sent the expected secret, such as the metrics token. Compares digests, which have equal lengths. */
export function isSecret(sent: string | string[] | undefined, secret: string): boolean {
  return typeof sent === 'string' && timingSafeEqual(digest(sent), digest(secret));
}

function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
