// Protects the list of metrics: complete, named as the handbook says, and all that is counted is in it.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { METRICS, SERVICE_METRICS } from '../../../src/features/health/metrics.ts';
import { labelsOf, LIMIT_TABLE, METRIC_TABLE, rowsInHandbook } from '../../support/metric-texts.ts';

const PROJECT = join(import.meta.dirname, '../../..');

/** Kept for other ends than metrics; by some of these numbers, processes notice changes. */
const NO_METRICS = ['content_version', 'jobs', 'rules_edition'];

test('each metric is in the list once, under a name that says its unit, with a sentence', () => {
  const names = METRICS.map(({ name }) => name);

  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
  for (const { name, help } of METRICS) {
    assert.match(name, /^[a-z][a-z0-9_]*$/);
    assert.match(help, /^[A-Z0-9].*\.$/, name);
  }
});

test('the tables of metrics and limits in the handbook are the lists', () => {
  const advice = 'run: node test/support/metric-texts.ts';
  assert.equal(rowsInHandbook(METRIC_TABLE), METRIC_TABLE.rows, advice);
  assert.equal(rowsInHandbook(LIMIT_TABLE), LIMIT_TABLE.rows, advice);
});

test('whatever is counted, by the program or by a trigger, is a metric with that label value', () => {
  const counted = [...countedInCode(), ...countedByTriggers()].filter(({ name }) => !NO_METRICS.includes(name));

  assert.ok(counted.length >= 15);
  for (const { name, value } of counted) {
    const metric = SERVICE_METRICS.find((one) => one.name === `service_${name}`);
    assert.ok(metric, name);
    if (value) assert.ok(labelsOf(metric).includes(`\`${value}\``), `${name} ${value}`);
  }
});

test('rules and dashboard name only metrics and label values that the hub has', () => {
  for (const file of readdirSync(join(PROJECT, 'scripts/monitoring'))) {
    const text = readFileSync(join(PROJECT, 'scripts/monitoring', file), 'utf8').replaceAll('\\"', '"'); // of JSON
    assert.deepEqual(unknownIn(text), [], file);
  }
  assert.deepEqual(unknownIn('service_sourced == 0 or service_sync_jobs{state="fail"} or service_webhooks{kind="x"}'),
    ['service_sourced', 'service_sync_jobs state="fail"', 'service_webhooks kind="x"']);
});

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
    return [...sql.matchAll(/INSERT INTO counts \([^)]*\)\s*VALUES \('(\w+)'/g)].map(([, name = '']) => ({ name }));
  });
}

/** Labels that Prometheus adds to every series. */
const OF_PROMETHEUS = ['job', 'instance'];

/** What an expression for Prometheus names although no metric of the hub has that name, label or label value. */
function unknownIn(expression: string): string[] {
  const selectors = expression.matchAll(/\b((?:service|process|nodejs)_\w+)(?:\{([^}]*)\})?/g);
  return [...selectors].flatMap(([, name = '', matchers = '']) => {
    const metric = METRICS.find((one) => one.name === name || isSeriesOf(one, name));
    if (!metric) return [name];
    const all = [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)];
    return all.filter(([, label = '', operator = '', value = '']) => !fits(metric, label, operator, value))
      .map(([matcher]) => `${name} ${matcher}`);
  });
}

function isSeriesOf({ type, name }: (typeof METRICS)[number], series: string): boolean {
  return type === 'histogram' && ['bucket', 'sum', 'count'].some((part) => series === `${name}_${part}`);
}

function fits({ labels = {} }: (typeof METRICS)[number], label: string, operator: string, value: string): boolean {
  if (OF_PROMETHEUS.includes(label)) return true;
  const values = new Map<string, string | readonly string[]>(Object.entries(labels)).get(label);
  if (typeof values === 'string' || values === undefined) return values !== undefined;
  return operator.endsWith('~') ? values.some((one) => new RegExp(`^(?:${value})$`).test(one)) : values.includes(value);
}
