import { joinUrl, makeSetUpLink } from '../../features/accounts/join-hub.ts';
import { isHubRunning } from '../../features/hub/data-locks.ts';
import type { Config } from '../../features/hub/read-config.ts';
import { DataInUseError } from '../../platform/db/migration-files.ts';
import { anotherHub, openHubDatabase } from './open-hub.ts';

/**
 * What has to be true before web and worker start: no other hub on the data, the folders, and a schema of this version.
 * Returns a link that makes the first account while there is none, else null.
 */
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
