import { tryLater } from '../../platform/http/http-error.ts';
import { heartbeats, once, type Hub } from './hub.ts';

const RETRY_SECONDS = 10;

const trials = once((_hub: Pick<Hub, 'db'>) => ({ isOpen: false, endIfOver: (): boolean => true }));

/** Whether this process is on trial: after an upgrade or restore, until its script or, if that died, web accepts it. */
export function isOnTrial(hub: Pick<Hub, 'db'>): boolean {
  return trials(hub).isOpen;
}

/**
 * From now on, SQLite refuses every write of this process (SQLITE_READONLY). `endIfOver`, called before a request may
 * write, ends the trial if the result has been accepted, and returns whether it ended.
 */
export function beginTrial(hub: Hub, endIfOver: () => boolean): void {
  Object.assign(trials(hub), { isOpen: true, endIfOver });
  hub.db.pragma('query_only = ON');
}

/** From now on, this process may write again. */
export function endTrial(hub: Hub): void {
  hub.db.pragma('query_only = OFF');
  trials(hub).isOpen = false;
}

/** Throws 503 while a new version or restored backup is on trial: a rollback would lose writes that the hub accepts. */
export function requireNoTrial(hub: Hub): void {
  if (!isOnTrial(hub) || trials(hub).endIfOver()) return;
  throw tryLater(503, RETRY_SECONDS,
    'The hub is checking a new version or a restored backup, and stores nothing until the check is done.');
}

/** Writes a heartbeat as proof that this process can write: nothing else is stored in the database on trial. */
export function beatOnTrial(hub: Hub): void {
  whileWritable(hub, () => heartbeats(hub).beat(hub.program));
}

function whileWritable(hub: Hub, work: () => void): void {
  hub.db.pragma('query_only = OFF');
  try {
    work();
  } finally {
    hub.db.pragma('query_only = ON');
  }
}

const UNDONE = Symbol('undone');

/** Runs `work` in a transaction that is rolled back in any case. Throws the error that `work` throws. */
export function rehearse(hub: Hub, work: () => void): void {
  const undone = (): never => {
    work();
    throw UNDONE;
  };
  try {
    whileWritable(hub, () => hub.db.write('rehearse', undone));
  } catch (error) {
    if (error !== UNDONE) throw error;
  }
}
