import timers from 'node:timers/promises';
import { failureSince } from '../app/processes/run-hub.ts';
import { heartbeats } from '../features/hub/hub.ts';
import { MINUTE, SECOND } from '../platform/clock.ts';
import { type Command, UsageError } from './command.ts';

const PROGRAMS = ['web', 'worker'];
const PATIENCE = MINUTE / 2;
const POLL = SECOND / 4;

/**
 * Whether the named programs have written to the database since a time (unix ms): each says at its start that it lives.
 * A hub that answers, but cannot write, has not survived an upgrade; nor has one that npm start says has ended.
 */
export const awaitWritesCommand: Command = {
  options: {},

  async run([since = '', ...programs], _values, { openHub, err }) {
    const isKnown = programs.length > 0 && programs.every((name) => PROGRAMS.includes(name));
    if (!/^\d{1,15}$/.test(since) || !isKnown) throw new UsageError('expected a time and web or worker');
    const hub = await openHub();
    const silent = (): string[] => programs.filter((name) => (heartbeats(hub).lastSeen(name) ?? 0) < Number(since));
    const failure = (): string | null => failureSince(hub.config.dataDir, Number(since));
    for (let left = PATIENCE; silent().length > 0 && failure() === null && left > 0; left -= POLL) {
      await timers.setTimeout(POLL);
    }
    if (silent().length === 0 && failure() === null) return 0;
    err(`${failure() ?? `${silent().join(' and ')} did not write to the database for half a minute`}\n`);
    return 1;
  },
};
