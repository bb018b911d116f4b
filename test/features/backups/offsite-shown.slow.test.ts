// Protects the truth about copies elsewhere: the same in health, metrics, alerts and on the administrators' page.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backupName } from '../../../src/features/backups/backup-name.ts';
import { type OffsiteRun } from '../../../src/features/backups/backup-status.ts';
import { noteOffsite, noteRecord } from '../../../src/features/backups/note-run.ts';
import { destinationKey, readOffsite, type Destination } from '../../../src/features/backups/offsite-status.ts';
import { emptyRecord, noteDamage, notePartRead, takeIn, WHOLE } from '../../../src/features/backups/restic-record.ts';
import type { Config } from '../../../src/features/hub/read-config.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { hubctl } from '../../support/hubctl.ts';
import { noteBackup } from '../../support/noted-backups.ts';
import { overviewOf } from '../../support/overview.ts';
import { hubWithReceiver, passTime } from '../../support/receiver.ts';
import { parseSeries } from '../../support/service-series.ts';
import { sha256 } from '../../support/sha256.ts';

const UNPLUGGED = 'BACKUP_OFFSITE_DIR /mnt/unplugged does not exist: is the disk mounted?';
const BOTH = { BACKUP_OFFSITE_DIR: '/mnt/unplugged', BACKUP_RCLONE_REMOTE: 'box:hub' };

function sent(hub: Hub, destination: Destination, name: string, changes: Partial<OffsiteRun> = {}): Promise<void> {
  const run = { name, at: hub.now(), ok: true, bytes: 7_000, seconds: 12, problem: null, unsent: null, ...changes };
  return noteOffsite(hub.handle.config, destination, run);
}

function unsent(hub: Hub, destination: Destination, name: string, problem: string): Promise<void> {
  return sent(hub, destination, name, { name: null, ok: false, bytes: null, problem, unsent: name });
}

async function offsiteOf(hub: Hub): Promise<unknown> {
  return (await hub.anybody.get('/api/health')).json().offsite;
}

/** The series about backups elsewhere, without what all their names begin with. */
async function seriesOf(hub: Hub): Promise<Record<string, number>> {
  const all = parseSeries((await hub.anybody.get('/api/metrics')).text);
  return Object.fromEntries([...all].filter(([name]) => /^service_backup_.*(offsite|run=)/.test(name))
    .map(([name, value]) => [name.slice('service_backup_'.length), value]));
}

test('a copy disk that was never attached shows in health, in metrics and on the overview, beside a verified backup and a good remote', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada'], BOTH);
  const name = await noteBackup(hub);
  await unsent(hub, 'dir', name, UNPLUGGED);
  await sent(hub, 'rclone', name);
  const at = hub.now() / 1_000;
  hub.passTime(10 * MINUTE);

  const { lastBackup } = (await hub.anybody.get('/api/health')).json();
  assert.deepEqual(lastBackup, { ageSeconds: 600, verified: true });
  assert.deepEqual(await offsiteOf(hub), [
    { name: 'dir', ok: false, ageSeconds: null }, { name: 'rclone', ok: true, ageSeconds: 600 },
  ]);
  const ofConfigured = Object.entries(await seriesOf(hub)).filter(([name]) => !name.includes('restic'));
  assert.deepEqual(Object.fromEntries(ofConfigured), {
    'last_run_failed{run="backup"}': 0, 'last_run_failed{run="verify"}': 0,
    'last_run_failed{run="offsite-dir"}': 1, 'last_run_failed{run="offsite-rclone"}': 0,
    'offsite_last_success_timestamp_seconds{destination="dir"}': 0,
    'offsite_last_success_timestamp_seconds{destination="rclone"}': at,
    'offsite_last_bytes{destination="dir"}': 0, 'offsite_last_bytes{destination="rclone"}': 7_000,
    'offsite_last_duration_seconds{destination="dir"}': 12, 'offsite_last_duration_seconds{destination="rclone"}': 12,
    'offsite_oldest_unsent_timestamp_seconds{destination="dir"}': at,
    'offsite_oldest_unsent_timestamp_seconds{destination="rclone"}': 0,
  });
  const { tiles, verdict } = await overviewOf(ada);
  assert.deepEqual(tiles.get('Copies on another disk'), { level: 'warn', state: 'failing', more: 'none sent yet' });
  const { level, state, more } = tiles.get('Copies by rclone') ?? {};
  assert.deepEqual([level, state], ['good', 'sent']);
  assert.match(more ?? '', /^6\.8 KiB, took 12 s, <time [^>]*>10 min ago<\/time>$/);
  assert.ok(verdict.includes(`Copies on another disk are failing: ${UNPLUGGED} The destination lacks ${name} and later backups. Since `));

  await sent(hub, 'dir', backupName(hub.now()), { ok: false, problem: 'It is not whole.', unsent: name });
  assert.ok((await overviewOf(ada)).verdict.includes(`are failing: It is not whole. The destination lacks ${name}.`), 'a later one arrived');
  await unsent(hub, 'rclone', name, 'box:hub cannot be listed');
  const failing = (await overviewOf(ada)).tiles.get('Copies by rclone');
  assert.deepEqual([failing?.level, failing?.state], ['warn', 'failing'], 'not "sent", with a warning');
  assert.match(failing?.more ?? '', /^last sent, <time [^>]*>10 min ago<\/time>$/);
});

