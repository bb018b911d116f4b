// Protects the metrics of the process itself, under the names that dashboards expect.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { nodeFacts, permissionFlags } from '../../../src/app/processes/confined-command.ts';
import { familiesFrom, type Family, renderOpenMetrics, renderPrometheus } from '../../../src/platform/metrics/exposition.ts';
import { createProcessMetrics, PROCESS_METRICS } from '../../../src/platform/metrics/process-metrics.ts';
import { requireTool } from '../../support/tools.ts';

const PROJECT = join(import.meta.dirname, '../../..');
const ALWAYS = [
  'process_cpu_user_seconds_total', 'process_cpu_system_seconds_total', 'process_cpu_seconds_total',
  'process_start_time_seconds', 'process_resident_memory_bytes', 'nodejs_heap_size_total_bytes',
  'nodejs_heap_size_used_bytes', 'nodejs_external_memory_bytes', 'nodejs_eventloop_lag_seconds',
  'nodejs_eventloop_lag_min_seconds', 'nodejs_eventloop_lag_max_seconds', 'nodejs_eventloop_lag_mean_seconds',
  'nodejs_eventloop_lag_stddev_seconds', 'nodejs_eventloop_lag_p50_seconds', 'nodejs_eventloop_lag_p90_seconds',
  'nodejs_eventloop_lag_p99_seconds', 'nodejs_version_info',
];
const FROM_PROC = ['process_virtual_memory_bytes', 'process_heap_bytes', 'process_open_fds', 'process_max_fds'];

type ProcessMetrics = { families(): Family[] };

function start(t: TestContext): ProcessMetrics {
  const metrics = createProcessMetrics({ startedAtSeconds: 1_700_000_000.25 });
  t.after(() => metrics.close());
  const families = familiesFrom(PROCESS_METRICS);
  return { families: () => families({ process: metrics.read() }) };
}

function valueOf(families: readonly Family[], name: string): number | undefined {
  const sample = families.find((family) => family.name === name)?.samples[0];
  return sample && 'value' in sample ? sample.value : undefined;
}

async function collect(metrics: ProcessMetrics): Promise<Family[]> {
  for (;;) {
    const families = metrics.families();
    if (valueOf(families, 'nodejs_eventloop_lag_max_seconds') !== undefined) return families;
    await timerTurns();
  }
}

test('a process tells what the client libraries tell, under the same names', async (t) => {
  const families = await collect(start(t));

  const names = families.map(({ name }) => name);
  const expected = process.platform === 'linux' ? [...ALWAYS, ...FROM_PROC] : ALWAYS;
  assert.deepEqual([...names].sort(), [...expected].sort());
  for (const name of names) assert.ok(Number.isFinite(valueOf(families, name)), name);
});

test('the numbers are those of this process', async (t) => {
  const families = await collect(start(t));

  const rss = valueOf(families, 'process_resident_memory_bytes') ?? 0;
  assert.ok(Math.abs(rss / process.memoryUsage.rss() - 1) < 0.5, `${rss}`);
  assert.equal(valueOf(families, 'process_start_time_seconds'), 1_700_000_000.25);
  const user = valueOf(families, 'process_cpu_user_seconds_total') ?? NaN;
  const system = valueOf(families, 'process_cpu_system_seconds_total') ?? NaN;
  assert.ok(Math.abs((valueOf(families, 'process_cpu_seconds_total') ?? NaN) - user - system) < 1e-9);
  assert.ok(user > 0 && user < 60, `${user} s`);
  const version = new RegExp(`^nodejs_version_info\\{version="${process.version}",major="`, 'm');
  assert.match(renderPrometheus(families), version);
});

