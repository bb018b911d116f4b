import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The header by which `scripts/healthcheck.sh` shows that it may read DATA_DIR. */
export const OWN_CHECK_HEADER = 'x-own-check';

/** The secret of the running web process; undefined if there is none, or for an account that may not read it. */
export function readOwnCheckSecret(dataDir: string): string | undefined {
  try {
    return readFileSync(ownCheckPath(dataDir), 'utf8');
  } catch {
    return undefined;
  }
}

export function ownCheckPath(dataDir: string): string {
  return join(dataDir, 'run', 'health-check-secret');
}
