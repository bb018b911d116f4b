import { METRICS } from '../../src/features/health/metrics.ts';
import { LIMITS } from '../../src/features/hub/limits.ts';
import { rowsIn, writeTables, type Table } from './document-tables.ts';

/**
 * node test/support/metric-texts.ts
 * Writes the tables of metrics and limits in the handbook's reference anew, out of their lists.
 */
const HANDBOOK = 'scripts/REFERENCE.md';

/** Every metric but those that every program on Node.js has. */
export const METRIC_TABLE: Table = {
  head: '| metric | type | labels | meaning |\n|---|---|---|---|\n',
  rows: METRICS.filter(({ name }) => name.startsWith('service_'))
    .map((metric) => `| \`${metric.name}\` | ${metric.type} | ${labelsOf(metric)} | ${metric.help} |\n`).join(''),
};

/** Every limit whose refusals are counted. */
export const LIMIT_TABLE: Table = {
  head: '| limit | answer | what it bounds |\n|---|---|---|\n',
  rows: Object.entries(LIMITS).map(([name, [status, meaning]]) => `| \`${name}\` | ${status} | ${meaning} |\n`).join(''),
};

/** The labels of a metric with their values, where those are known, as the handbook says them. */
export function labelsOf({ labels = {} }: (typeof METRICS)[number]): string {
  return Object.entries<string | readonly string[]>(labels).map(([label, values]) => {
    if (typeof values === 'string') return `\`${label}\`: ${values}`;
    return `\`${label}\`: ${values.map((value) => `\`${value}\``).join(', ')}`;
  }).join('; ') || '–';
}

/** The rows that stand in the handbook below that head. */
export function rowsInHandbook({ head }: Table): string {
  return rowsIn(HANDBOOK, head);
}

if (import.meta.main) writeTables(HANDBOOK, [METRIC_TABLE, LIMIT_TABLE]);
