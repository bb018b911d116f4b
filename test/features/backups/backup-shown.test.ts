// Protects the truth about backups: the same in health, in metrics and on the administrators' page.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { alertEvents } from '../../../src/features/alerts/alert-store.ts';
import { backupName } from '../../../src/features/backups/backup-name.ts';
import { begunPath, type Kind, readBackupStatus, type RunResult } from '../../../src/features/backups/backup-status.ts';
import { noteVerdict } from '../../../src/features/backups/note-run.ts';
import { findings } from '../../../src/features/health/findings.ts';
import { watchConditions } from '../../../src/features/health/watch-conditions.ts';
import { backupLock, takeFileLock } from '../../../src/features/hub/data-locks.ts';
import { workerQueue } from '../../../src/features/hub/worker-jobs.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import type { Client } from '../../support/client.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { noteBackup } from '../../support/noted-backups.ts';
import { overviewOf, type Tile } from '../../support/overview.ts';
import { parseSeries } from '../../support/service-series.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

/** What a probe, a scrape and an administrator are told of the backups. */
async function told(hub: Hub, ada: Client) {
  const { lastBackup, lastVerifiedBackup } = (await hub.anybody.get('/api/health')).json();
  const series = parseSeries((await hub.anybody.get('/api/metrics')).text);
  const { tiles, verdict } = await overviewOf(ada);
  return {
    health: { lastBackup, lastVerifiedBackup },
    metrics: ['last_success_timestamp_seconds', 'last_verified_timestamp_seconds', 'last_run_failed{run="backup"}',
      'last_run_failed{run="verify"}'].map((name) => series.get(`service_backup_${name}`)),
    page: { here: tiles.get('Backup here'), verification: tiles.get('Verification'), verdict },
  };
}

/** A backup of now, with its folder, that took a minute; or a run that made none. */
async function run(hub: Hub, verdict: RunResult['verdict'], problem: string | null): Promise<{ name: string; endedAt: number }> {
  const name = backupName(hub.now());
  hub.passTime(MINUTE);
  await note(hub, 'backup', verdict === 'failed' ? null : name, verdict, problem);
  return { name, endedAt: hub.now() };
}

function note(hub: Hub, kind: Kind, name: string | null, verdict: RunResult['verdict'], problem: string | null): Promise<string> {
  return noteBackup(hub, { name, verdict, problem }, kind);
}

test('health, metrics and the administrators\' page tell the age and the result of backups, whatever came of the last one', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  assert.deepEqual(await told(hub, ada), {
    health: { lastBackup: null, lastVerifiedBackup: null },
    metrics: [0, 0, 0, 0],
    page: {
      here: { level: 'warn', state: 'none yet', more: '' }, verification: { level: 'off', state: 'none yet', more: '' },
      verdict: (await told(hub, ada)).page.verdict,
    },
  });
  assert.match((await told(hub, ada)).page.verdict, /no backup has been made yet/i);

  const good = await run(hub, 'verified', null);
  const at = good.endedAt / 1_000;
  const isShown = (tile: Tile | undefined, made: number, level: string): boolean => tile?.level === level &&
    tile.more.includes(`<time datetime="${new Date(made).toISOString()}" title="15 January 2030 at `);
  hub.passTime(9 * MINUTE);
  const first = await told(hub, ada);
  assert.deepEqual(first.health, { lastBackup: { ageSeconds: 600, verified: true }, lastVerifiedBackup: { ageSeconds: 600 } });
  assert.deepEqual(first.metrics, [at, at, 0, 0]);
  assert.ok(isShown(first.page.here, good.endedAt - MINUTE, 'good') && isShown(first.page.verification, good.endedAt, 'good'));
  assert.doesNotMatch(first.page.verdict, /backup/);

  hub.passTime(50 * MINUTE);
  await run(hub, 'degraded', 'missing, damaged or unreadable uploads: 1');
  hub.passTime(MINUTE);
  const second = await told(hub, ada);
  assert.deepEqual(second.health, { lastBackup: { ageSeconds: 120, verified: false }, lastVerifiedBackup: { ageSeconds: 3_720 } });
  assert.deepEqual(second.metrics, [at, at, 1, 0]);
  assert.match(second.page.here?.more ?? '', /^the newest verified backup, /);
  assert.ok(isShown(second.page.here, good.endedAt - MINUTE, 'bad') && isShown(second.page.verification, good.endedAt, 'good'));
  assert.match(second.page.verdict, /The last backup \(.*\) is incomplete, because the hub lacks data: missing, damaged or unreadable uploads: 1\. Since /);

  await note(hub, 'verification', good.name, 'failed', 'hub.db is not what SHA256SUMS says');
  const third = await told(hub, ada);
  assert.deepEqual(third.health, { lastBackup: { ageSeconds: 120, verified: false }, lastVerifiedBackup: null });
  assert.deepEqual(third.metrics, [at, at, 1, 1]);
  assert.deepEqual(third.page.here, { level: 'bad', state: 'the last backup is incomplete', more: 'none is verified' });
  assert.equal(third.page.verification?.level, 'bad');

  hub.passTime(HOUR);
  await run(hub, 'failed', 'there is too little space');
  const fourth = await told(hub, ada);
  assert.deepEqual(fourth.health, { lastBackup: { ageSeconds: 3_780, verified: false }, lastVerifiedBackup: null });
  assert.deepEqual(fourth.metrics, [at, at, 1, 1]);
  assert.match(fourth.page.verdict, /The last backup failed: there is too little space\. Since /);

  const again = await run(hub, 'verified', null);
  const last = await told(hub, ada);
  assert.deepEqual(last.health, { lastBackup: { ageSeconds: 60, verified: true }, lastVerifiedBackup: { ageSeconds: 60 } });
  assert.deepEqual(last.metrics, [again.endedAt / 1_000, again.endedAt / 1_000, 0, 1]);
  const damaged = `The backup ${good.name} is damaged: hub.db is not what SHA256SUMS says. Since `;
  assert.ok(last.page.verdict.includes(damaged), 'as long as it is there');
  assert.equal(last.page.here?.level, 'good');
  rmSync(join(hub.dataDir, 'backups', good.name), { recursive: true });
  const gone = await told(hub, ada);
  assert.deepEqual([gone.metrics[3], gone.page.verification?.level], [0, 'good']);
  assert.doesNotMatch(gone.page.verdict, /damaged/);
});

