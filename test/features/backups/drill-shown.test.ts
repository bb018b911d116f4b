// Protects the truth about drills: when one is due, what is called proven, and what is told where none can run by itself.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { type DrillRun, type DrillStatus, readDrills } from '../../../src/features/backups/drill-status.ts';
import { noteDrill, noteOffsite } from '../../../src/features/backups/note-run.ts';
import type { Destination } from '../../../src/features/backups/offsite-status.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import type { Hub } from '../../support/hub.ts';
import { hubctl } from '../../support/hubctl.ts';
import { noteBackup, runOf } from '../../support/noted-backups.ts';
import { overviewOf } from '../../support/overview.ts';
import { hubWithReceiver, passTime } from '../../support/receiver.ts';
import { parseSeries } from '../../support/service-series.ts';

const DIR = { BACKUP_OFFSITE_DIR: '/mnt/far' };
const SEALED = { ...DIR, BACKUP_AGE_RECIPIENT: `age1${'q'.repeat(58)}` };
const GIB = 1_024 ** 3;
const SUBJECT = 'Last proven restore (another disk)';

/** A hub with a good backup of so many bytes, and a copy of it at the destination. */
async function hubWithCopy(t: TestContext, settings: Record<string, string>, bytes = 5_000) {
  const made = await hubWithReceiver(t, settings);
  await night(made.hub, bytes);
  return { ...made, status: (): DrillStatus | undefined => readDrills(made.hub.handle)[0] };
}

async function night(hub: Hub, bytes = 5_000): Promise<void> {
  await noteBackup(hub, { bytes });
  await noteOffsite(hub.handle.config, 'dir', { ...runOf(hub, { bytes }), unsent: null });
}

function drilled(hub: Hub, outcome: DrillRun['outcome'], problem: string | null = null, name: Destination = 'dir'): Promise<void> {
  const drill = { outcome, name: '20300115-031500', at: hub.now(), seconds: 12, problem };
  return noteDrill(hub.handle.config, name, drill);
}

test('a drill is due at the first copy and 30 days after the last one, and runs by itself for backups up to 1 GiB', async (t) => {
  const { hub, status } = await hubWithCopy(t, DIR, GIB);
  assert.deepEqual([status()?.intervalDays, status()?.isDue], [30, true]);
  await drilled(hub, 'failed', 'no room');
  assert.equal(status()?.isDue, false, 'a drill that failed is not repeated each night');
  hub.passTime(30 * DAY - 2 * HOUR - MINUTE);
  assert.equal(status()?.isDue, false);
  hub.passTime(MINUTE);
  assert.equal(status()?.isDue, true, 'also when the night begins two hours earlier');
  await night(hub, GIB + 1);
  assert.deepEqual([status()?.intervalDays, status()?.isDue], [0, false]);
});

test('DRILL_EVERY_DAYS holds for backups of any size, and 0 makes none', async (t) => {
  const { status } = await hubWithCopy(t, { ...DIR, DRILL_EVERY_DAYS: '7' }, 2 * GIB);
  assert.deepEqual([status()?.intervalDays, status()?.isDue], [7, true]);
  const none = await hubWithCopy(t, { ...DIR, DRILL_EVERY_DAYS: '0' });
  assert.deepEqual([none.status()?.intervalDays, none.status()?.isDue], [0, false]);
});

test('no drill is due before something was sent, and a new place begins anew', async (t) => {
  const { hub } = await hubWithReceiver(t, DIR);
  assert.equal(readDrills(hub.handle)[0]?.isDue, false);
  await night(hub);
  await drilled(hub, 'proven');
  const config = { ...hub.handle.config, backupOffsiteDir: '/mnt/new' };
  const [moved] = readDrills({ config, clock: hub.now });
  assert.deepEqual([moved?.last, moved?.lastProven, moved?.isDue], [null, null, false]);
});

