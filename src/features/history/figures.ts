import { ANSWER_BOUNDS } from '../../platform/metrics/http-metrics.ts';

type Merging = 'sum' | 'last' | 'max';

const KINDS = {
  answer_errors: 'sum', // answers with 5xx
  syncs_changed: 'sum', syncs_unchanged: 'sum', syncs_error: 'sum',
  webhooks_accepted: 'sum', webhooks_rejected: 'sum',
  posts: 'sum', // posts that were new to the hub
  errors: 'sum', // unexpected errors
  oldest_due: 'last', oldest_due_max: 'max', // seconds
  web_memory: 'last', web_memory_max: 'max', worker_memory: 'last', worker_memory_max: 'max', // bytes
  web_busy: 'max', worker_busy: 'max', // CPU use in per cent of one processor
  web_delay_p99: 'max', web_delay_max: 'max', worker_delay_p99: 'max', worker_delay_max: 'max', // event-loop delay, ms
  database_bytes: 'last', uploads_bytes: 'last', cache_bytes: 'last', free_bytes: 'last',
} as const satisfies Record<string, Merging>;

/** `answers_0.005` counts HTTP replies that took at most 0.005 seconds, but more than the next smaller bound. */
export type Figure = keyof typeof KINDS | `answers_${number}`;

/** Figures that describe the hub during one time span. If a figure is missing, its value is unknown, not 0. */
export type Figures = Partial<Record<Figure, number>>;

export const ANSWERS = [...ANSWER_BOUNDS, Infinity].map((bound) => `answers_${bound}` as const);

export const FIGURES = new Map<Figure, Merging>([
  ...ANSWERS.map((name): [Figure, Merging] => [name, 'sum']),
  ...(Object.entries(KINDS) as [Figure, Merging][]),
]);

export function merge(earlier: Figures, later: Figures): Figures {
  const merged = { ...earlier };
  for (const [name, value] of Object.entries(later) as [Figure, number][]) {
    const before = earlier[name];
    const merging = before === undefined ? 'last' : FIGURES.get(name);
    merged[name] = merging === 'sum' ? (before ?? 0) + value : merging === 'max' ? Math.max(before ?? 0, value) : value;
  }
  return merged;
}