test('an open file is one more descriptor', { skip: process.platform !== 'linux' && 'needs /proc' }, (t) => {
  const metrics = start(t);
  const before = valueOf(metrics.families(), 'process_open_fds') ?? NaN;

  const file = openSync(import.meta.filename, 'r');
  const after = valueOf(metrics.families(), 'process_open_fds');
  closeSync(file);

  assert.equal(after, before + 1);
  assert.equal(valueOf(metrics.families(), 'process_open_fds'), before);
  const listed = readdirSync('/proc/self/fd').filter(isOpen); // the listing's own descriptor is closed by now
  assert.equal(before, listed.length);
});

test('a confined process counts the descriptors that others see it hold', { skip: process.platform !== 'linux' && 'needs /proc' }, async (t) => {
  const script = `
    import { openSync } from 'node:fs';
    import { createProcessMetrics } from '${PROJECT}/src/platform/metrics/process-metrics.ts';
    const metrics = createProcessMetrics({ startedAtSeconds: 1 });
    for (let more = 0; more < 300; more++) openSync('/proc/self/limits');
    process.stdout.write(String(metrics.read().descriptors));
    setInterval(() => {}, 60_000);`;
  const flags = permissionFlags({
    ...nodeFacts(process, PROJECT), projectRoot: PROJECT, dataDir: join(PROJECT, 'data'), mayWriteBackups: false,
    secretFiles: [], needsNetwork: false,
  });
  const child = spawn(process.execPath, [...flags, '--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));

  const [counted] = await once(child.stdout, 'data');

  assert.equal(Number(counted), readdirSync(`/proc/${child.pid}/fd`).length);
  assert.ok(Number(counted) > 300);
});

test('a blocked event loop shows once, in the next scrape', async (t) => {
  const metrics = start(t);
  await collect(metrics);
  await timerTurns(); // what happens between a reset and the first turn is not recorded

  block(300);
  await timerTurns();
  const blocked = await collect(metrics);
  const calm = await collect(metrics);

  const max = valueOf(blocked, 'nodejs_eventloop_lag_max_seconds') ?? 0;
  assert.ok(max >= 0.29 && max < 5, `${max} s`);
  assert.ok((valueOf(calm, 'nodejs_eventloop_lag_max_seconds') ?? Infinity) < max);
});

test('a scrape measures the lag that the next one reports', async (t) => {
  const metrics = start(t);

  metrics.families();
  block(60);
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

  const lag = valueOf(metrics.families(), 'nodejs_eventloop_lag_seconds') ?? 0;
  assert.ok(lag >= 0.055 && lag < 5, `${lag} s`);
});

test('where /proc may not be read its numbers are left out, and the others stay', () => {
  const script = `
    import { createProcessMetrics, PROCESS_METRICS } from './src/platform/metrics/process-metrics.ts';
    import { familiesFrom } from './src/platform/metrics/exposition.ts';
    import { renderPrometheus } from './src/platform/metrics/exposition.ts';
    const metrics = createProcessMetrics({ startedAtSeconds: 1 });
    const families = familiesFrom(PROCESS_METRICS);
    setTimeout(() => process.stdout.write(renderPrometheus(families({ process: metrics.read() }))), 50);`;
  const flags = ['--permission', `--allow-fs-read=${PROJECT}`, '--input-type=module-typescript', '--eval', script];

  const { status, stdout, stderr } = spawnSync(process.execPath, flags, { cwd: PROJECT, encoding: 'utf8' });

  assert.equal(status, 0, stderr);
  for (const name of FROM_PROC) assert.ok(!stdout.includes(name), name);
  assert.match(stdout, /^process_resident_memory_bytes [1-9]\d+$/m);
  assert.doesNotMatch(stdout, /NaN|Inf/);
});

test('promtool finds nothing to say about them', async (t) => {
  if (!requireTool(t, 'promtool')) return;
  const families = await collect(start(t));

  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'],
    { input: renderPrometheus(families), encoding: 'utf8' });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
  assert.ok(renderOpenMetrics(families).endsWith('# EOF\n'));
});

function isOpen(descriptor: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`) !== '';
  } catch {
    return false;
  }
}

function timerTurns(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 30));
}

function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
