import { monitorEventLoopDelay } from 'node:perf_hooks';
import { hasPassed, MINUTE, SECOND } from '../../platform/clock.ts';
import { heartbeats, httpMetrics, startedAt, type Hub, once } from '../hub/hub.ts';
import { changedSettings } from '../hub/read-config.ts';
import { ANSWERS, processNotes } from './history-store.ts';

/** The web process's figures: HTTP replies since the start of the process, all other figures since its last report. */
export type WebSample = Sample & {
  startedAt: number; // unix ms, when the web process started; identifies the process
  saidAt: number; // unix ms
  answers: number[]; // numbers of HTTP replies by their duration, in the order of the durations in ANSWERS
  errors: number;
};

/** The name of web's figures in `processNotes`. */
export const WEB = 'web';

/** Writes the heartbeat of the web process, and a note with its figures, which the worker records. */
export function beatOfWeb(hub: Hub): void {
  const sample: WebSample = {
    startedAt: startedAt(hub), saidAt: hub.clock(), ...countAnswers(hub), ...processSample(hub).take(),
  };
  hub.db.write('heartbeat of web', () => {
    heartbeats(hub).beat('web');
    processNotes(hub).put(WEB, sample);
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

/** For `web-silent` and changed settings, a process counts as running for this long after its last heartbeat. */
export const PROCESS_ALIVE = 2 * MINUTE + 30 * SECOND;

type Note = { names: string[] };

/** Stores which changed settings need a restart of this process, so that other processes can show them. */
export function noteChangedSettings(hub: Hub): void {
  const names = changedSettings(hub.config);
  if (noted(hub, hub.program).join() === names.join()) return;
  hub.db.write('note changed settings', () => processNotes(hub).put(nameOf(hub.program), { names } satisfies Note));
}

/** The names of changed settings that take effect only after a restart of web, worker or this process. */
export function settingsToApply(hub: Hub): string[] {
  const isRunning = (program: string): boolean =>
    !hasPassed(heartbeats(hub).lastSeen(program) ?? -Infinity, PROCESS_ALIVE, hub.clock());
  const others = ['web', 'worker'].filter((program) => program !== hub.program && isRunning(program))
    .flatMap((program) => noted(hub, program));
  return [...new Set([...changedSettings(hub.config), ...others])];
}

function noted(hub: Hub, program: string): string[] {
  return processNotes(hub).find<Note>(nameOf(program))?.note.names ?? [];
}

function nameOf(program: string): string {
  return `changed settings of ${program}`;
}

/** Figures of this process since the last sample: memory (bytes), event loop delay (ms), CPU use (% of one core). */
export type Sample = { memory: number; memoryMax: number; delayP99: number; delayMax: number; busy: number };

/** The resolution of the delay measurement in ms: fine enough for delays that a person notices, and cheap. */
const RESOLUTION = 50;

const MS = 1e6; // nanoseconds

/** Measures this process's memory, CPU use and event-loop delay from the first call on, apart from the metrics. */
export const processSample = once((_hub: Hub) => {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  delay.enable();
  let memoryMax = 0;
  let since = { at: performance.now(), cpu: process.cpuUsage() };

  function look(): number {
    const memory = process.memoryUsage.rss();
    memoryMax = Math.max(memoryMax, memory);
    return memory;
  }

  return {
    look: (): void => void look(),

    take(): Sample {
      const memory = look();
      const late = (turn: number): number => Math.max(0, Math.round((turn / MS - RESOLUTION) * 10) / 10);
      const [delayP99, delayMax] = delay.count === 0 ? [0, 0] : [late(delay.percentile(99)), late(delay.max)];
      const sample = { memory, memoryMax, delayP99, delayMax, busy: busySince(since) };
      since = { at: performance.now(), cpu: process.cpuUsage() };
      delay.reset();
      memoryMax = 0;
      return sample;
    },
  };
});

/** The CPU use of this process since `at`, in percent of one processor, with one decimal. */
function busySince({ at, cpu }: { at: number; cpu: NodeJS.CpuUsage }): number {
  const { user, system } = process.cpuUsage(cpu); // microseconds
  const passed = Math.max(1, performance.now() - at); // ms
  return Math.round((user + system) / passed) / 10;
}