test('copies that have failed for days are as old as the last good one, whatever came in between', async (t) => {
  const hub = await startHub(t, BOTH);
  const first = await noteBackup(hub);
  await sent(hub, 'dir', first);
  hub.passTime(DAY);
  const missed = await noteBackup(hub);
  await unsent(hub, 'dir', missed, UNPLUGGED);
  hub.passTime(DAY);
  await noteBackup(hub);
  await unsent(hub, 'dir', missed, UNPLUGGED);

  assert.deepEqual(await offsiteOf(hub), [
    { name: 'dir', ok: false, ageSeconds: 2 * 86_400 }, { name: 'rclone', ok: false, ageSeconds: null },
  ]);
  assert.equal((await seriesOf(hub))['offsite_oldest_unsent_timestamp_seconds{destination="dir"}'],
    (hub.now() - DAY) / 1_000);
});

test('copies that nobody has made for 26 hours are not well, though none has failed', async (t) => {
  const hub = await startHub(t, { BACKUP_OFFSITE_DIR: '/mnt/unplugged' });
  await sent(hub, 'dir', await noteBackup(hub));
  hub.passTime(26 * HOUR);
  assert.deepEqual(await offsiteOf(hub), [{ name: 'dir', ok: true, ageSeconds: 93_600 }]);
  hub.passTime(MINUTE);
  assert.deepEqual(await offsiteOf(hub), [{ name: 'dir', ok: false, ageSeconds: 93_660 }]);
});

test('a destination that is set to another place has got nothing yet, and one that is no longer set is gone', async (t) => {
  const hub = await startHub(t, BOTH);
  const name = await noteBackup(hub);
  await sent(hub, 'dir', name);
  await sent(hub, 'rclone', name);
  const knownWith = (backupOffsiteDir: string | null, backupRcloneRemote: string | null): unknown => {
    const config = { ...hub.handle.config, backupOffsiteDir, backupRcloneRemote };
    return readOffsite({ config, clock: hub.now }).map((one) => [one.name, one.lastGood?.name, one.isStale]);
  };

  assert.deepEqual(knownWith('/mnt/unplugged', 'box:hub'), [['dir', name, false], ['rclone', name, false]]);
  assert.deepEqual(knownWith('/mnt/new', null), [['dir', undefined, true]]);
  assert.deepEqual(knownWith(null, 'box:hub'), [['rclone', name, false]]);
});

test('if a destination for off-site copies was set after the hub’s start, the hub shows the result that the last copy to the destination recorded', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t, { BACKUP_RCLONE_REMOTE: 'box:hub' });
  const ada = await hub.person('ada');
  const name = await noteBackup(hub);
  await sent(hub, 'dir', name); // of no destination that this hub knows: nothing is noted
  await sent(hub, 'rclone', name);
  assert.deepEqual(await offsiteOf(hub), [{ name: 'rclone', ok: true, ageSeconds: 0 }]);
  hub.passTime(MINUTE);
  /** What the scripts note, which read .env anew each time. */
  const noteTo = (destination: Destination, places: Partial<Config>, changes: Partial<OffsiteRun>): Promise<void> => {
    const config = { ...hub.handle.config, ...places };
    const run = { name, at: hub.now(), ok: true, bytes: 7_000, seconds: 12, problem: null, unsent: null, ...changes };
    return noteOffsite(config, destination, run);
  };
  const failed = { name: null, ok: false, bytes: null, problem: UNPLUGGED, unsent: name };
  await noteTo('dir', { backupOffsiteDir: '/mnt/unplugged' }, failed);
  await noteTo('rclone', { backupRcloneRemote: 'other:hub' }, failed);

  assert.deepEqual(await offsiteOf(hub), [
    { name: 'dir', ok: false, ageSeconds: null }, { name: 'rclone', ok: false, ageSeconds: null },
  ]);
  assert.equal((await seriesOf(hub))['last_run_failed{run="offsite-dir"}'], 1);
  const { tiles, verdict } = await overviewOf(ada);
  assert.deepEqual([tiles.get('Copies on another disk')?.level, tiles.has('Copies elsewhere')], ['warn', false]);
  assert.ok(verdict.includes(`Copies on another disk are failing: ${UNPLUGGED}`));
  await passTime(hub, HOUR, 20 * MINUTE);
  const told = receiver.alerts().filter(({ event }) => event === 'backup-offsite-failed');
  assert.deepEqual(told.map(({ text }) => /^Copies (.*?) are failing: /.exec(text)?.[1]), ['on another disk']);

  await noteTo('dir', { backupOffsiteDir: '/mnt/unplugged' }, {});
  assert.deepEqual((await offsiteOf(hub) as { ok: boolean }[]).map(({ ok }) => ok), [true, false]);
  hub.passTime(MINUTE);
  const startedAgain = { ...hub.handle };
  assert.deepEqual(readOffsite(startedAgain).map((one) => [one.name, one.last?.ok]), [['rclone', undefined]]);
});

