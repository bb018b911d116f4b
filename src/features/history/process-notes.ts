import { hasPassed, MINUTE, SECOND } from '../../platform/clock.ts';
import { heartbeats, httpMetrics, startedAt, type Hub } from '../hub/hub.ts';
import { changedSettings } from '../hub/read-config.ts';
import { ANSWERS } from './figures.ts';
import { readings } from './history-store.ts';
import { processSample, type Sample } from './sample-process.ts';

/** Web's figures: answers since it started, all else since its last note. */
export type WebReading = Sample & {
  startedAt: number; // unix ms; identifies the web process
  saidAt: number; // unix ms
  answers: number[]; // by duration, in the order of ANSWERS
  errors: number;
};

/** The key of web's note. */
export const WEB = 'web';

/** Web's heartbeat, and its figures for the worker to record. */
export function beatOfWeb(hub: Hub): void {
  const { answers, errors } = countAnswers(hub);
  const reading: WebReading = {
    startedAt: startedAt(hub), saidAt: hub.clock(), answers, errors, ...processSample(hub).take(),
  };
  hub.db.write('heartbeat of web', () => {
    heartbeats(hub).beat('web');
    readings(hub).put(WEB, reading);
  });
}

function countAnswers(hub: Hub): { answers: number[]; errors: number } {
  const answers = ANSWERS.map(() => 0);
  let errors = 0;
  for (const { labels, counts } of httpMetrics(hub).read()) {
    counts.forEach((count, bound) => {
      answers[bound] = (answers[bound] ?? 0) + count;
      if (labels['code']?.startsWith('5')) errors += count;
    });
  }
  return { answers, errors };
}

/** A process counts as running for this long after it was last seen; web beats once a minute. */
export const PROCESS_ALIVE = 2 * MINUTE + 30 * SECOND;

type Note = { names: string[] };

/** Stores the settings that need a restart of this process, for other processes to show. */
export function noteChangedSettings(hub: Hub): void {
  const names = changedSettings(hub.config);
  if (noted(hub, hub.program).join() === names.join()) return;
  hub.db.write('note changed settings', () => readings(hub).put(nameOf(hub.program), { names } satisfies Note));
}

/** Names of settings that need a restart of web, worker or this process. */
export function settingsToApply(hub: Hub): string[] {
  const others = (['web', 'worker'] as const).filter((program) => program !== hub.program && isRunning(hub, program))
    .flatMap((program) => noted(hub, program));
  return [...new Set([...changedSettings(hub.config), ...others])];
}

function isRunning(hub: Hub, program: string): boolean {
  return !hasPassed(heartbeats(hub).lastSeen(program) ?? -Infinity, PROCESS_ALIVE, hub.clock());
}

function noted(hub: Hub, program: string): string[] {
  return readings(hub).find<Note>(nameOf(program))?.reading.names ?? [];
}

/** Key of the stored note. */
function nameOf(program: string): string {
  return `changed settings of ${program}`;
}
