import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { formatManifest, hashFile } from '../../src/features/backups/manifest.ts';
import { noteRun } from '../../src/features/backups/note-run.ts';
import { copyTo, readSnapshot } from '../../src/features/backups/snapshot-store.ts';
import { DAY } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { runProgram } from '../support/run-program.ts';
import { fill, fillUploads } from './bench-backup.ts';
import { benchFolder, PROJECT } from './bench-hub.ts';
import { lessRow, type BenchRow } from './bench-row.ts';

const MB = 1_000_000;
const DATABASE_MB = 100;
const NEW_SHARE = 0.005; // 100 MB of 20 GB

type Cost = { seconds: number; cpu: number };
type Night = { ours: Cost; peer: Cost };

/**
 * Nights of sending BENCH_RESTIC_MB (20000) of attachments to a restic repository on the same disk, the second and
 * third with a two-hundredth more of them each, beside `restic backup` of the same files by hand. A night is all of
 * off-site.sh: sending, listing back and comparing, what is to be forgotten, and the day's check, which reads a
 * thirtieth of the repository; by hand as well. The third comes on the day of the second: sending alone. The first is
 * also the one of the week that prunes. Making and verifying the backup on this machine is in none of them.
 */
export async function benchRestic(): Promise<BenchRow[]> {
  const megabytes = Number(process.env['BENCH_RESTIC_MB'] ?? '20000');
  using temporary = benchFolder('restic');
  const folder = temporary.path;
  const dataDir = join(folder, 'data');
  fill(dataDir, DATABASE_MB * MB, megabytes * MB);
  writeFileSync(join(folder, 'password'), 'a password\n');
  for (const repository of ['ours', 'by hand']) await byHand(folder, repository, 'init');
  const night = async (daysAgo: number, part?: number): Promise<Night> => {
    const ours = await send(folder, await layBackup(dataDir, Date.now() - daysAgo * DAY));
    const files = ['uploads', 'hub.db'].map((name) => join(dataDir, name));
    const peer = await byHand(folder, 'by hand', 'backup', '--ignore-ctime', ...files);
    if (part === undefined) return { ours, peer };
    const check = await byHand(folder, 'by hand', 'check', `--read-data-subset=${part}/30`);
    return { ours, peer: { seconds: peer.seconds + check.seconds, cpu: peer.cpu + check.cpu } };
  };
  const first = await night(2);
  makeCheckDue(dataDir);
  addUploads(dataDir, NEW_SHARE * megabytes * MB);
  const second = await night(1, 2);
  const sent = sentBytes(dataDir) / MB;
  addUploads(dataDir, NEW_SHARE * megabytes * MB);
  return rowsOf([first, second, await night(0)], megabytes, sent);
}

function rowsOf([first, second, third]: [Night, Night, Night], megabytes: number, sent: number): BenchRow[] {
  const added = NEW_SHARE * megabytes;
  const size = `of ${megabytes} MB with ${added} MB new`;
  const compared = (name: string, ours: Cost, peer: string, its: Cost, want: string): BenchRow[] => [
    lessRow({ name, ours: ours.seconds, peer, peerFigure: its.seconds, unit: 's', want }),
    lessRow({ name: `${name}, processors`, ours: ours.cpu, peer, peerFigure: its.cpu, unit: 's', want }),
  ];
  return [
    ...compared(`first night of ${megabytes} MB`, first.ours, 'restic backup by hand', first.peer, '≥ 0.83'),
    ...compared(`second night ${size}`, second.ours, 'the first', first.ours, 'as reported'),
    ...compared('second night by hand', second.peer, 'the first by hand', first.peer, 'as reported'),
    ...compared(`third night ${size}, without a check`, third.ours, 'the first', first.ours, '≥ 8'),
    ...compared('third night by hand, without a check', third.peer, 'the first by hand', first.peer, 'as reported'),
    lessRow({
      name: 'bytes sent by the second', ours: sent, peer: 'what is new', peerFigure: added, unit: 'MB', want: '≥ 0.5',
    }),
  ];
}

/** What off-site.sh needs of a backup to send it to restic: all but the archive, which takes minutes at this size. */
async function layBackup(dataDir: string, at: number): Promise<string> {
  const name = backupName(at);
  const backup = join(dataDir, 'backups', name);
  mkdirSync(backup);
  const db = openDatabase(join(dataDir, 'hub.db'), { readonly: true });
  copyTo(db, join(backup, 'hub.db'));
  db.close();
  const { sha256 } = await hashFile(join(backup, 'hub.db'));
  const { schemaVersion, counts } = await readSnapshot(join(backup, 'hub.db'));
  const facts = { createdAt: at, version: '0', schemaVersion, counts, absent: [] };
  writeFileSync(join(backup, 'SHA256SUMS'), formatManifest(facts, { database: sha256, archive: sha256 }));
  const run = { name, at, ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null } as const;
  await noteRun(dataDir, 'backup', run);
  return backup;
}

async function send(folder: string, backup: string): Promise<Cost> {
  const env = {
    DATA_DIR: join(folder, 'data'), HUB_NODE: process.execPath, BACKUP_RESTIC_REPOSITORY: join(folder, 'ours'),
    BACKUP_RESTIC_PASSWORD_FILE: join(folder, 'password'),
  };
  return await costOf(env, 'sh', join(PROJECT, 'scripts/off-site.sh'), 'send', backup);
}

/** Not quiet, as the hub's is not: that restic tells how far it is costs a little. */
function byHand(folder: string, repository: string, ...args: string[]): Promise<Cost> {
  const env = { RESTIC_CACHE_DIR: join(folder, 'cache'), RESTIC_PASSWORD_FILE: join(folder, 'password') };
  return costOf(env, 'restic', '-r', join(folder, repository), ...args);
}

/** What a command takes on the clock, and of the processors with all that it starts. */
async function costOf(more: Record<string, string>, ...command: string[]): Promise<Cost> {
  const env = { PATH: process.env['PATH'] ?? '', ...more };
  await runProgram('sync', []); // what was written before is not to be waited for
  const began = performance.now();
  const { status, stdout, stderr } = await runProgram('sh', ['-c', '"$@" >&2 || exit; times', 'sh', ...command], { env });
  if (status !== 0) throw new Error(stderr);
  const [, ofChildren = ''] = stdout.split('\n');
  const cpu = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, minutes, seconds]) =>
    sum + 60 * Number(minutes) + Number(seconds), 0);
  return { seconds: (performance.now() - began) / 1_000, cpu };
}

/** As if a day had passed since the last one. */
function makeCheckDue(dataDir: string): void {
  for (const name of readdirSync(join(dataDir, 'run')).filter((one) => one.startsWith('restic-reading.'))) {
    const path = join(dataDir, 'run', name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(/\d{13}/g, (at) => String(Number(at) - DAY)));
  }
}

function addUploads(dataDir: string, bytes: number): void {
  const db = openDatabase(join(dataDir, 'hub.db'));
  fillUploads(db, dataDir, bytes);
  db.close();
}

function sentBytes(dataDir: string): number {
  const noted = JSON.parse(readFileSync(join(dataDir, 'run/last-offsite-restic.json'), 'utf8')) as { last: { bytes: number } };
  return noted.last.bytes;
}
