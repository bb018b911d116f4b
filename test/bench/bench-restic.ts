import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { runProgram } from '../support/run-program.ts';
import { fill, fillUploads, hubctl } from './bench-backup.ts';
import type { BenchRow } from './bench-row.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const MB = 1_000_000;
const DATABASE_MB = 100;
const NEW_SHARE = 0.005; // 100 MB of 20 GB

/**
 * Two nights of sending BENCH_RESTIC_MB (20000) of attachments to a restic repository, the second with a two-hundredth
 * more of them, beside `restic backup` of the same files by hand. The backups themselves are not part of the times.
 */
export async function benchRestic(): Promise<BenchRow[]> {
  const megabytes = Number(process.env['BENCH_RESTIC_MB'] ?? '20000');
  const folder = mkdtempSync(join(tmpdir(), 'bench-restic-'));
  try {
    const [dataDir, password] = [join(folder, 'data'), join(folder, 'password')];
    writeFileSync(password, 'a password\n');
    fill(dataDir, DATABASE_MB * MB, megabytes * MB);
    const [ours, byHand] = ['ours', 'by hand'].map((name) => join(folder, name)) as [string, string];
    for (const repository of [ours, byHand]) restic(folder, repository, 'init');
    const send = (): Promise<number> => sendNewest(dataDir, ours, password);
    const first = await send();
    const peer = restic(folder, byHand, 'backup', join(dataDir, 'uploads'), await newest(dataDir, 'hub.db'));
    const db = openDatabase(join(dataDir, 'hub.db'));
    fillUploads(db, dataDir, NEW_SHARE * megabytes * MB);
    db.close();
    const second = await send();
    const stored = Number(JSON.parse(readFileSync(join(dataDir, 'run/last-offsite-restic.json'), 'utf8')).last.bytes) / MB;
    const size = `${megabytes} MB`;
    return [
      { name: `first night of ${size} to restic`, ours: first, peer: 'restic backup by hand', peerFigure: peer, unit: 's',
        ratio: peer / first, want: '≥ 0.83' },
      { name: `second night of ${size} with ${NEW_SHARE * megabytes} MB new`, ours: second, peer: 'the first night',
        peerFigure: first, unit: 's', ratio: first / second, want: '≥ 20' },
      { name: `bytes sent by it`, ours: stored, peer: 'what is new', peerFigure: NEW_SHARE * megabytes, unit: 'MB',
        ratio: NEW_SHARE * megabytes / stored, want: '≥ 0.5' },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Makes a backup, and gives the seconds that sending it takes, with the day's check of the repository. */
async function sendNewest(dataDir: string, repository: string, password: string): Promise<number> {
  await hubctl(dataDir, 'backup');
  const env = {
    PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir, HUB_NODE: process.execPath,
    BACKUP_RESTIC_REPOSITORY: repository, BACKUP_RESTIC_PASSWORD_FILE: password,
  };
  const backup = await newest(dataDir);
  const began = performance.now();
  const { status, stderr } = await runProgram('sh', [join(PROJECT, 'scripts/off-site.sh'), 'send', backup], { env });
  if (status !== 0) throw new Error(stderr);
  return (performance.now() - began) / 1_000;
}

async function newest(dataDir: string, file = ''): Promise<string> {
  const { stdout } = await runProgram('ls', [join(dataDir, 'backups')]);
  const name = stdout.split('\n').filter((one) => /^\d{8}-\d{6}$/.test(one)).at(-1) ?? '';
  return join(dataDir, 'backups', name, file);
}

function restic(folder: string, repository: string, ...args: string[]): number {
  const env = { PATH: process.env['PATH'], RESTIC_CACHE_DIR: join(folder, 'cache'), RESTIC_PASSWORD: 'a password' };
  mkdirSync(join(folder, 'cache'), { recursive: true });
  const began = performance.now();
  execFileSync('restic', ['-q', '-r', repository, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  return (performance.now() - began) / 1_000;
}
