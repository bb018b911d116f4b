// Protects the dashboard for Grafana: every one of its queries finds something in a Prometheus that scraped a hub.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { noteOffsite, noteRun } from '../../src/features/backups/note-run.ts';
import { startHub } from '../support/hub.ts';
import { startPrometheus } from '../support/prometheus.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { temporaryFolder } from '../support/temporary-project.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

type Target = { refId: string; expr: string };

type Panel = { type: string; title: string; targets?: Target[] };

const { panels, templating } = JSON.parse(
  readFileSync(join(PROJECT_ROOT, 'scripts/monitoring/dashboard.json'), 'utf8')) as
  { panels: Panel[]; templating: { list: { name: string; query: string }[] } };

const TOKEN = 'a-token-of-the-test';

/** What Grafana puts into an expression before it asks. */
const VARIABLES: Record<string, string> = { $__rate_interval: '1m', $job: '.*', $instance: '.*' };

test('every query of the dashboard finds something in a Prometheus that scraped a hub', async (t) => {
  if (!requireTool(t, 'prometheus')) return;
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'password'), 'hunter2', { mode: 0o600 });
  const hub = await startHub(t, {
    METRICS_TOKEN: TOKEN, BACKUP_OFFSITE_DIR: '/mnt/far', BACKUP_RESTIC_REPOSITORY: '/mnt/restic',
    BACKUP_RESTIC_PASSWORD_FILE: join(folder, 'password'),
  });
  await noteBackups(hub);
  const query = await startPrometheus(t, { 'content-hub': new URL(hub.address).host }, TOKEN);
  const find = async (expression: string): Promise<boolean> => (await query(expression)).length > 0;
  await waitUntil('two scrapes have been stored', () => find('rate(service_http_requests_total{route="/api/metrics"}[1m])'));

  const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
  assert.ok(queries.length > 50);
  for (const { title, expr } of queries) {
    const asked = expr.replaceAll(/\$\w+/g, (name) => VARIABLES[name] ?? assert.fail(`${title}: ${name}`));
    assert.ok(await find(asked), `${title}: ${asked}`);
  }
  for (const { name, query: of } of templating.list.filter(({ name }) => name !== 'datasource')) {
    const [, series = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(of) ?? [];
    const found = await query(series.replace('$job', '.*'));
    assert.ok(found.every(({ labels }) => labels[label] !== undefined) && found.length > 0, name);
  }
});

/** A verified backup with a copy in the restic repository, which the unplugged disk has not got. */
async function noteBackups({ dataDir, handle, now }: Awaited<ReturnType<typeof startHub>>): Promise<void> {
  const [name, at] = [backupName(now()), now()];
  mkdirSync(join(dataDir, 'run'), { recursive: true });
  mkdirSync(join(dataDir, 'backups', name), { recursive: true });
  const made = { name, at, ok: true, bytes: 5, seconds: 60, problem: null };
  await noteRun(dataDir, 'backup', { ...made, verdict: 'verified' });
  await noteOffsite(handle.config, 'restic', { ...made, unsent: null, checkedAt: at });
  const unplugged = { name: null, ok: false, bytes: null, problem: 'not mounted', unsent: name };
  await noteOffsite(handle.config, 'dir', { ...made, ...unplugged });
}
