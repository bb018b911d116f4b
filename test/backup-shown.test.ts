// Protects the truth about backups: the same in health, in metrics and on the administrators' page.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backupName } from '../src/features/backups/backup-name.ts';
import { type Kind, type Run } from '../src/features/backups/backup-status.ts';
import { noteRun, noteVerdict } from '../src/features/backups/note-run.ts';
import { watchBackups } from '../src/features/health/watch-troubles.ts';
import { DAY, HOUR, MINUTE } from '../src/platform/clock.ts';
import type { Client } from './support/client.ts';
import { startHub, type Hub } from './support/hub.ts';
import { parseSeries } from './support/service-series.ts';

/** What a probe, a scrape and an administrator are told of the backups. */
async function told(hub: Hub, ada: Client) {
  const { lastBackup, lastVerifiedBackup } = (await hub.anybody.get('/api/health')).json();
  const series = parseSeries((await hub.anybody.get('/api/metrics')).text);
  const page = (await ada.page('/admin')).text;
  const factOf = (subject: string): string => new RegExp(`<dt>${subject}</dt><dd>(.*?)</dd>`).exec(page)?.[1] ?? '';
  return {
    health: { lastBackup, lastVerifiedBackup },
    metrics: ['last_success_timestamp_seconds', 'last_verified_timestamp_seconds', 'last_run_failed{run="backup"}',
      'last_run_failed{run="verify"}'].map((name) => series.get(`service_backup_${name}`)),
    page: ['Last backup', 'Last verified backup', 'Backup problem'].map(factOf),
  };
}

/** A backup of now, with its folder, that took a minute; or a run that made none. */
async function run(hub: Hub, verdict: Run['verdict'], problem: string | null): Promise<{ name: string; endedAt: number }> {
  const name = backupName(hub.now());
  if (verdict !== 'failed') mkdirSync(join(hub.dataDir, 'backups', name), { recursive: true });
  hub.passTime(MINUTE);
  await note(hub, 'backup', verdict === 'failed' ? null : name, verdict, problem);
  return { name, endedAt: hub.now() };
}

function note(hub: Hub, kind: Kind, name: string | null, verdict: Run['verdict'], problem: string | null): Promise<void> {
  const ok = verdict === 'verified';
  return noteRun(hub.dataDir, kind, { name, at: hub.now(), ok, verdict, bytes: 5, seconds: 60, problem }, process.pid);
}

test('health, metrics and the administrators\' page tell the age and the result of backups, whatever came of the last one', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  assert.deepEqual(await told(hub, ada), {
    health: { lastBackup: null, lastVerifiedBackup: null },
    metrics: [0, 0, 0, 0],
    page: ['<strong class="bad">never</strong>', '<strong class="bad">never</strong>', ''],
  });

  const good = await run(hub, 'verified', null);
  const at = good.endedAt / 1_000;
  const shown = `<time datetime="${new Date(good.endedAt).toISOString()}" title="15 January 2030 at `;
  hub.passTime(9 * MINUTE);
  const first = await told(hub, ada);
  assert.deepEqual(first.health, { lastBackup: { ageSeconds: 600, verified: true }, lastVerifiedBackup: { ageSeconds: 600 } });
  assert.deepEqual(first.metrics, [at, at, 0, 0]);
  assert.deepEqual([first.page[0]?.startsWith(shown), first.page[1]?.startsWith(shown), first.page[2]], [true, true, '']);

  hub.passTime(50 * MINUTE);
  await run(hub, 'degraded', 'missing or damaged uploads: 1');
  hub.passTime(MINUTE);
  const second = await told(hub, ada);
  assert.deepEqual(second.health, { lastBackup: { ageSeconds: 120, verified: false }, lastVerifiedBackup: { ageSeconds: 3_720 } });
  assert.deepEqual(second.metrics, [at, at, 1, 0]);
  assert.deepEqual([second.page[0]?.startsWith(shown), second.page[1]?.startsWith(shown), second.page[2]],
    [true, true, bad('missing or damaged uploads: 1')]);

  await note(hub, 'verification', good.name, 'failed', 'hub.db is not what SHA256SUMS says');
  const third = await told(hub, ada);
  assert.deepEqual(third.health, { lastBackup: { ageSeconds: 120, verified: false }, lastVerifiedBackup: null });
  assert.deepEqual(third.metrics, [at, at, 1, 1]);
  assert.match(third.page[0] ?? '', /class="bad"/, 'there is none to rely on');

  hub.passTime(HOUR);
  await run(hub, 'failed', 'there is too little space');
  const fourth = await told(hub, ada);
  assert.deepEqual(fourth.health, { lastBackup: { ageSeconds: 3_780, verified: false }, lastVerifiedBackup: null });
  assert.deepEqual(fourth.metrics, [at, at, 1, 1]);
  assert.equal(fourth.page[2], bad('there is too little space'));

  const again = await run(hub, 'verified', null);
  const last = await told(hub, ada);
  assert.deepEqual(last.health, { lastBackup: { ageSeconds: 60, verified: true }, lastVerifiedBackup: { ageSeconds: 60 } });
  assert.deepEqual(last.metrics, [again.endedAt / 1_000, again.endedAt / 1_000, 0, 1]);
  assert.equal(last.page[2], bad(`${good.name}: hub.db is not what SHA256SUMS says`), 'as long as it is there');
  rmSync(join(hub.dataDir, 'backups', good.name), { recursive: true });
  const gone = await told(hub, ada);
  assert.deepEqual([gone.metrics[3], gone.page[2]], [0, '']);
});

