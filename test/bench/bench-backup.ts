import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listUploads } from '../../src/features/attachments/attachment-store.ts';
import { archiveUploads } from '../../src/features/backups/upload-archive.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { runProgram } from '../support/run-program.ts';
import { benchFolder, newHub, PROJECT } from './bench-hub.ts';
import { lessRow, median, moreRow, type BenchRow } from './bench-row.ts';
import { startWeb } from './bench-servers.ts';

const MB = 1_000_000;
const FILE_BYTES = 500_000;
const FILES_AT_ONCE = 100; // in one transaction
/** Of sizes at which chance matters; one of the full size takes ten minutes. */
const ROUNDS = 3;
const LARGE_MB = 500;
const PEER = 'sqlite3, tar | gzip -1, sha256sum and the same checks by hand';

type Timed = { seconds: number; said: string };

/**
 * Backup, verification and restore of a hub with BENCH_BACKUP_MB (1000) MB of database and twice as much of attachments,
 * beside what one would do by hand with a stopped one; and the longest wait of a request and of a writer meanwhile.
 */
export async function benchBackup(): Promise<BenchRow[]> {
  const megabytes = Number(process.env['BENCH_BACKUP_MB'] ?? '1000');
  using folder = benchFolder('backup');
  const dataDir = join(folder.path, 'data');
  fill(dataDir, megabytes * MB);
  return [
    ...await benchSteps(folder.path, dataDir, megabytes), ...await benchArchive(folder.path, dataDir),
    ...await benchWaits(dataDir),
  ];
}

async function benchSteps(folder: string, dataDir: string, megabytes: number): Promise<BenchRow[]> {
  const size = `${megabytes} + ${2 * megabytes} MB`;
  const rounds = megabytes < LARGE_MB ? ROUNDS : 1;
  const times = { backup: [] as Pair[], verify: [] as Pair[], restore: [] as Pair[] };
  for (let round = 0; round < rounds; round++) {
    const byHand = join(folder, `by hand ${round}`);
    const made = await hubctl(dataDir, 'backup');
    const backup = /dir=(.*)\n$/.exec(made.said)?.[1] ?? '';
    times.backup.push([made.seconds, await byShell(folder, BACKUP, dataDir, byHand) + checks(byHand)]);
    const verified = await hubctl(dataDir, 'verify', backup);
    times.verify.push([verified.seconds, await byShell(folder, VERIFY, byHand) + checks(byHand)]);
    times.restore.push([await restoreSeconds(join(folder, `restored ${round}`), backup),
      await byShell(folder, VERIFY, byHand) + checks(byHand) + await byShell(folder, RESTORE, byHand)]);
    rmSync(backup, { recursive: true });
    for (const name of [byHand, join(folder, `restored ${round}`)]) rmSync(name, { recursive: true });
  }
  return Object.entries(times).map(([step, pairs]) => {
    const [ours, peerFigure] = [median(pairs.map(([own]) => own)), median(pairs.map(([, peer]) => peer))];
    return lessRow({ name: `${step} of ${size}`, ours, peer: PEER, peerFigure, unit: 's', want: '≥ 0.77' });
  });
}

const ARCHIVE_ROUNDS = 3;

/** The archive of files that do not compress, written through to the disk, with its hash. */
async function benchArchive(folder: string, dataDir: string): Promise<BenchRow[]> {
  const { rows, megabytes } = await uploadsOf(dataDir);
  const signal = new AbortController().signal;
  const times = { ours: [] as number[], gzip: [] as number[], plain: [] as number[] };
  const path = join(folder, 'archive');
  for (let round = 0; round < ARCHIVE_ROUNDS; round++) {
    const began = performance.now();
    await archiveUploads({ dataDir, rows, createdAt: Date.now(), path, signal, onProgress: () => {} });
    times.ours.push((performance.now() - began) / 1_000);
    rmSync(path);
    times.gzip.push(await byShell(folder, TAR_GZIP, dataDir));
    times.plain.push(await byShell(folder, TAR_SUM, dataDir));
    for (const name of ['by hand.gz', 'by hand.tar']) rmSync(join(folder, name));
  }
  const rate = (seconds: number[]): number => megabytes / median(seconds);
  const name = `archive of ${Math.round(megabytes)} MB that do not compress`;
  const row = { name, ours: rate(times.ours), unit: 'MB/s' };
  return [
    moreRow({ ...row, peer: 'tar | gzip', peerFigure: rate(times.gzip), want: '≥ 5' }),
    moreRow({ ...row, peer: 'plain tar, then sha256sum', peerFigure: rate(times.plain), want: '≥ 0.5' }),
  ];
}

