// Protects the list of metrics: complete, named as the handbook says, and all that is counted is in it.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIMITS } from '../src/features/hub/limits.ts';
import { METRICS, SERVICE_METRICS } from '../src/features/health/metrics.ts';
import { unknownIn } from './support/known-series.ts';

const PROJECT = join(import.meta.dirname, '..');

/** Kept for other ends than metrics. */
const NO_METRICS = ['content_version', 'jobs'];

test('each metric is in the list once, under a name that says its unit, with a sentence', () => {
  const names = METRICS.map(({ name }) => name);

  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
  for (const { name, help } of METRICS) {
    assert.match(name, /^[a-z][a-z0-9_]*$/);
    assert.match(help, /^[A-Z0-9].*\.$/, name);
  }
});

test('the table of the handbook is the list, but for the metrics that every program on Node.js has', () => {
  const own = METRICS.filter(({ name }) => name.startsWith('service_'));
  const handbook = readFileSync(join(PROJECT, 'scripts/README.md'), 'utf8');
  const rows = own.map((metric) => `| \`${metric.name}\` | ${metric.type} | ${labelsOf(metric)} | ${metric.help} |`);
  const table = ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n');

  assert.ok(handbook.includes(`\n${table}\n`), `scripts/README.md should have:\n${table}`);
});

test('whatever is counted, by the program or by a trigger, is a metric with that label value', () => {
  const counted = [...countedInCode(), ...countedByTriggers()];

  assert.ok(counted.length >= 15);
  for (const { name, value } of counted) {
    const metric = SERVICE_METRICS.find((one) => one.name === `service_${name}`);
    assert.ok(metric, name);
    if (value) assert.ok(labelsOf(metric).includes(`\`${value}\``), `${name} ${value}`);
  }
});

test('rules and dashboard name only metrics and label values that the hub has', () => {
  for (const file of readdirSync(join(PROJECT, 'scripts/monitoring'))) {
    assert.deepEqual(unknownIn(readFileSync(join(PROJECT, 'scripts/monitoring', file), 'utf8')), [], file);
  }
  assert.deepEqual(unknownIn('service_sourced == 0 or service_sync_jobs{state="fail"} or service_webhooks{kind="x"}'),
    ['service_sourced', 'service_sync_jobs state="fail"', 'service_webhooks kind="x"']);
});

test('the table of limits in the handbook is the list of those whose refusals are counted', () => {
  const handbook = readFileSync(join(PROJECT, 'scripts/README.md'), 'utf8');
  const rows = Object.entries(LIMITS).map(([name, [status, meaning]]) => `| \`${name}\` | ${status} | ${meaning} |`);
  const table = ['| limit | answer | what it bounds |', '|---|---|---|', ...rows].join('\n');

  assert.ok(handbook.includes(`\n${table}\n`), `scripts/README.md should have:\n${table}`);
});

function labelsOf({ labels = {} }: (typeof METRICS)[number]): string {
  return Object.entries<string | readonly string[]>(labels).map(([label, values]) => {
    const known = typeof values === 'string' ? values : values.map((value) => `\`${value}\``).join(', ');
    return `\`${label}\`: ${known}`;
  }).join('; ') || '–';
}

function countedInCode(): { name: string; value?: string | undefined }[] {
  const files = readdirSync(join(PROJECT, 'src'), { recursive: true }).map(String).filter((file) => file.endsWith('.ts'));
  return files.flatMap((file) => {
    const code = readFileSync(join(PROJECT, 'src', file), 'utf8');
    const calls = code.matchAll(/\b(?:counts|bufferedCounts)(?:\(hub\))?\.(?:add|observe)\(\s*'(\w+)'(?:,\s*'(\w+)')?/g);
    return [...calls].map(([, name = '', value]) => ({ name, value }));
  });
}

function countedByTriggers(): { name: string; value?: undefined }[] {
  return readdirSync(join(PROJECT, 'migrations')).flatMap((file) => {
    const sql = readFileSync(join(PROJECT, 'migrations', file), 'utf8');
    const names = [...sql.matchAll(/INSERT INTO counts \([^)]*\)\s*VALUES \('(\w+)'/g)].map(([, name = '']) => name);
    return names.filter((name) => !NO_METRICS.includes(name)).map((name) => ({ name }));
  });
}
