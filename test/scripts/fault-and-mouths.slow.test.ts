// Protects the truth about faults: health, metrics, alerts, log, overview, hubctl status and scripts agree on each.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { begunPath } from '../../src/features/backups/backup-status.ts';
import { stopDeliveringAlerts, watchWorker } from '../../src/features/health/watch-conditions.ts';
import { lockForRunning } from '../../src/features/hub/data-locks.ts';
import { DAY, MINUTE, SECOND } from '../../src/platform/clock.ts';
import { createHeartbeats } from '../../src/platform/jobs/scheduler.ts';
import { faultyHub, type FaultyHub, type Said } from '../support/faulty-hub.ts';
import { PROJECT_ROOT, type Outcome } from '../support/run-program.ts';
import { removeRows } from '../support/stored-rows.ts';
import { waitUntil } from '../support/wait-until.ts';

/** A fault, and what each mouth says of it. What is left out is as on a hub that is well. */
type Fault = {
  condition: string; // the one that finds it
  inject(hub: FaultyHub): Promise<Outcome | void> | void;
  undo(hub: FaultyHub): Promise<unknown> | void;
  last?: RegExp; // the last line of the script that `inject` ran
  health?: string[];
  metrics?: string[];
  alerts?: string[];
  tile: string; // on the overview and in `hubctl status`
  says?: RegExp; // on the overview, in `hubctl status` and in an alert; none if all is well
  tells?: RegExp; // in an alert, if it says something else
  advice?: RegExp; // in `hubctl status`
  isWorkerDead?: true;
  isOnlyInStatus?: true;
};

const FAILED = /^result=failed off-site=none$/;

const backUp = (hub: FaultyHub): Promise<Outcome> => hub.script('backup.sh', {});
const send = (hub: FaultyHub, destination: string): Promise<Outcome> => hub.script(`off-site.sh missed ${destination}`);

/** A night that sends its backup to that destination alone. */
const sendTo = (hub: FaultyHub, destination: keyof FaultyHub['destinations']): Promise<Outcome> =>
  hub.script('backup.sh', hub.destinations[destination]);

function newest(hub: FaultyHub): string {
  const names = readdirSync(hub.backups.path).filter((name) => /^\d+-\d+$/.test(name));
  return join(hub.backups.path, names.sort().at(-1) ?? '');
}

/** What every mouth says of copies that do not arrive at a destination. */
const unsent = (destination: string, subject: string, why: RegExp) => ({
  condition: 'backup-offsite-failed', last: /^result=verified off-site=failed name=/, health: [destination],
  metrics: [`last_run_failed offsite-${destination}`, `offsite_oldest_unsent ${destination}`],
  alerts: ['backup-offsite-failed error'], tile: `WARN ${subject}: failing`,
  says: new RegExp(`${subject} are failing: .*${why.source}.* The destination lacks \\d+-\\d+( and later backups)?\\.`),
  tells: new RegExp(`${subject} are failing: `), // is cut off after 300 characters
  advice: /Mend what the reason names, and run \.\/scripts\/off-site\.sh check/,
});