test('a name in the future is not the newest backup, for health, metrics, the page and alerts', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada'], { ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/' });
  const stray = backupName(hub.now() + 400 * DAY);
  mkdirSync(join(hub.dataDir, 'backups', stray), { recursive: true });
  await note(hub, 'verification', stray, 'verified', null);
  const alone = await told(hub, ada);
  assert.deepEqual(alone.health, { lastBackup: null, lastVerifiedBackup: null });
  assert.equal(alone.page.here?.level, 'bad');
  assert.match(alone.page.verdict, new RegExp(`${stray} does not count: its name lies in the future`));
  const stale = (): string => alertEvents(hub.handle).all()
    .flatMap(({ event, isOpen, subjects }) => (event === 'backup-stale' && isOpen ? subjects : [])).join();
  watchConditions(hub.handle);
  assert.match(stale(), new RegExp(`No verified backup .*\\. ${stray} does not count: its name lies in the future`));

  await run(hub, 'verified', null);
  const { health } = await told(hub, ada);
  assert.deepEqual(health, { lastBackup: { ageSeconds: 60, verified: true }, lastVerifiedBackup: { ageSeconds: 60 } });
  watchConditions(hub.handle);
  assert.equal(stale(), '');
});

test('a scrape tells when that backup was last verified for which it is the longest ago', async (t) => {
  const hub = await startHub(t);
  const oldest = async (): Promise<number | undefined> => parseSeries((await hub.anybody.get('/api/metrics')).text)
    .get('service_backup_oldest_verification_timestamp_seconds');
  assert.equal(await oldest(), 0);
  const [first, second] = [await run(hub, 'verified', null), await run(hub, 'verified', null)];
  const config = { dataDir: hub.dataDir, backupDir: join(hub.dataDir, 'backups') };
  const verified = (name: string, at: number): Promise<void> => noteVerdict(config,
    { name, at, ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null });
  assert.equal(await oldest(), (first.endedAt - MINUTE) / 1_000, 'as old as the backup, which is verified when it is made');

  await verified(first.name, second.endedAt + 5_000);
  assert.equal(await oldest(), second.endedAt / 1_000);
  await verified(second.name, second.endedAt + 9_000);
  assert.equal(await oldest(), second.endedAt / 1_000 + 5);

  // A clock that was ahead while it was verified does not put off its turn by as much.
  await verified(second.name, hub.now() + 400 * DAY);
  assert.equal(readBackupStatus(hub.handle).byVerification[0]?.name, second.name);
});