const TAR_GZIP = `tar -C "$1" -cf - uploads | gzip >'by hand.gz'; sync 'by hand.gz'`;
const TAR_SUM = `tar -C "$1" -cf 'by hand.tar' uploads; sha256sum 'by hand.tar'; sync 'by hand.tar'`;

async function uploadsOf(dataDir: string) {
  const db = openDatabase(join(dataDir, 'hub.db'), { readonly: true });
  const rows = listUploads({ db });
  db.close();
  return { rows, megabytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) / MB };
}

type Pair = [ours: number, peer: number];

/** The hub need not be stopped for ours; for the twin it is. $1 is DATA_DIR, $2 a new folder. */
const BACKUP = `mkdir "$2"; sqlite3 "$1/hub.db" ".backup '$2/hub.db'"
  tar -C "$1" -cf - uploads | gzip -1 >"$2/uploads.tar.gz"
  cd "$2"; sha256sum hub.db uploads.tar.gz >SHA256SUMS; sync hub.db uploads.tar.gz SHA256SUMS .; ${check()}`;
const VERIFY = `cd "$1"; ${check()}`;
const RESTORE = `mkdir restored; cp "$1/hub.db" restored; tar -C restored -xzf "$1/uploads.tar.gz"; sync -f restored; rm -r restored`;

/** The hashes of both files, and each attachment's against its name. */
function check(): string {
  return `sha256sum --status -c SHA256SUMS; mkdir out; tar -C out -xzf uploads.tar.gz
  find out -type f -exec sha256sum {} + | awk '$2 !~ $1 { exit 1 }'; rm -r out`;
}

async function byShell(cwd: string, script: string, ...args: string[]): Promise<number> {
  const began = performance.now();
  const env = { PATH: process.env['PATH'] ?? '' };
  const { status, stderr } = await runProgram('sh', ['-e', '-c', script, 'sh', ...args], { cwd, env });
  if (status !== 0) throw new Error(stderr);
  return (performance.now() - began) / 1_000;
}

/** In this process, through the same better-sqlite3. */
function checks(folder: string): number {
  const began = performance.now();
  const db = openDatabase(join(folder, 'hub.db'), { readonly: true });
  if (db.pragma('integrity_check') !== 'ok' || db.pragma('foreign_key_check') !== undefined) throw new Error('damaged');
  db.close();
  return (performance.now() - began) / 1_000;
}

/** Runs a command to its end, which has to be good. */
export async function hubctl(dataDir: string, ...args: string[]): Promise<Timed> {
  const began = performance.now();
  const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir, PORT: '0', CONFIRM_RESTORE: 'YES' };
  const launch = join(PROJECT, 'src/bin/launch.ts');
  const { status, stdout, stderr } = await runProgram(process.execPath, [launch, 'hubctl', ...args], { env });
  if (status !== 0) throw new Error(stdout + stderr);
  return { seconds: (performance.now() - began) / 1_000, said: stdout };
}

/** Into an empty DATA_DIR: what the old data costs are a few renames. */
async function restoreSeconds(dataDir: string, backup: string): Promise<number> {
  mkdirSync(dataDir);
  let seconds = 0;
  for (const step of [['begin', backup], ['swap'], ['open'], ['finish']]) {
    seconds += (await hubctl(dataDir, 'restore', ...step)).seconds;
  }
  return seconds;
}