/** tested-conditions.test.ts checks that each condition is in this table, or in another test. */
const FAULTS: Record<string, Fault> = {
  'a restic repository that is not there': {
    inject: (hub) => (renameSync(hub.place('restic'), hub.place('away')), sendTo(hub, 'restic')),
    undo: (hub) => (renameSync(hub.place('away'), hub.place('restic')), send(hub, 'restic')),
    ...unsent('restic', 'Copies by restic', /no restic repository in .*: is the disk mounted\? It held copies before/),
  },
  'a restic repository that somebody has locked': {
    inject(hub) {
      const refusal = 'echo "unable to create lock: repository is already locked by PID 1" >&2 && exit 11';
      hub.replace('restic', `case $1 in backup) ${refusal} ;; esac; exec /usr/bin/restic "$@"`);
      hub.replace('sleep', 'exit 0');
      return sendTo(hub, 'restic');
    },
    undo: (hub) => (hub.unreplace('restic'), hub.unreplace('sleep'), send(hub, 'restic')),
    ...unsent('restic', 'Copies by restic', /already locked by PID 1/),
  },
  'another password than that of the restic repository': {
    inject: (hub) => (hub.configure('password', 'another\n'), sendTo(hub, 'restic')),
    undo: (hub) => (hub.configure('password', 'a password\n'), send(hub, 'restic')),
    ...unsent('restic', 'Copies by restic', /wrong password/),
  },
  'a full off-site disk': {
    inject: (hub) => (hub.far.fill(), sendTo(hub, 'dir')),
    undo: (hub) => (hub.far.empty(), send(hub, 'dir')),
    ...unsent('dir', 'Copies on another disk', /No space left on device/),
  },
  'a copy that is killed': {
    inject(hub) {
      hub.replace('cp', `for id in $PPID $(ps -o ppid= -p $PPID); do
        case $(ps -o args= -p $id) in 'sh '*/off-site.sh*) kill -9 $id ;; esac; done`);
      return sendTo(hub, 'dir');
    },
    undo: (hub) => (hub.unreplace('cp'), send(hub, 'dir')),
    ...unsent('dir', 'Copies on another disk', /the copy was killed before it was complete/),
  },
  'an off-site disk that is not mounted': {
    inject: (hub) => (hub.far.unmount(), sendTo(hub, 'dir')),
    undo: (hub) => (hub.far.mount(), send(hub, 'dir')),
    ...unsent('dir', 'Copies on another disk', /contains none of the earlier copies: is the disk mounted\?/),
  },
  'a remote that cannot be reached': {
    inject(hub) {
      hub.configure('rclone.conf', '[box]\ntype = webdav\nurl = http://127.0.0.1:9\n');
      return sendTo(hub, 'rclone');
    },
    undo: (hub) => (hub.configure('rclone.conf', hub.alias), send(hub, 'rclone')),
    ...unsent('rclone', 'Copies by rclone', /box:hub.*connection refused/),
  },
  'a backup that fails': {
    condition: 'backup-failed', last: FAILED,
    inject: (hub) => (hub.backups.setReadOnly(true), backUp(hub)),
    undo: (hub) => (hub.backups.setReadOnly(false), backUp(hub)),
    metrics: ['last_run_failed backup'], alerts: ['backup-failed error'],
    tile: 'BAD Backup here: the last failed', says: /The last backup failed: .*read-only/,
    advice: /then run \.\/scripts\/backup\.sh/,
  },
  'a backup that is killed': {
    condition: 'backup-failed',
    async inject(hub) {
      const child = spawn('sh', [join(PROJECT_ROOT, 'scripts/hubctl'), 'backup'], { env: hub.env, detached: true });
      await waitUntil('it has begun', () => existsSync(begunPath(hub.data.path, 'backup')));
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await new Promise((resolve) => child.once('close', resolve));
    },
    undo: backUp,
    metrics: ['last_run_failed backup'], alerts: ['backup-failed error'],
    tile: 'BAD Backup here: the last failed', says: /The last backup failed: the backup was killed before it was complete\./,
    advice: /then run \.\/scripts\/backup\.sh/,
  },
  'a backup that lacks a file of the hub': {
    condition: 'backup-degraded', last: /^result=degraded off-site=none name=/,
    inject: (hub) => (renameSync(hub.upload, `${hub.upload}.aside`), backUp(hub)),
    undo: (hub) => (renameSync(`${hub.upload}.aside`, hub.upload), backUp(hub)),
    health: ['backup not verified'], metrics: ['last_run_failed backup'], alerts: ['backup-degraded error'],
    tile: 'BAD Backup here: the last backup is incomplete',
    says: /is incomplete, because the hub lacks data: missing, damaged or unreadable uploads: 1/,
    advice: /hubctl doctor names what is lost or unreadable, and what to do/,
  },
  'a backup that was damaged': {
    condition: 'backup-verify-failed', last: /^FAILED: uploads\.tar\.gz: .* Do not restore this backup\.$/,
    inject(hub) {
      cpSync(newest(hub), hub.place('whole'), { recursive: true });
      truncateSync(join(newest(hub), 'uploads.tar.gz'), 30);
      return hub.script(`verify-backup.sh '${newest(hub)}'`);
    },
    undo(hub) {
      cpSync(hub.place('whole'), newest(hub), { recursive: true });
      return hub.script(`verify-backup.sh '${newest(hub)}'`);
    },
    health: ['backup not verified'], metrics: ['last_run_failed verify'], alerts: ['backup-verify-failed error'],
    tile: 'BAD Verification: failed', says: /The backup \d+-\d+ is damaged: .*uploads\.tar\.gz/,
    advice: /then remove the damaged one/,
  },
  'a full disk of BACKUP_DIR': {
    condition: 'space-low', last: FAILED,
    inject: (hub) => (hub.backups.fill(), backUp(hub)),
    undo: (hub) => (hub.backups.empty(), backUp(hub)),
    metrics: ['last_run_failed backup'], alerts: ['backup-failed error', 'space-low error'],
    tile: 'BAD Disk: nearly full', says: /The disk of BACKUP_DIR is nearly full: 0 bytes are free/,
    advice: /or move BACKUP_DIR to a larger disk/,
  },
  'a bare mount point of BACKUP_DIR': {
    condition: 'backup-dir-missing',
    inject: (hub) => hub.backups.unmount(),
    undo: (hub) => hub.backups.mount(),
    health: ['backup-dir'], alerts: ['backup-dir-missing error'], tile: 'BAD Backup here: not there',
    says: /BACKUP_DIR \S+ holds none of the backups that were made in it: is its disk mounted\?/,
    advice: /Mount the disk of BACKUP_DIR/,
  },
  'a BACKUP_DIR that is not there': {
    condition: 'backup-dir-missing', last: FAILED,
    inject: (hub) => (hub.backups.unmount(), rmSync(hub.backups.path, { recursive: true }), backUp(hub)),
    undo: (hub) => (mkdirSync(hub.backups.path), hub.backups.mount(), backUp(hub)),
    health: ['backup-dir'], metrics: ['last_run_failed backup'],
    alerts: ['backup-dir-missing error', 'backup-failed error'], tile: 'BAD Backup here: not there',
    says: /BACKUP_DIR \S+ is not there: is its disk mounted\?/, advice: /Mount the disk of BACKUP_DIR/,
  },
  'a sign of life that does not arrive': {
    condition: 'heartbeat-failed', last: /^the sign of life did not arrive: .*500/,
    inject: (hub) => (hub.feeds['/alive'] = 500, hub.script('hubctl heartbeat')),
    undo: (hub) => (hub.feeds['/alive'] = 200, hub.script('hubctl heartbeat')),
    alerts: ['heartbeat-failed warning'], tile: 'WARN Sign of life: the last was lost',
    says: /The last sign of life did not arrive: .*500/, advice: /Look at HEARTBEAT_URL/,
  },
  'a clock that was ahead': {
    condition: 'clock-ahead',
    async inject(hub) {
      hub.passTime(3 * DAY);
      await hub.newcomer('ben');
      cpSync(newest(hub), join(hub.backups.path, backupName(hub.now())), { recursive: true });
    },
    undo: (hub) => (rmSync(newest(hub), { recursive: true }), removeRows(hub, 'audit_records')),
    alerts: ['clock-ahead warning'], tile: 'WARN Clock: was ahead',
    says: /The clock was ahead, so the following lie in the future: 1 backup \(the last is .*\); records of the audit log/,
    advice: /Look at the machine’s clock/,
  },
  'a disk that is full': {
    condition: 'disk-full',
    inject: (hub) => hub.data.fill(1_000 * 1024 ** 2),
    undo: (hub) => hub.data.empty(),
    health: ['disk'], metrics: ['data_free_bytes'], alerts: ['disk-full error', 'space-low error'],
    tile: 'BAD Disk: full', advice: /or move DATA_DIR to a larger disk/,
    says: /The disk is full: members can store nothing\. .* are kept for repairs\. The space is taken by: /,
  },
  'one feed that has gone, which is news for its owner': {
    condition: 'sync-failed',
    inject: (hub) => hub.answer(404, '/a'),
    undo: (hub) => hub.answer(200, '/a'),
    health: ['1 failed'], metrics: ['sync_jobs failed'], alerts: ['sync-failed error'],
    tile: 'ok Sources: 3 of 4 well',
  },
  'feeds that all fail': {
    condition: 'sync-failed',
    inject: (hub) => hub.answer(404, '/a', '/b', '/c'),
    undo: (hub) => hub.answer(200, '/a', '/b', '/c'),
    health: ['3 failed'], metrics: ['sync_jobs failed'], alerts: ['sync-failed error'],
    tile: 'WARN Sources: 3 failing', says: /3 of 3 feeds are failing\./, tells: /\/sources\/\d+\)/,
    advice: /See whether the hub reaches them/,
  },
  'a version with a migration more, beside the hub that runs': {
    condition: 'migrations-pending', isOnlyInStatus: true,
    last: /^hubctl: migrations are pending while a hub runs on .*; nothing was changed$/,
    async inject(hub) {
      hub.release('-- safe: yes\nCREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;\n');
      const lock = lockForRunning(hub.data.path, 'web');
      const refused = await hub.script('hubctl invite');
      lock?.release();
      assert.equal(refused.status, 75);
      return refused;
    },
    undo: (hub) => hub.release(null),
    tile: 'WARN Schema: 1 pending', says: /The database lacks migration \d+ \(later\)\./,
    advice: /or run \.\/scripts\/hubctl migrate\./,
  },
  'a version with a migration that may lose data': {
    condition: 'migrations-pending', isOnlyInStatus: true, last: /--allow-unsafe/,
    inject: (hub) => (hub.release('-- safe: no\nDROP TABLE offers;\n'), hub.script('hubctl migrate')),
    undo: (hub) => hub.release(null),
    tile: 'WARN Schema: 1 pending', says: /The database lacks migration \d+ \(later\)/,
    advice: /hubctl migrate --allow-unsafe/,
  },
  'a worker that is dead': {
    condition: 'worker-silent', isWorkerDead: true,
    async inject({ db, handle, passTime, receiver }) {
      createHeartbeats(db, () => Date.now() - 10 * MINUTE).beat('worker');
      const before = receiver.alerts().length;
      passTime(-6 * MINUTE);
      for (let n = 0; n < 33; n++, passTime(10 * SECOND)) await watchWorker(handle);
      await waitUntil('web has told it', () => receiver.alerts().length > before);
    },
    async undo({ handle, clock, work }) {
      clock();
      await work();
      await watchWorker(handle);
      await stopDeliveringAlerts(handle);
    },
    health: ['worker'], metrics: ['worker_last_seen'], alerts: ['worker-silent error'], tile: 'BAD Worker: not running',
    says: /The worker is not running: sources are not synchronised\./, advice: /Start the hub again/,
  },
};

