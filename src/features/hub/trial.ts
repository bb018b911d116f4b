import { tryLater } from '../../platform/http/reply.ts';
import { heartbeats, once, type Hub } from './hub.ts';

/** Clients on trial are told to come back after this many seconds: most trials are shorter. */
const RETRY_SECONDS = 10;

const trials = once((_hub: Pick<Hub, 'db'>) => ({ isOpen: false, endIfOver: (): boolean => true }));

/** Whether this process is on trial: after an upgrade or a restore, until the hub has proved itself. */
export function isOnTrial(hub: Pick<Hub, 'db'>): boolean {
  return trials(hub).isOpen;
}

/**
 * From now on SQLite refuses every write of this process with SQLITE_READONLY. `endIfOver` ends the trial if it is over
 * and says so: it is asked before each write, so that nobody is refused once the script is done.
 */
export function beginTrial(hub: Hub, endIfOver: () => boolean): void {
  Object.assign(trials(hub), { isOpen: true, endIfOver });
  hub.db.pragma('query_only = ON');
}

/** This process may store again. */
export function endTrial(hub: Hub): void {
  hub.db.pragma('query_only = OFF');
  trials(hub).isOpen = false;
}

/** Throws 503 while on trial: a write that was acknowledged would be lost if the upgrade or restore went back. */
export function requireNoTrial(hub: Hub): void {
  if (!isOnTrial(hub) || trials(hub).endIfOver()) return;
  throw tryLater(503, RETRY_SECONDS,
    'The hub is checking a new version or a restored backup, and stores nothing until that is done.');
}

/** The one write of a process on trial: it shows that the process runs and can write. */
export function beatOnTrial(hub: Hub): void {
  hub.db.pragma('query_only = OFF');
  try {
    heartbeats(hub).beat(hub.program);
  } finally {
    hub.db.pragma('query_only = ON');
  }
}

const UNDONE = Symbol('undone');

/** Does `work` in a transaction that is always undone. Throws what `work` throws. */
export function rehearse(hub: Hub, work: () => void): void {
  hub.db.pragma('query_only = OFF');
  try {
    hub.db.write('rehearse', () => {
      work();
      throw UNDONE;
    });
  } catch (error) {
    if (error !== UNDONE) throw error;
  } finally {
    hub.db.pragma('query_only = ON');
  }
}
