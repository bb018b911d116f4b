import { joinUrl, makeSetUpLink } from '../../features/accounts/join-hub.ts';
import { isHubRunning } from '../../features/hub/data-locks.ts';
import type { Config } from '../../features/hub/read-config.ts';
import { DataInUseError } from '../../platform/db/migration-files.ts';
import { anotherHub, openHubDatabase } from './open-hub.ts';

/** Prepares the data before web and worker start; returns the set-up link while there is no account, else null. */
export function prepareHub(config: Config): string | null {
  if (isHubRunning(config.dataDir)) throw new DataInUseError(anotherHub(config));
  const db = openHubDatabase(config);
  try {
    const token = makeSetUpLink({ db, clock: Date.now });
    return token && joinUrl(config, token);
  } finally {
    db.close();
  }
}