test('a failed verification alone shows on the page, and in the metrics', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  const { name } = await run(hub, 'verified', null);
  hub.passTime(MINUTE);

  await note(hub, 'verification', name, 'failed', 'hub.db is not what SHA256SUMS says');

  const { health, metrics, page } = await told(hub, ada);
  assert.deepEqual(health, { lastBackup: { ageSeconds: 120, verified: false }, lastVerifiedBackup: null });
  assert.deepEqual([metrics.slice(2), page[2]], [[0, 1], bad(`${name}: hub.db is not what SHA256SUMS says`)]);
});

test('a name in the future is not the newest backup, for health, metrics, the page and alerts', async (t) => {
  const hub = await startHub(t, { ALERT_WEBHOOK_URL: 'http://127.0.0.1:9/' });
  const ada = await hub.person('ada');
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  const stray = backupName(hub.now() + 400 * DAY);
  mkdirSync(join(hub.dataDir, 'backups', stray), { recursive: true });
  await note(hub, 'verification', stray, 'verified', null);
  const alone = await told(hub, ada);
  assert.deepEqual(alone.health, { lastBackup: null, lastVerifiedBackup: null });
  assert.match(alone.page[0] ?? '', /class="bad"/);
  const stale = (): string => hub.db.prepare<[], { subjects: string }>('stale',
    `SELECT subjects FROM alert_events WHERE event = 'backup-stale' AND is_open = 1`).get()?.subjects ?? '';
  watchBackups(hub.handle);
  assert.match(stale(), new RegExp(`No backup .* is verified; ${stray} does not count, as its name lies in the future`));

  await run(hub, 'verified', null);
  const { health } = await told(hub, ada);
  assert.deepEqual(health, { lastBackup: { ageSeconds: 60, verified: true }, lastVerifiedBackup: { ageSeconds: 60 } });
  watchBackups(hub.handle);
  assert.equal(stale(), '');
});

test('a scrape tells when that backup was last verified for which it is the longest ago', async (t) => {
  const hub = await startHub(t);
  const oldest = async (): Promise<number | undefined> => parseSeries((await hub.anybody.get('/api/metrics')).text)
    .get('service_backup_oldest_verification_timestamp_seconds');
  mkdirSync(join(hub.dataDir, 'run'), { recursive: true });
  assert.equal(await oldest(), 0);
  const [first, second] = [await run(hub, 'verified', null), await run(hub, 'verified', null)];
  const config = { dataDir: hub.dataDir, backupDir: join(hub.dataDir, 'backups') };
  const verified = (name: string, at: number): Promise<void> => noteVerdict(config,
    { name, at, ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null }, process.pid);
  assert.equal(await oldest(), (first.endedAt - MINUTE) / 1_000, 'as old as the backup, which is verified when it is made');

  await verified(first.name, second.endedAt + 5_000);
  assert.equal(await oldest(), second.endedAt / 1_000);
  await verified(second.name, second.endedAt + 9_000);
  assert.equal(await oldest(), second.endedAt / 1_000 + 5);
});

function bad(text: string): string {
  return `<strong class="bad">${text}</strong>`;
}
