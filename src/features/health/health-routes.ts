import { HttpError, json, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { errorFields } from '../../platform/log.ts';
import { isRestoreUnderWay } from '../backups/restore-state.ts';
import type { Hub } from '../hub/hub.ts';
import { DatabaseGoneError, readHealth } from './read-health.ts';

const NO_STORE = { 'cache-control': 'no-store' };

/** For probes, whatever state the hub is in. While a backup's data replaces the hub's, none takes it for ready. */
export function showHealth(hub: Hub, { query }: HubRequest): Reply {
  const probe = query.get('probe') ?? 'ready';
  if (probe === 'live') return json({ ok: true }, 200, NO_STORE);
  if (probe !== 'ready') throw new HttpError(400, 'probe must be live or ready.', { headers: NO_STORE });
  if (isRestoreUnderWay(hub.config.dataDir)) {
    return unready('A backup is being restored, or a restore was interrupted.');
  }
  try {
    return json(readHealth(hub), 200, NO_STORE);
  } catch (error) {
    hub.log.error('database not readable', errorFields(error)); // the answer says no more than that it could not
    return unready(error instanceof DatabaseGoneError ? error.message : 'The database is not readable.');
  }
}

function unready(error: string): Reply {
  return json({ ok: false, database: 'unreadable', error }, 503, NO_STORE);
}
