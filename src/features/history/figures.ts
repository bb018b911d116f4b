import { ANSWER_BOUNDS } from '../../platform/metrics/http-metrics.ts';

/** How two buckets make one: added up, the later one's, the greater one's. */
type Kind = 'sum' | 'last' | 'max';

const KINDS = {
  answer_errors: 'sum', // answers with 5xx
  syncs_changed: 'sum', syncs_unchanged: 'sum', syncs_error: 'sum',
  webhooks_accepted: 'sum', webhooks_rejected: 'sum',
  posts: 'sum', // that were new
  errors: 'sum', // unexpected ones
  oldest_due: 'last', oldest_due_max: 'max', // seconds
  web_memory: 'last', web_memory_max: 'max', worker_memory: 'last', worker_memory_max: 'max', // bytes
  web_busy: 'max', worker_busy: 'max', // per cent of one processor
  web_delay_p99: 'max', web_delay_max: 'max', worker_delay_p99: 'max', worker_delay_max: 'max', // ms, of the event loop
  database_bytes: 'last', uploads_bytes: 'last', cache_bytes: 'last', free_bytes: 'last',
} as const satisfies Record<string, Kind>;

/** `answers_0.005` counts answers that took no longer than so many seconds, and longer than the bound before. */
export type Figure = keyof typeof KINDS | `answers_${number}`;

/** What is known of a span of time. What is missing is not known, which is not 0. */
export type Figures = Partial<Record<Figure, number>>;

export const ANSWERS = [...ANSWER_BOUNDS, Infinity].map((bound) => `answers_${bound}` as const);

/** Every figure that is kept, and its kind. One that is added here needs no migration. */
export const FIGURES = new Map<Figure, Kind>([
  ...ANSWERS.map((name): [Figure, Kind] => [name, 'sum']),
  ...(Object.entries(KINDS) as [Figure, Kind][]),
]);

/** What is known of two spans together, `later` being the later one. */
export function merge(earlier: Figures, later: Figures): Figures {
  const merged = { ...earlier };
  for (const [name, value] of Object.entries(later) as [Figure, number][]) {
    const before = earlier[name];
    merged[name] = before === undefined ? value : mergeOne(FIGURES.get(name), before, value);
  }
  return merged;
}

function mergeOne(kind: Kind | undefined, before: number, value: number): number {
  if (kind === 'sum') return before + value;
  return kind === 'max' ? Math.max(before, value) : value;
}