/** The longest wait in ms while backups are made, beside the same for as long without one. */
async function benchWaits(dataDir: string): Promise<BenchRow[]> {
  await using web = await startWeb(dataDir);
  const db = openDatabase(join(dataDir, 'hub.db'));
  const request = async (): Promise<void> => void await (await fetch(`http://127.0.0.1:${web.port}/`)).text();
  const write = db.prepare<[number]>('write', 'UPDATE posts SET updated_at = ? WHERE id = 1');
  const rows: BenchRow[] = [];
  for (const [name, work] of [['request', request], ['writer', () => void write.run(Date.now())]] as const) {
    const began = performance.now();
    const ours = await longestWait(work, hubctl(dataDir, 'backup'));
    const peerFigure = await longestWait(work, sleep(performance.now() - began));
    const figures = { ours, peer: 'without one', peerFigure, unit: 'ms', want: 'as reported' };
    rows.push(lessRow({ name: `longest wait of a ${name} during a backup`, ...figures }));
  }
  db.close();
  return rows;
}

async function longestWait(work: () => void | Promise<void>, during: Promise<unknown>): Promise<number> {
  let isOver = false;
  const ended = during.finally(() => (isOver = true));
  let longest = 0;
  while (!isOver) {
    const began = performance.now();
    await work();
    longest = Math.max(longest, performance.now() - began);
    await sleep(5);
  }
  await ended;
  return longest;
}

/** A DATA_DIR with so many bytes of database and of attachments. */
export function fill(dataDir: string, databaseBytes: number, uploadBytes = 2 * databaseBytes): void {
  for (const name of ['', 'uploads', 'backups', 'run', 'tmp', 'cache']) mkdirSync(join(dataDir, name));
  const db = newHub(join(dataDir, 'hub.db'));
  db.exec(`INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at)
    VALUES (1, 1, 'native', 'Own', 1, 1)`);
  fillPosts(db, databaseBytes);
  fillUploads(db, dataDir, uploadBytes);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** Attachments that do not compress. */
export function fillUploads(db: Db, dataDir: string, bytes: number): void {
  const files = Math.ceil(bytes / FILE_BYTES);
  const addFiles = db.transaction('files', (count: number) => {
    for (let file = 0; file < count; file++) addFile(db, dataDir);
  });
  for (let done = 0; done < files; done += FILES_AT_ONCE) addFiles(Math.min(FILES_AT_ONCE, files - done));
}

/** Text of 4 kB each, three quarters of which compress, with a few words for the search index. */
function fillPosts(db: Db, bytes: number): void {
  const post = db.prepare<[number, string, string, number]>('post', `
    INSERT INTO posts (id, source_id, guid, is_public, owner_id, title, content_html, summary, content_hash,
                       published_at, updated_at, created_at, search_key)
    VALUES (?, 1, ?, 1, 1, 'A post', ?, '', 'h', 1, 1, 1, ?)`);
  const index = db.prepare<[number, string]>('index',
    `INSERT INTO posts_words (rowid, title, body, facts) VALUES (?, 'A post', ?, '1')`);
  const batch = db.transaction('posts', (from: number, to: number) => {
    for (let id = from; id < to; id++) {
      const text = randomBytes(1_000).toString('hex');
      post.run(id, `g${id}`, text + text, id);
      index.run(id, `${text.slice(0, 8)} ${text.slice(8, 16)} owls hunt at night`);
    }
  });
  for (let id = 1; Number(db.pragma('page_count')) * 4_096 < bytes; id += 500) batch(id, id + 500);
}

/** Each begins with something else and has fewer bytes than any program looks back for what repeats. */
const NOISE = randomBytes(FILE_BYTES);

function addFile(db: Db, dataDir: string): void {
  const content = Buffer.from(NOISE);
  randomBytes(32).copy(content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const folder = join(dataDir, 'uploads', sha256.slice(0, 2));
  if (!existsSync(folder)) mkdirSync(folder);
  writeFileSync(join(folder, sha256), content);
  db.prepare<[string, number]>('upload', `INSERT INTO uploads (sha256, bytes, media_type, scan, created_at)
    VALUES (?, ?, 'image/png', 'clean', 1700000000000)`).run(sha256, FILE_BYTES);
  db.prepare<[number, string]>('attachment', `
    INSERT INTO attachments (post_id, kind, position, filename, bytes, sha256, owner_id, created_at)
    VALUES (1, 'native', 0, 'a.png', ?, ?, 1, 1)`).run(FILE_BYTES, sha256);
}

