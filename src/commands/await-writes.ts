import timers from 'node:timers/promises';
import { failureSince } from '../app/processes/run-hub.ts';
import { heartbeats } from '../features/hub/hub.ts';
import { SECOND } from '../platform/clock.ts';
import { type Command, UsageError } from './command.ts';

const PROGRAMS = ['web', 'worker'];
const PATIENCE_SECONDS = '30';
const POLL = SECOND / 4;

/**
 * Waits until the named programs have written their heartbeats since a time (unix ms). Fails early when npm start
 * reports that one of them has ended.
 */
export const awaitWritesCommand: Command = {
  options: { seconds: { type: 'string', default: PATIENCE_SECONDS } },

  async run([since = '', ...programs], { seconds }, { lookAtHub, err }) {
    const isKnown = programs.length > 0 && programs.every((name) => PROGRAMS.includes(name));
    if (!/^\d{1,15}$/.test(since) || !isKnown) throw new UsageError('expected a time and web or worker');
    if (!/^\d{1,5}$/.test(String(seconds))) throw new UsageError('--seconds must be a whole number');
    const { hub } = await lookAtHub();
    const silent = (): string[] => programs.filter((name) => (heartbeats(hub).lastSeen(name) ?? 0) < Number(since));
    const failure = (): string | null => failureSince(hub.config.dataDir, Number(since));
    for (let left = Number(seconds) * SECOND; silent().length > 0 && failure() === null && left > 0; left -= POLL) {
      await timers.setTimeout(POLL);
    }
    if (silent().length === 0 && failure() === null) return 0;
    err(`${failure() ?? `${silent().join(' and ')} did not write to the database within ${seconds} s`}\n`);
    return 1;
  },
};