/** Fails unless the overview and all others say that nothing is wrong. */
function assertWell({ health, metrics, tiles, verdict, status }: Said): void {
  assert.deepEqual([health, metrics, tiles.filter((one) => /^(WARN|BAD)/.test(one))], [[], [], []]);
  assert.match(verdict, /^All is well\./);
  assert.match(status.stdout, /^All is well\.\n/);
  assert.equal(status.status, 0);
}

test('each fault is told alike by health, metrics, alerts, the log, the overview, hubctl status and the script, and so is its end', async (t) => {
  const hub = await faultyHub(t);
  if (!hub) return;
  t.after(() => stopDeliveringAlerts(hub.handle));
  const { status, stdout, stderr } = await hub.script('backup.sh');
  assert.deepEqual([status, stdout.split(' name=')[0]], [0, 'result=verified off-site=done'], stderr);
  await hub.script('hubctl heartbeat');
  assertWell(await hub.listen());
  for (const [name, fault] of Object.entries(FAULTS)) {
    await t.test(name, async () => {
      const outcome = await fault.inject(hub);
      const said = await hub.listen(!fault.isWorkerDead);
      await fault.undo(hub);
      const after = await hub.listen();
      if (fault.last) assert.match(lastLine(outcome), fault.last, outcome?.stderr);
      assertTold(said, fault);
      assertWell(after);
      const over = (fault.alerts ?? []).map((one) => one.replace(/ .*/, ' resolved'));
      assert.deepEqual(after.alerts.map(({ event, severity }) => `${event} ${severity}`).sort(), over);
    });
  }
});