test('a BACKUP_DIR that is away is told as that, in health too, and no record of its backups is lost', async (t) => {
  const backupDir = join(temporaryFolder(t), 'disk');
  const hub = await startHub(t, { BACKUP_DIR: backupDir });
  const ada = await hub.person('ada');
  const name = backupName(hub.now());
  mkdirSync(join(backupDir, name), { recursive: true });
  await note(hub, 'backup', name, 'verified', null);
  const judged = { name, at: hub.now(), ok: true, verdict: 'verified', bytes: 5, seconds: 60, problem: null } as const;
  await noteVerdict(hub.config, judged);
  hub.passTime(HOUR);
  const known = { lastBackup: { ageSeconds: 3_600, verified: true }, lastVerifiedBackup: { ageSeconds: 3_600 } };
  const degraded = async () => (await hub.anybody.get('/api/health')).json<{ degraded: string[] }>().degraded;
  assert.deepEqual([(await told(hub, ada)).health, await degraded()], [known, []]);

  for (const [isMountPoint, words] of [[false, 'is not there'], [true, 'holds none of the backups that were made in it']] as const) {
    rmSync(backupDir, { recursive: true });
    if (isMountPoint) mkdirSync(backupDir);
    await noteVerdict(hub.config, { ...judged, name: null, ok: false, verdict: 'failed' }); // the next night's run
    const { health, page } = await told(hub, ada);
    assert.deepEqual([health, await degraded()], [known, ['backup-dir']]);
    assert.deepEqual([page.here?.level, page.here?.state], ['bad', 'not there']);
    assert.ok(page.verdict.includes(`BACKUP_DIR ${backupDir} ${words}: is its disk mounted?`), page.verdict);
    mkdirSync(backupDir, { recursive: true });
  }
  assert.deepEqual(readBackupStatus(hub.handle).byVerification, [], 'what is away cannot be verified');
  mkdirSync(join(backupDir, name));
  assert.deepEqual([(await told(hub, ada)).health, await degraded()], [known, []]);
});

test('a backup that was killed is told by the next look; one that runs, or has ended since, is none', async (t) => {
  const hub = await startHub(t, { ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/' });
  const ada = await hub.person('ada');
  await run(hub, 'verified', null);
  hub.passTime(HOUR);
  writeFileSync(begunPath(hub.dataDir, 'backup'), JSON.stringify({ at: hub.now() }));
  const lock = takeFileLock(backupLock(hub.dataDir));
  assert.ok(lock);
  assert.equal((await told(hub, ada)).page.here?.level, 'good', 'it runs');

  lock.release();
  watchConditions(hub.handle);
  const { metrics, page } = await told(hub, ada);
  assert.deepEqual([metrics[2], page.here?.level, page.here?.state], [1, 'bad', 'the last failed']);
  assert.match(page.verdict, /The last backup failed: the backup was killed before it was complete\. Since /);
  assert.deepEqual(alertEvents(hub.handle).all().map(({ event, isOpen }) => [event, isOpen]), [['backup-failed', 1]]);

  hub.passTime(MINUTE);
  await run(hub, 'verified', null);
  assert.equal((await told(hub, ada)).page.here?.level, 'good');
});

test('backups, records of the audit log and jobs that lie in the future are a finding, until they do not any more', async (t) => {
  const hub = await startHub(t);
  const clockOf = () => findings(hub.handle).find(({ subject }) => subject === 'Clock');
  assert.equal(clockOf(), undefined);
  hub.passTime(3 * DAY);
  const stray = (await run(hub, 'verified', null)).name;
  await hub.newcomer('ben');
  const queue = workerQueue(hub.handle);
  queue.enqueue({ kind: 'sync-source', payload: { sourceId: 1 }, dedupeKey: '1', maxAttempts: 1 });
  for (const job of queue.claim('sync-source', 1)) queue.complete(job);
  hub.passTime(-2 * DAY);

  const found = clockOf();
  assert.deepEqual([found?.level, found?.state], ['warn', 'was ahead']);
  assert.equal(found?.problem, `The clock was ahead, so the following lie in the future: 1 backup (the last is ${stray}); ` +
    'records of the audit log (until 2030-01-18 12:01 UTC); jobs that were done (until 2030-01-18 12:01 UTC).');
  rmSync(join(hub.dataDir, 'backups', stray), { recursive: true });
  assert.match(clockOf()?.problem ?? '', /future: records of the audit log/);
  hub.passTime(2 * DAY);
  assert.equal(clockOf(), undefined);
});
