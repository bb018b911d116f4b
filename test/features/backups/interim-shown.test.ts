// Protects the truth about interim backups: a failed run and one that did not take place are told, and both end.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { alertEvents } from '../../../src/features/alerts/alert-store.ts';
import { interimName } from '../../../src/features/backups/backup-name.ts';
import { begunPath, readBackupStatus } from '../../../src/features/backups/backup-status.ts';
import { noteRun, noteVerdict } from '../../../src/features/backups/note-run.ts';
import { watchConditions } from '../../../src/features/health/watch-conditions.ts';
import { HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { startHub, hubWith, type Hub } from '../../support/hub.ts';
import { noteBackup, runOf } from '../../support/noted-backups.ts';
import { overviewOf } from '../../support/overview.ts';
import { parseSeries } from '../../support/service-series.ts';

/** A run every two hours that has just ended: with its folder, unless it failed. */
async function run(hub: Hub, verdict: 'verified' | 'degraded' | 'failed', problem: string | null = null): Promise<void> {
  const name = verdict === 'failed' ? null : interimName(hub.now());
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  if (name !== null) mkdirSync(join(hub.dataDir, 'backups/interim', name), { recursive: true });
  const run = { name, at: hub.now(), ok: verdict === 'verified', verdict, bytes: 5, seconds: 1, problem, everyHours: 2 };
  await noteRun(hub.dataDir, 'interim', run);
  await noteVerdict(hub.handle.config, run);
}

async function night(hub: Hub): Promise<void> {
  await noteBackup(hub);
  await noteVerdict(hub.handle.config, runOf(hub));
}

/** What the alert says, or nothing. */
function alert(hub: Hub): string {
  watchConditions(hub.handle);
  return alertEvents(hub.handle).all()
    .flatMap(({ event, isOpen, subjects }) => (event === 'backup-interim-failed' && isOpen ? subjects : [])).join();
}

test('interim backups have a tile and metrics once one was made; they are no nightly backups', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  assert.equal((await overviewOf(ada)).tiles.get('Interim backups'), undefined);
  const madeAt = hub.now();
  await run(hub, 'verified');
  hub.passTime(MINUTE);

  const tile = (await overviewOf(ada)).tiles.get('Interim backups');
  assert.deepEqual([tile?.level, tile?.state], ['good', 'every 2 hours']);
  assert.ok(tile?.more.includes('1 backup here'));
  assert.equal((await hub.anybody.get('/api/health')).json()['lastBackup'], null);
  const series = parseSeries((await hub.anybody.get('/api/metrics')).text);
  assert.equal(series.get('service_backup_interim_last_run_failed'), 0);
  const newest = series.get('service_backup_interim_last_success_timestamp_seconds') ?? 0;
  assert.equal(newest, Math.floor(madeAt / 1_000));
});

test('a failed interim run is told with its reason until one succeeds; a degraded one says so', async (t) => {
  const hub = await startHub(t, { ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/' });
  assert.equal(alert(hub), '');
  await run(hub, 'failed', 'there is too little space');
  assert.match(alert(hub), /^The last interim backup failed: there is too little space\. Since /);
  hub.passTime(HOUR);
  await run(hub, 'verified');
  assert.equal(alert(hub), '');
  hub.passTime(HOUR);
  await run(hub, 'degraded', 'missing, damaged or unreadable uploads: 1');
  assert.match(alert(hub), /The last interim backup is incomplete, because the hub lacks data: missing, damaged or unreadable uploads: 1\. Since /);
  hub.passTime(HOUR);
  await run(hub, 'verified');
  assert.equal(alert(hub), '');
});

test('an interim backup that was killed is told as failed, and is no failed nightly one; the next run ends that', async (t) => {
  const hub = await startHub(t, { ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/' });
  await run(hub, 'verified');
  hub.passTime(HOUR);
  writeFileSync(begunPath(hub.dataDir, 'interim'), JSON.stringify({ at: hub.now() }));
  assert.match(alert(hub), /^The last interim backup failed: the backup was killed before it was complete\. Since /);
  assert.equal(readBackupStatus(hub.handle).lastBackupFailed, false);
  hub.passTime(HOUR);
  await run(hub, 'verified');
  assert.equal(alert(hub), '');
});

test('interim backups are late after three times their hours without any backup; a nightly one counts as well', async (t) => {
  const hub = await startHub(t, { ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/' });
  await run(hub, 'verified');
  hub.passTime(6 * HOUR - MINUTE);
  assert.equal(alert(hub), '');
  hub.passTime(2 * MINUTE);
  assert.match(alert(hub), /^Interim backups are late: one is due every 2 hours\. Since /);

  await night(hub);
  assert.equal(alert(hub), '');
  hub.passTime(6 * HOUR + MINUTE);
  assert.notEqual(alert(hub), '');
  await run(hub, 'verified');
  assert.equal(alert(hub), '');
});
