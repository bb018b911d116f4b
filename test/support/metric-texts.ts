import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { METRICS } from '../../src/features/health/metrics.ts';
import { LIMITS } from '../../src/features/hub/limits.ts';

/**
 * node test/support/metric-texts.ts
 * Writes the tables of metrics and limits in the handbook's reference anew, out of their lists.
 */
const HANDBOOK = join(import.meta.dirname, '../../scripts/REFERENCE.md');

type Table = { head: string; rows: string };

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
export function rowsInHandbook({ head }: Table, handbook = readFileSync(HANDBOOK, 'utf8')): string {
  const from = handbook.indexOf(head) + head.length;
  return handbook.slice(from, handbook.indexOf('\n\n', from) + 1);
}

if (import.meta.main) {
  const written = [METRIC_TABLE, LIMIT_TABLE].reduce((handbook, table) =>
    handbook.replace(table.head + rowsInHandbook(table, handbook), () => table.head + table.rows),
  readFileSync(HANDBOOK, 'utf8'));
  writeFileSync(HANDBOOK, written);
}