function lastLine(outcome: Outcome | void): string {
  assert.ok(outcome);
  return (outcome.stdout || outcome.stderr).trimEnd().split('\n').at(-1) ?? '';
}

function assertTold(said: Said, { condition, health = [], metrics = [], alerts = [], ...fault }: Fault): void {
  const { tile, says, tells = says, advice = /./, isOnlyInStatus } = fault;
  assert.deepEqual([said.health, said.metrics], [health, metrics]);
  assert.deepEqual(said.alerts.map(({ event, severity }) => `${event} ${severity}`).sort(), alerts);
  const events = alerts.map((one) => one.split(' ')[0]);
  assert.deepEqual(events.filter((event) => !said.troubles.includes(event)), [], 'the log has a line of each');
  assert.equal(said.tiles.includes(tile), !isOnlyInStatus, `${tile} is not among ${said.tiles.join(', ')}`);
  const { status, stdout } = said.status;
  const [level = '', rest = ''] = [tile.split(' ', 1)[0], tile.slice(tile.indexOf(' ') + 1)];
  const at = stdout.indexOf(`${level.padEnd(4)} ${rest}`);
  assert.ok(at >= 0, stdout);
  if (!says || !tells) return assert.equal(status, 0, stdout);
  assert.equal(status, 1);
  assert.match(said.verdict, isOnlyInStatus ? /^All is well\./ : says);
  const [, below = ''] = stdout.slice(at).split('\n');
  for (const words of [says, advice]) assert.match(below, words);
  if (alerts.length > 0) assert.match(said.alerts.find(({ event }) => event === condition)?.text ?? '', tells);
}