test('a proven restore shows in health, metrics, overview and hubctl status, and what was only compared does not count', async (t) => {
  const { hub } = await hubWithCopy(t, SEALED);
  const ada = await hub.person('ada');
  const shown = async () => {
    const { lastProvenRestore } = (await hub.anybody.get('/api/health')).json();
    const series = parseSeries((await hub.anybody.get('/api/metrics')).text);
    const ofDir = (name: string) => series.get(`service_backup_${name}{destination="dir"}`);
    const at = ofDir('last_proven_restore_timestamp_seconds');
    const { status, more } = await tileAndStatus();
    return { lastProvenRestore, at, interval: ofDir('drill_interval_seconds'), status, more };
  };
  const tileAndStatus = async () => {
    const { tiles } = await overviewOf(ada);
    const tile = tiles.get(SUBJECT);
    const { stdout } = await hubctl({ DATA_DIR: hub.dataDir, ...SEALED }, 'status');
    const line = stdout.split('\n').find((one) => one.includes(SUBJECT)) ?? '';
    return { status: `${tile?.level} ${tile?.state} / ${line.trim()}`, more: tile?.more ?? '' };
  };
  await drilled(hub, 'compared');
  const compared = await shown();
  assert.deepEqual([compared.lastProvenRestore, compared.at, compared.interval], [[], 0, 0]);
  assert.match(compared.status, /^off none yet \/ - +Last proven restore \(another disk\): none yet \(20300115-031500 is as it was sent, seen /);

  await drilled(hub, 'proven');
  const provenAt = hub.now();
  hub.passTime(HOUR);
  await drilled(hub, 'compared');
  const proven = await shown();
  assert.deepEqual(proven.lastProvenRestore, [{ destination: 'dir', ageSeconds: 3_600 }]);
  assert.equal(proven.at, provenAt / 1_000);
  assert.match(proven.status, /^good proven \/ ok +Last proven restore \(another disk\): proven \(20300115-031500, took 12 s, /);
  assert.match(proven.more, /^20300115-031500, took 12 s, <time /);
});

/** The events about drills that were told while 46 days passed since the last proven restore. */
async function toldAfter46Days(t: TestContext, settings: Record<string, string>, bytes?: number): Promise<string[]> {
  const { hub, receiver } = await hubWithCopy(t, settings, bytes);
  await drilled(hub, 'proven');
  const told = (): string[] => receiver.alerts().map(({ event }) => event).filter((event) => /drill|unproven/.test(event));
  hub.passTime(45 * DAY - 2 * HOUR);
  await passTime(hub, HOUR, 20 * MINUTE);
  assert.deepEqual(told(), []);
  await passTime(hub, 3 * HOUR, 20 * MINUTE);
  return told();
}

test('an alert after one and a half intervals comes only where a drill can run by itself', async (t) => {
  assert.deepEqual(await toldAfter46Days(t, DIR), ['restore-unproven']);
  assert.deepEqual(await toldAfter46Days(t, SEALED), [], 'the key is not on the machine');
  assert.deepEqual(await toldAfter46Days(t, DIR, 2 * GIB), [], 'the copy is too large');
  assert.deepEqual(await toldAfter46Days(t, { ...DIR, DRILL_EVERY_DAYS: '0' }), []);
});

test('a drill that failed is told with its reason, also of an encrypted copy, until one succeeds', async (t) => {
  const { hub, receiver } = await hubWithCopy(t, SEALED);
  const ada = await hub.person('ada');
  await drilled(hub, 'failed', '/mnt/far/20300115-031500 differs from what was sent');
  await passTime(hub, HOUR, 20 * MINUTE);
  const [told] = receiver.alerts().filter(({ event }) => event === 'drill-failed');
  assert.match(told?.text ?? '', /^The last drill with an off-site copy \(dir\) failed: \/mnt\/far\/20300115-031500 differs from what was sent\. Since /);
  const { tiles, verdict } = await overviewOf(ada);
  assert.equal(tiles.get(SUBJECT)?.level, 'warn');
  assert.match(verdict, /The last drill with an off-site copy \(dir\) failed/);
  await drilled(hub, 'compared');
  await passTime(hub, HOUR, 20 * MINUTE);
  assert.equal(receiver.alerts().filter(({ event, severity }) => event === 'drill-failed' && severity === 'resolved').length, 1);
});