test('what is no record of a run counts as none', async (t) => {
  const hub = await startHub(t, { BACKUP_OFFSITE_DIR: '/mnt/unplugged' });
  await sent(hub, 'dir', await noteBackup(hub));
  for (const text of ['', '[]', 'null', '{"last":{"ok":true}}', '{"lastGood":7}']) {
    writeFileSync(join(hub.dataDir, 'run/last-offsite-dir.json'), text);
    assert.deepEqual(await offsiteOf(hub), [{ name: 'dir', ok: false, ageSeconds: null }], text);
  }
  rmSync(join(hub.dataDir, 'run'), { recursive: true });
  assert.deepEqual(await offsiteOf(hub), [{ name: 'dir', ok: false, ageSeconds: null }]);
});

test('a destination that begins to fail while another one does is told of as well', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t, BOTH);
  const name = await noteBackup(hub);
  await unsent(hub, 'dir', name, UNPLUGGED);
  await sent(hub, 'rclone', name);
  await passTime(hub, 2 * HOUR, 10 * MINUTE);
  const told = (): string[] => receiver.alerts()
    .filter(({ event }) => event === 'backup-offsite-failed').map(({ text }) => text);
  assert.deepEqual(told().length, 1);

  await unsent(hub, 'rclone', name, 'box:hub cannot be listed');
  await passTime(hub, 2 * HOUR, 10 * MINUTE);
  assert.equal(told().length, 2);
  assert.match(told()[1] ?? '', /Copies by rclone are failing: box:hub cannot be listed/);
});

test('a destination that never got anything is told once there are backups, and a hub without backups is left in peace', async (t) => {
  const { hub, receiver } = await hubWithReceiver(t, { BACKUP_OFFSITE_DIR: '/mnt/unplugged' });
  await passTime(hub, DAY, HOUR);
  assert.deepEqual(receiver.alerts(), []);
  await noteBackup(hub);
  await passTime(hub, HOUR, 10 * MINUTE);
  assert.deepEqual(receiver.alerts().map(({ event }) => event), ['backup-offsite-stale']);
  assert.match(receiver.alerts()[0]?.text ?? '', /Copies on another disk: none in the last 26 hours/);
});

test('when the restic repository was last read is shown, and by hubctl recorded, whatever became of the copy', async (t) => {
  const restic = { BACKUP_RESTIC_REPOSITORY: '/mnt/unplugged', BACKUP_RESTIC_PASSWORD_FILE: '/etc/password' };
  const hub = await startHub(t, restic);
  const name = await noteBackup(hub);
  const check = async (): Promise<unknown> =>
    parseSeries((await hub.anybody.get('/api/metrics')).text).get('service_backup_restic_last_check_timestamp_seconds');
  assert.deepEqual(await offsiteOf(hub), [{ name: 'restic', ok: false, ageSeconds: null, checkAgeSeconds: null }]);
  assert.equal(await check(), 0);

  await sent(hub, 'restic', name, { checkedAt: hub.now() - 5 * MINUTE });
  assert.deepEqual(await offsiteOf(hub), [{ name: 'restic', ok: true, ageSeconds: 0, checkAgeSeconds: 300 }]);
  assert.equal(await check(), hub.now() / 1_000 - 300);

  const reading = emptyRecord();
  takeIn(reading, [sha256('a pack')], [], Date.now());
  notePartRead(reading, WHOLE, 1, 1_700_000_000_000);
  const place = destinationKey(hub.handle.config, 'restic') ?? '';
  await noteRecord(hub.dataDir, place, reading);
  const env = { DATA_DIR: hub.dataDir, ...restic };
  assert.equal((await hubctl(env, 'offsite-note', 'restic', 'ok')).status, 0);
  assert.equal(await check(), 1_700_000_000);

  noteDamage(reading, WHOLE, Date.now());
  await noteRecord(hub.dataDir, place, reading);
  assert.equal((await hubctl(env, 'offsite-note', 'restic', 'ok')).status, 0);
  const [{ last } = { last: null }] = readOffsite(hub.handle);
  assert.equal(last?.isDamaged, true);
  await sent(hub, 'restic', name, { ok: false, problem: 'Fatal: repository contains errors', isDamaged: true });
  const { verdict } = await overviewOf(await hub.person('ada'));
  assert.match(verdict, /The restic repository is damaged.*see &quot;A damaged restic repository&quot; in scripts\/README\.md/);
});
