import { httpMetrics } from '../health/read-health.ts';
import { heartbeats, startedAt, type Hub } from '../hub/hub.ts';
import { ANSWERS } from './figures.ts';
import { readings } from './history-store.ts';
import { processSample, type Sample } from './sample-process.ts';

/** What web says of itself: answers since it was started, the rest since it last said something. */
export type WebReading = Sample & {
  startedAt: number; // unix ms; another number is another web
  saidAt: number; // unix ms
  answers: number[]; // by how long they took, as ANSWERS
  errors: number;
};

/** The name of the reading. */
export const WEB = 'web';

/** Web's heartbeat, and what it has to say of itself, for the worker to keep. */
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
