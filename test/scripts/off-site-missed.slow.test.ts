// Protects copies elsewhere from each other's troubles, and what was missed from being forgotten.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { DAY } from '../../src/platform/clock.ts';
import { contents, makeBox, makeKey, NAME, offSite, SCRIPT, type OffSite } from '../support/off-site.ts';
import { privately } from '../support/private-mounts.ts';
import { isRunning, PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('rclone', 'age');
const [FIRST, SECOND, THIRD] = [NAME, '20260102-031500', '20260103-031500'] as const;

/** A hub with backups of three nights, and a disk for their copies. */
function threeNights(t: TestContext): OffSite {
  const place = offSite(t);
  place.env['BACKUP_OFFSITE_DIR'] = place.far;
  for (const name of [SECOND, THIRD]) addBackup(place, name);
  return place;
}

function addBackup({ backup, dataDir }: OffSite, name: string): string {
  const path = join(dataDir, 'backups', name);
  cpSync(backup, path, { recursive: true });
  return path;
}

function pathOf({ dataDir }: OffSite, name: string): string {
  return join(dataDir, 'backups', name);
}

function copies({ far }: OffSite): string[] {
  return readdirSync(far).sort();
}

type Noted = { ok: boolean; name: string | null; bytes: number | null; unsent: string | null; problem: string | null } | null;

function noted({ dataDir }: OffSite, destination = 'dir'): { last: Noted; lastGood: Noted } {
  return JSON.parse(readFileSync(join(dataDir, `run/last-offsite-${destination}.json`), 'utf8')) as ReturnType<typeof noted>;
}

test('what a disk missed while it was unplugged is sent on the next run, the oldest first', async (t) => {
  const place = threeNights(t);
  const away = `${place.far} away`;
  rmSync(pathOf(place, THIRD), { recursive: true });
  assert.equal((await place.run(['send', pathOf(place, SECOND)])).status, 0);
  assert.deepEqual(copies(place), [FIRST, SECOND]);
  for (const name of [THIRD, '20260104-031500']) {
    addBackup(place, name);
    const { status } = await place.run(['send', pathOf(place, name)], { BACKUP_OFFSITE_DIR: away });
    assert.equal(status, 1);
  }

  const { status, stdout } = await place.run(['send', addBackup(place, '20260105-031500')]);

  assert.equal(status, 0);
  assert.deepEqual([...stdout.matchAll(/(\d{8}-\d{6}): done/g)].map(([, name]) => name),
    [THIRD, '20260104-031500', '20260105-031500']);
  assert.deepEqual(copies(place), [FIRST, SECOND, THIRD, '20260104-031500', '20260105-031500']);
  assert.deepEqual(contents(join(place.far, THIRD)), contents(place.backup));
});

test('each run is recorded: what arrived last, its size, the oldest that is unsent, and why', async (t) => {
  const place = threeNights(t);
  const { env } = place;
  await place.run(['send', pathOf(place, THIRD)], { BACKUP_OFFSITE_DIR: '/mnt/unplugged' });
  const { last: failed, lastGood: none } = noted(place);
  assert.deepEqual([failed?.ok, failed?.name, failed?.unsent, none], [false, null, FIRST, null]);
  assert.equal(failed?.problem, 'BACKUP_OFFSITE_DIR /mnt/unplugged does not exist: is the disk mounted?');

  await place.run(['send', pathOf(place, THIRD)]);
  const { last, lastGood } = noted(place);
  const bytes = Object.keys(contents(place.backup)).reduce((sum, name) => sum + readFileSync(join(place.backup, name)).length, 0);
  assert.deepEqual([last?.ok, last?.name, last?.bytes, last?.unsent, last?.problem], [true, THIRD, bytes, null, null]);
  assert.deepEqual(lastGood, last);
  assert.ok(!existsSync(join(place.dataDir, 'run/last-offsite-rclone.json')), Object.keys(env).join());
});

test('a disk that fills up gets the oldest, the others are not tried in vain, and all of them come later', async (t) => {
  const place = threeNights(t);
  const tried = join(place.folder, 'tried');
  place.replace('cp', `for last do :; done; echo "$last" >>'${tried}'; case $last in *${FIRST}*) exec REAL "$@" ;; esac
    echo 'No space left on device' >&2; exit 1`);
  assert.equal((await place.run(['send', pathOf(place, THIRD)])).status, 1);
  assert.deepEqual(readFileSync(tried, 'utf8').match(/2026010\d/g), ['20260101', '20260102']);
  assert.deepEqual([noted(place).last?.name, noted(place).last?.unsent], [FIRST, SECOND]);

  place.replace('cp', 'exec REAL "$@"');
  assert.equal((await place.run(['send', pathOf(place, THIRD)])).status, 0);
  assert.deepEqual(copies(place), [FIRST, SECOND, THIRD]);
});

test('a disk that is unplugged between two copies gets no more, and neither does the folder below it', async (t) => {
  const place = threeNights(t);
  place.replace('mv', `REAL "$@" || exit; case $* in *${FIRST}) umount -l "$F" ;; esac`);

  const outcome = await privately(t, place, 'mount -t tmpfs none "$F"', `send '${pathOf(place, THIRD)}'`);
  if (!outcome) return;

  assert.equal(outcome.status, 1);
  assert.match(outcome.stderr, /was unmounted meanwhile/);
  assert.deepEqual(outcome.left, []);
  assert.deepEqual([noted(place).last?.name, noted(place).last?.unsent], [FIRST, SECOND]);
});

test('what was missed can be sent alone; where nothing was, nothing is tried and nothing recorded', async (t) => {
  const place = threeNights(t);
  assert.equal((await place.run(['missed'])).status, 0);
  assert.deepEqual(copies(place), [FIRST, SECOND, THIRD]);
  const before = noted(place);

  const { status, stdout, stderr } = await place.run(['missed', 'dir'], { PATH: place.env['PATH'] ?? '' });

  assert.deepEqual([status, stdout, stderr], [0, '', '']);
  assert.deepEqual(noted(place), before);
  assert.equal((await place.run(['missed', 'tape'])).status, 2);
});

test('a damaged backup here, and another of the same name there, keep no later one from its copy', async (t) => {
  const place = threeNights(t);
  appendFileSync(join(pathOf(place, SECOND), 'hub.db'), 'x');
  mkdirSync(join(place.far, FIRST));

  const { status, stderr } = await place.run(['send', pathOf(place, THIRD)]);

  assert.equal(status, 1);
  assert.match(stderr, /20260101-031500 exists with different content/);
  assert.match(stderr, /20260102-031500 is not a complete backup: nothing is sent of it/);
  assert.deepEqual(copies(place), [FIRST, THIRD]);
  assert.deepEqual([noted(place).last?.name, noted(place).last?.unsent], [THIRD, FIRST]);
  assert.equal((await place.run(['send', addBackup(place, '20260104-031500')])).status, 1, 'what is owed is not forgotten');
  assert.deepEqual([noted(place).last?.name, noted(place).last?.unsent], ['20260104-031500', FIRST]);

  rmSync(join(place.far, FIRST), { recursive: true });
  cpSync(place.backup, pathOf(place, SECOND), { recursive: true });
  assert.equal((await place.run(['missed'])).status, 0);
  assert.deepEqual(copies(place), [FIRST, SECOND, THIRD, '20260104-031500']);
  assert.deepEqual([noted(place).last?.ok, noted(place).last?.unsent], [true, null]);
});

test('the oldest that is unsent stays named though it is gone here, until a run sends all that there is', async (t) => {
  const place = threeNights(t);
  const away = { BACKUP_OFFSITE_DIR: '/mnt/unplugged' };
  await place.run(['send', pathOf(place, THIRD)], away);
  assert.equal(noted(place).last?.unsent, FIRST);
  rmSync(pathOf(place, FIRST), { recursive: true });
  await place.run(['send', pathOf(place, THIRD)], away);
  assert.equal(noted(place).last?.unsent, FIRST);
  const killed = ['offsite-note', 'dir', 'failed', '--killed', '--unsent', THIRD];
  await runProgram('sh', [join(PROJECT_ROOT, 'scripts/hubctl'), ...killed], { env: { ...place.env, ...away } });
  assert.equal(noted(place).last?.unsent, FIRST, 'a killed run has sent nothing for certain');
  await place.run(['send', pathOf(place, THIRD)], { BACKUP_OFFSITE_DIR: '/mnt/other' });
  assert.equal(noted(place).last?.unsent, SECOND, 'to another place nothing was owed');

  assert.equal((await place.run(['send', pathOf(place, THIRD)])).status, 0);
  assert.deepEqual([noted(place).last?.name, noted(place).last?.unsent], [THIRD, null]);
});

test('a full disk is told as that, and not as a failure to encrypt', async (t) => {
  const place = offSite(t);
  Object.assign(place.env, { BACKUP_OFFSITE_DIR: place.far, BACKUP_AGE_RECIPIENT: makeKey(place.folder).recipient });
  const outcome = await privately(t, place, 'mount -t tmpfs -o size=100k none "$F"', `send '${place.backup}'`);
  if (!outcome) return;
  assert.equal(outcome.status, 1);
  assert.match(noted(place).last?.problem ?? '', /FAILED: cat: .*No space left on device$/);
  assert.doesNotMatch(outcome.stderr, /could not be encrypted/);
});

test('what is too old to be kept here is not sent any more, and a copy from the future does not hide what is missing', async (t) => {
  const place = offSite(t);
  Object.assign(place.env, { BACKUP_OFFSITE_DIR: place.far, BACKUP_RETENTION_DAYS: '5' });
  const [late, recent, newest] = [7, 4, 0].map((days) => backupName(Date.now() - days * DAY)) as [string, string, string];
  for (const name of [late, recent, newest]) addBackup(place, name);
  writeFileSync(join(place.dataDir, 'backups/off-site.sent'), `${'0'.repeat(64)}  ${place.far}/29990101-031500/SHA256SUMS\n`);

  assert.equal((await place.run(['--new-disk'])).status, 0);
  assert.deepEqual(copies(place), [recent, newest]);
});

test('SIGTERM to the script alone ends its rclone at once, whatever that is doing, and is recorded', { timeout: 90_000 }, async (t) => {
  for (const [act, more] of [['copy', false], ['check', false], ['moveto', false], ['rcat', true], ['cat', true]] as const) {
    const place = offSite(t);
    makeBox(place);
    const env = { ...place.env, BACKUP_RCLONE_REMOTE: 'box:',
      ...(more && { BACKUP_AGE_RECIPIENT: makeKey(place.folder).recipient }) };
    const hangs = join(place.folder, 'hangs');
    place.replace('rclone', `case " $* " in *" ${act} "*) echo $$ >'${hangs}'; exec sleep 600 ;; esac; exec REAL "$@"`);
    const child = spawn('sh', [SCRIPT, 'send', place.backup], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (text) => (said += String(text)));
    const ended = new Promise((resolve) => child.once('close', resolve));
    await waitUntil(act, () => existsSync(hangs) && readFileSync(hangs, 'utf8').endsWith('\n'));
    const pid = Number(readFileSync(hangs, 'utf8'));
    t.after(() => void (isRunning(pid) && process.kill(pid)));

    child.kill('SIGTERM');

    assert.equal(await ended, 1, act);
    assert.match(said, /off-site: the copy was stopped before it was complete\n$/);
    await waitUntil('the end of rclone', () => !isRunning(pid));
    const { last } = noted(place, 'rclone');
    assert.deepEqual([last?.ok, last?.unsent, last?.problem], [false, NAME, 'the copy was stopped before it was complete']);
    assert.deepEqual(readdirSync(join(place.dataDir, 'tmp')), []);
    place.replace('rclone', 'exec REAL "$@"');
    assert.equal((await place.run(['send', place.backup], env)).status, 0, 'the next run goes on');
  }
});

test('only one destination is sent to when it is named', async (t) => {
  const place = threeNights(t);
  place.env['BACKUP_RCLONE_REMOTE'] = 'nobody:hub';
  assert.equal((await place.run(['send', place.backup, 'dir'])).status, 0);
  assert.equal((await place.run(['send', place.backup, 'rclone'])).status, 1);
  assert.equal((await place.run(['send', place.backup, 'tape'])).status, 2);
  const unset = await place.run(['send', place.backup, 'restic']);
  assert.deepEqual([unset.status, unset.stderr], [2, 'off-site: the destination restic is not set: nothing is sent\n']);
});

test('a run that is killed at any moment leaves nothing half under a final name, and the next one sends what is missing', async (t) => {
  const place = threeNights(t);
  const box = makeBox(place);
  Object.assign(place.env, { BACKUP_RCLONE_REMOTE: 'box:', BACKUP_AGE_RECIPIENT: makeKey(place.folder).recipient });
  const names = (folder: string): string[] => readdirSync(folder).filter((name) => !name.startsWith('.')).sort();
  const asRecorded = (): void => void execFileSync('sha256sum', ['-c', '--strict', '--quiet', '--ignore-missing',
    ledgerOf(place, box)]);

  let kills = 0;
  for (let delay = 300; names(box).length < 3 && kills < 12; delay += 250, kills++) {
    const child = spawn('sh', [SCRIPT, 'send', pathOf(place, THIRD)], { env: place.env, detached: true, stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await Promise.race([ended, sleep(delay)]);
    // All of its session: what timeout runs has a process group of its own, and would go on beside the next run.
    while (spawnSync('pkill', ['-KILL', '-s', String(child.pid)]).status === 0) await sleep(5);
    await ended;
    for (const folder of [place.far, box]) {
      for (const name of names(folder)) assert.deepEqual(readdirSync(join(folder, name)), ['backup.tar.gz.age'], name);
    }
    if (existsSync(join(place.dataDir, 'backups/off-site.sent'))) asRecorded();
  }

  assert.ok(kills > 3);
  const { status, stderr } = await place.run(['send', pathOf(place, THIRD)]);
  assert.equal(status, 0, stderr);
  assert.deepEqual([names(place.far), names(box)], [[FIRST, SECOND, THIRD], [FIRST, SECOND, THIRD]]);
  asRecorded();
});

/** What was recorded of the copies, with a remote that is a folder named by that. */
function ledgerOf({ folder, dataDir }: OffSite, box: string): string {
  const path = join(folder, 'recorded');
  writeFileSync(path, readFileSync(join(dataDir, 'backups/off-site.sent'), 'utf8').replaceAll('  box:', `  ${box}/`));
  return path;
}

test('a copy that got its name as the run was killed is known again by the next one, encrypted or not', async (t) => {
  for (const recipient of [true, false]) {
    for (const [program, script] of [
      ['mv', 'REAL "$@"; kill -9 0'],
      ['rclone', 'REAL "$@"; case " $* " in *" moveto "*) kill -9 0 ;; esac'],
    ] as const) {
      const place = offSite(t);
      makeBox(place);
      Object.assign(place.env, program === 'mv' ? { BACKUP_OFFSITE_DIR: place.far } : { BACKUP_RCLONE_REMOTE: 'box:' },
        recipient ? { BACKUP_AGE_RECIPIENT: makeKey(place.folder).recipient } : {});
      place.replace(program, script);
      assert.notEqual((await place.send()).status, 0);
      place.replace(program, 'exec REAL "$@"');

      const { status, stdout, stderr } = await place.send();

      assert.deepEqual([status, stderr.replace(/off-site: note: .*\n/, '')], [0, ''], `${program} ${recipient}`);
      assert.match(stdout, /already there and identical/);
      assert.equal(noted(place, program === 'mv' ? 'dir' : 'rclone').last?.name, NAME);
    }
  }
});

test('what a killed run has just put on one destination is known again, whatever the next run sends to another first', async (t) => {
  const place = offSite(t);
  const box = makeBox(place);
  Object.assign(place.env, { BACKUP_RCLONE_REMOTE: 'box:', BACKUP_AGE_RECIPIENT: makeKey(place.folder).recipient });
  place.replace('rclone', 'REAL "$@"; case " $* " in *" moveto "*) kill -9 0 ;; esac');
  assert.notEqual((await place.send()).status, 0);
  assert.deepEqual(readdirSync(join(box, NAME)), ['backup.tar.gz.age']);
  place.replace('rclone', 'exec REAL "$@"');

  const { status, stdout } = await place.send({ BACKUP_OFFSITE_DIR: place.far });

  assert.equal(status, 0);
  assert.match(stdout, /far disk\/\d{8}-\d{6}: done.*\n.*box:\d{8}-\d{6}: already there and identical\n/);
  assert.deepEqual(copies(place), [NAME]);
  assert.deepEqual([noted(place).last?.ok, noted(place, 'rclone').last?.ok], [true, true]);
});

test('a folder that was half moved on object storage when the run was killed is moved to its end', async (t) => {
  const place = offSite(t);
  const box = makeBox(place);
  place.env['BACKUP_RCLONE_REMOTE'] = 'box:';
  place.replace('rclone', `case " $* " in *" moveto "*) mkdir '${box}/${NAME}'
    mv '${box}/.partial-${NAME}/hub.db' '${box}/${NAME}/'; kill -9 0 ;; esac; exec REAL "$@"`);
  assert.notEqual((await place.send()).status, 0);
  assert.deepEqual(readdirSync(join(box, NAME)), ['hub.db']);
  place.replace('rclone', 'exec REAL "$@"');

  assert.equal((await place.send()).status, 0);

  assert.deepEqual(readdirSync(box), [NAME]);
  assert.deepEqual(contents(join(box, NAME)), contents(place.backup));
});
