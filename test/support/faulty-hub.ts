import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { alertEvents } from '../../src/features/alerts/alert-store.ts';
import { heartbeats } from '../../src/features/hub/hub.ts';
import { HOUR, SECOND } from '../../src/platform/clock.ts';
import { addFeed } from './accounts.ts';
import { rss, serving } from './feeds.ts';
import { startHub } from './hub.ts';
import { hubEnvironment } from './hub-process.ts';
import { MIGRATIONS, oneMigrationMore } from './migrated-database.ts';
import { reply, startOrigin } from './origin.ts';
import { overviewOf } from './overview.ts';
import { startReceiver } from './receiver.ts';
import { makeResticRepository, REPOSITORY_PASSWORD } from './restic-repository.ts';
import { compiledIn, PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';
import { parseSeries } from './service-series.ts';
import { temporaryProject, writeFiles } from './temporary-project.ts';
import { cannotRun, requireTool } from './tools.ts';
import { uploadPath, writePost, writer } from './uploads.ts';

const GiB = 1024 ** 3;
const PARTS =
  ['migrations', 'src', 'scripts', 'package.json', 'node_modules/better-sqlite3', 'node_modules/node-addon-api'];
const MARKS: Record<string, string> = { good: 'ok', off: '-', warn: 'WARN', bad: 'BAD' };

export type FaultyHub = NonNullable<Awaited<ReturnType<typeof faultyHub>>>;

/** What health, metrics, alerts, log, overview and `hubctl status` of a hub say at one moment. */
export type Said = Awaited<ReturnType<FaultyHub['listen']>>;

/** A small disk of its own for DATA_DIR, BACKUP_DIR or copies. It stays whole while it is not mounted. */
function mountDisk(path: string, megabytes: number) {
  const device = `${path}.device`;
  for (const folder of [path, device]) mkdirSync(folder);
  const mount = (): void => void execFileSync('mount', ['--bind', device, path]);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', device]);
  mount();
  const filler = join(device, 'filler');
  return {
    path, mount,
    remove: (): void => void spawnSync('umount', ['-l', path, device]),
    unmount: (): void => void execFileSync('umount', [path]),
    setReadOnly: (isSo: boolean): void => void execFileSync('mount', ['-o', `remount,bind,${isSo ? 'ro' : 'rw'}`, path]),
    /** Takes all but so many bytes. */
    fill(left = 0): void {
      const { bavail, bsize } = statfsSync(device);
      execFileSync('fallocate', ['-l', String(bavail * bsize - left), filler]);
    },
    empty: (): void => rmSync(filler),
  };
}

/**
 * A hub that is well: with the clock of this machine, three feeds, a backup on a disk of its own, copies of it at three
 * destinations, and a service that its nights call. Undefined where the test cannot mount disks or a tool is missing.
 */
export async function faultyHub(t: TestContext) {
  if (!requireTool(t, 'restic') || !requireTool(t, 'rclone')) return undefined;
  if (spawnSync('unshare', ['-m', 'true']).status !== 0) return void cannotRun(t, 'only root can mount disks');
  const folder = mkdtempSync(join(tmpdir(), 'hub-faults-'));
  const place = (name: string): string => join(folder, name);
  const [data, backups, far] =
    [mountDisk(place('data'), 1_400), mountDisk(place('backups'), 200), mountDisk(place('far'), 32)];
  t.after(() => {
    for (const disk of [data, backups, far]) disk.remove();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const name of ['bin', 'box']) mkdirSync(place(name));
  const feeds: Record<string, number> = { '/a': 200, '/b': 200, '/c': 200, '/alive': 200 };
  const origin = await startOrigin(t, (request, response) => {
    const status = feeds[request.path] ?? 404;
    (status === 200 ? serving(() => rss(request.path, [])) : reply(status, {}))(request, response);
  });
  const receiver = await startReceiver(t);
  const destinations = {
    dir: { BACKUP_OFFSITE_DIR: far.path }, rclone: { BACKUP_RCLONE_REMOTE: 'box:hub' },
    restic: { BACKUP_RESTIC_REPOSITORY: place('restic'), BACKUP_RESTIC_PASSWORD_FILE: place('password') },
  };
  const everywhere = { ...destinations.dir, ...destinations.rclone, ...destinations.restic };
  const settings = {
    DATA_DIR: data.path, BACKUP_DIR: backups.path, SYNC_MAX_ATTEMPTS: '1', HEARTBEAT_URL: `${origin.url}/alive`,
    ALERT_WEBHOOK_URL: receiver.url, ALERT_WEBHOOK_FORMAT: 'json', DISK_RESERVE_BYTES: String(1_100 * 1024 ** 2),
  };
  const alias = `[box]\ntype = alias\nremote = ${place('box')}\n`;
  writeFiles(folder, { password: `${REPOSITORY_PASSWORD}\n`, 'rclone.conf': alias });
  makeResticRepository(place('restic'));
  const env: Record<string, string> = {
    ...hubEnvironment(data.path, settings), ...compiledIn(data.path), PATH: `${place('bin')}:/usr/bin:/bin`, HOME: folder,
    HUB_NODE: process.execPath, RCLONE_CONFIG: place('rclone.conf'),
  };
  const hub = await startHub(t, { ...settings, ...everywhere });
  const clock = (): void => hub.passTime(Date.now() - hub.now());
  clock();
  const owner = await writer(hub, 'ada');
  const { client: ada } = owner;
  const { attachments: [upload] } = await writePost(hub, owner, [{ filename: 'a.txt', data: 'Nothing but words.' }]);
  const sources = new Map<string, number>();
  for (const path of ['/a', '/b', '/c']) sources.set(path, await addFeed(ada, origin.url + path));

  /** One of the operator's scripts, by default with all destinations set. */
  let project = PROJECT_ROOT;
  const script = (line: string, set: Record<string, string> = everywhere): Promise<Outcome> =>
    runProgram('setsid', ['-w', 'sh', '-c', `cd / && sh "$0"/scripts/${line}`, project], { env: { ...env, ...set } });

  let [heard, read] = [0, 0]; // alerts, lines of the log

  /** What all mouths say after ten seconds. An alert of each kind may come: the last one was an hour ago. */
  async function listen(isWorkerAlive = true) {
    for (const event of alertEvents(hub.handle).all()) {
      const hourAgo = (at: number | null): number | null => at && at - HOUR;
      alertEvents(hub.handle).put({ ...event, toldAt: hourAgo(event.toldAt), overToldAt: hourAgo(event.overToldAt) });
    }
    clock();
    heartbeats(hub.handle).beat('web');
    for (const passed of isWorkerAlive ? [0, 10 * SECOND] : []) await hub.work(passed);
    const alerts = receiver.alerts().slice(heard);
    heard += alerts.length;
    const lines = hub.logged().slice(read);
    read += lines.length;
    const health = healthProblems((await hub.anybody.get('/api/health')).json());
    const metrics = metricProblems(parseSeries((await hub.anybody.get('/api/metrics')).text), Date.now());
    const { verdict, tiles: all } = await overviewOf(ada);
    const tiles = [...all].map(([subject, { level, state }]) => `${MARKS[level]} ${subject}: ${state}`);
    const status = await script('hubctl status');
    return { alerts, troubles: lines.map(({ trouble }) => trouble), health, metrics, verdict, tiles, status };
  }

  return {
    ...hub, env, alias, destinations, data, backups, far, feeds, receiver, place, script, listen, clock,
    upload: uploadPath(data.path, upload?.sha256 ?? ''),
    /** From now on a program of the scripts is this one. */
    replace: (name: string, text: string): void => writeFiles(place('bin'), { [name]: `#!/bin/sh\n${text}\n` }, 0o755),
    unreplace: (name: string): void => rmSync(join(place('bin'), name)),
    configure: (file: string, text: string): void => writeFileSync(place(file), text),
    /** From now on the scripts are those of a version with that migration more; null for this version. */
    release(migration: string | null): void {
      project = migration === null ? PROJECT_ROOT : temporaryProject(t, PARTS);
      const name = `${String(MIGRATIONS.length + 1).padStart(4, '0')}_later.sql`;
      const read = (path: string): string => readFileSync(join(project, path), 'utf8');
      if (migration !== null) writeFiles(project, oneMigrationMore(name, migration, read));
    },
    /** The feeds answer like that, and are fetched. */
    async answer(status: number, ...paths: string[]): Promise<void> {
      for (const path of paths) {
        feeds[path] = status;
        assert.equal((await ada.post(`/api/sources/${sources.get(path)}/sync`)).status, 202);
      }
      await hub.work();
    },
  };
}

type Health = {
  ok: boolean; failedJobs: number; worker: { ok: boolean }; lastBackup: { verified: boolean } | null;
  lastVerifiedBackup: object | null; offsite: { name: string; ok: boolean }[]; degraded: string[];
};

/** What health says is not well. */
function healthProblems({ ok, failedJobs, worker, lastBackup, lastVerifiedBackup, offsite, degraded }: Health): string[] {
  return [
    !ok && 'not ok', failedJobs > 0 && `${failedJobs} failed`, !worker.ok && 'worker', !lastBackup && 'no backup',
    lastBackup && !lastBackup.verified && 'backup not verified', !lastVerifiedBackup && 'no verified backup',
    ...offsite.map((one) => !one.ok && one.name), ...degraded,
  ].filter((one) => one !== false && one !== null);
}

/** What the alert rules for Prometheus would find in these series, in short. */
function metricProblems(series: Map<string, number>, now: number): string[] {
  const free = series.get('service_data_free_bytes') ?? 0;
  const seen = series.get('service_worker_last_seen_timestamp_seconds') ?? 0;
  const found = [...series].filter(([, value]) => value > 0).map(([name]) => name)
    .filter((name) => /last_run_failed|oldest_unsent|jobs\{state="failed"/.test(name));
  return [
    ...found.map((name) => name.replace(/service_(backup_)?|_timestamp_seconds|"}/g, '').replace(/{\w+="/, ' ')),
    ...(free < GiB ? ['data_free_bytes'] : []), ...(now / SECOND - seen > 300 ? ['worker_last_seen'] : []),
  ];
}
