import { ANSWERS, backupRuns, FINE, history, type Figures } from '../../src/features/history/history-store.ts';
import type { Hub } from '../../src/features/hub/hub.ts';
import { DAY, HOUR, MINUTE } from '../../src/platform/clock.ts';
import { seeded } from './random.ts';

const GIB = 1024 ** 3;

/**
 * What 60 days were like: busy at noon, quiet at night, and unless all was well with two hours in which nothing ran, one
 * bad afternoon, and nights without a backup or a copy of it.
 */
export function makeUpHistory(hub: Hub, days = 60, state: 'troubled' | 'well' = 'troubled'): void {
  const isWell = state === 'well';
  const now = hub.clock() - hub.clock() % FINE;
  hub.db.write('make up history', () => {
    for (let at = now - days * DAY; at < now; at += now - at > 2 * DAY ? HOUR : FINE) {
      const ago = now - at;
      if (!isWell && ago > 9 * HOUR && ago < 11 * HOUR) continue;
      history(hub).add(at, madeUp(at, ago, ago > 2 * DAY ? 12 : 1, !isWell && ago > 5 * HOUR && ago < 6 * HOUR));
    }
    for (let night = 34; night > 0; night--) {
      const at = now - night * DAY + 3 * HOUR;
      const run = { at, bytes: 432_000_000, seconds: 41, problem: null };
      backupRuns(hub).note({ ...run, place: 'here', ...(night === 15 && !isWell
        ? { result: 'failed', problem: 'there is too little space' } : { result: 'good' }) });
      backupRuns(hub).note({ ...run, place: 'dir', ...(night < 3 && !isWell
        ? { result: 'failed', problem: '/mnt/disk does not exist: is the disk mounted?' } : { result: 'good' }) });
      if (night === 23 && !isWell) backupRuns(hub).note({ ...run, at: at - HOUR, place: 'dir', result: 'failed' });
    }
  });
}

const random = seeded(13);

function madeUp(at: number, ago: number, times: number, isBad: boolean): Figures {
  const daylight = 0.15 + 0.85 * Math.max(0, Math.sin(((at % DAY) / DAY - 0.3) * 2 * Math.PI));
  const answers = ANSWERS.map((name, bound) =>
    [name, Math.round(times * 300 * daylight * random() / 3 ** Math.abs(bound - 1) + (isBad && bound < 9 ? 20 : 0))]);
  return {
    ...Object.fromEntries(answers), answer_errors: isBad ? 7 : 0, errors: isBad ? 2 : 0,
    syncs_changed: Math.round(times * 3 * random()), syncs_unchanged: Math.round(times * 8 * random()),
    syncs_error: random() < 0.1 ? 1 : 0,
    webhooks_accepted: random() < 0.2 * daylight ? 3 : 0, webhooks_rejected: random() < 0.01 ? 1 : 0,
    posts: Math.round(times * 2 * daylight * random()),
    oldest_due: 2, oldest_due_max: isBad ? 20 * MINUTE / 1000 : Math.round(5 * random()),
    web_memory: 101e6, web_memory_max: 105e6 + 5e6 * random(), worker_memory: 118e6, worker_memory_max: 130e6 + 20e6 * random(),
    web_busy: 3 + 10 * daylight * random(), worker_busy: 2 + 8 * random() + (isBad ? 60 : 0),
    web_delay_p99: 1 + random(), web_delay_max: 12, worker_delay_p99: 3 + 3 * random() + (isBad ? 30 : 0), worker_delay_max: 60,
    database_bytes: 0.5 * GIB - ago / DAY * 2e6, uploads_bytes: 1.9 * GIB - ago / DAY * 1e7, cache_bytes: 1.1 * GIB,
    free_bytes: 38 * GIB + ago / DAY * 2e7,
  };
}
