import assert from 'node:assert/strict';
import { cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { beginRestore } from '../../src/features/backups/begin-restore.ts';
import { finishRestore, openRestored, swapRestored } from '../../src/features/backups/restore-steps.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { makeBackup } from '../../src/features/backups/make-backup.ts';
import { addPost, backupHub, optionsFor } from './backup-hub.ts';
import { startHub, type Hub } from './hub.ts';
import { hubctlProcess } from './hubctl.ts';
import { countRows } from './stored-rows.ts';
import { MIGRATIONS } from './migrated-database.ts';
import type { Outcome } from './run-program.ts';
import { copyFolder, temporaryFolder, UNTIL_EXIT } from './temporary-project.ts';

/** In the database from before the restore, and in no backup of it. */
export const MARK = 'Written after the backup was made.';

export type RestorableHub = Awaited<ReturnType<typeof restorableHub>>;

/**
 * A hub that nobody runs, with a backup of it; since then a post and a file were added, and the file of the backup was
 * removed. Its database is closed. Made once in this process, and then copied.
 */
export async function restorableHub(t: TestContext) {
  const made = await (ready ??= makeRestorable());
  const dataDir = join(temporaryFolder(t), 'data');
  copyFolder(made.dataDir, dataDir);
  return {
    ...made, dataDir, backup: join(dataDir, 'backups', made.name),
    hubctl: (...args: string[]): Promise<Outcome> => hubctlProcess(dataDir, args),
    hubctlWith: (env: Record<string, string>, ...args: string[]): Promise<Outcome> => hubctlProcess(dataDir, args, env),
  };
}

let ready: ReturnType<typeof makeRestorable> | undefined;

async function makeRestorable() {
  const hub = backupHub(UNTIL_EXIT);
  const inBackup = hub.upload('of the backup');
  const { name } = await hub.backup();
  addPost(hub.db, 2, MARK);
  hub.forgetUploads();
  rmSync(inBackup.path);
  const since = hub.upload('uploaded after the backup');
  hub.db.close();
  return { dataDir: hub.dataDir, name, inBackup: inBackup.sha256, since: since.sha256 };
}

export function begin(dataDir: string, backup: string, options: Partial<Parameters<typeof beginRestore>[0]> = {}) {
  return beginRestore({ dataDir, backup, migrations: MIGRATIONS, clock: Date.now, onStep: () => {}, runAgain: [], ...options });
}

/** A copy of the data for one attempt, in memory where the machine has a file system there. */
export function copyData(t: TestContext, dataDir: string): { dataDir: string; remove(): void } {
  const parent = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hub-'));
  const remove = (): void => rmSync(parent, { recursive: true, force: true });
  t.after(remove);
  cpSync(dataDir, join(parent, 'data'), { recursive: true });
  return { dataDir: join(parent, 'data'), remove };
}

/** Whose data is in place: that from before, that of the backup, or a description of what is there. */
export function worldIn(dataDir: string, hub: Pick<RestorableHub, 'inBackup' | 'since'>): string {
  const uploads = uploadsIn(dataDir);
  const posts = postsIn(dataDir);
  if (posts === 2 && uploads.join() === hub.since) return 'old';
  if (posts === 1 && uploads.join() === hub.inBackup) return 'new';
  return `${posts} posts with the files ${uploads.join()}`;
}

export function uploadsIn(dataDir: string): string[] {
  const root = join(dataDir, 'uploads');
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map(({ name }) => name).sort();
}

/** How many, in a database that is whole. */
export function postsIn(dataDir: string): number {
  return query(dataDir, (db) => {
    assert.equal(db.pragma('integrity_check'), 'ok');
    return countRows({ db }, 'posts');
  });
}

export function query<T>(dataDir: string, work: (db: Db) => T): T {
  const path = join(dataDir, 'hub.db');
  assert.ok(existsSync(path), 'there is a database');
  const db = openDatabase(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Fails when the data from before is neither in place nor among what was kept. */
export function assertOldIsSomewhere(dataDir: string, { since }: Pick<RestorableHub, 'since'>): void {
  const folders = [dataDir, ...readdirSync(dataDir).filter((name) => name.startsWith('pre-restore-'))
    .map((name) => join(dataDir, name))];
  assert.ok(folders.some((folder) => uploadsIn(folder).includes(since)), 'the old files are there');
  const logs = folders.flatMap((folder) => ['hub.db', 'hub.db-wal'].map((name) => join(folder, name)));
  assert.ok(logs.some((path) => existsSync(path) && readFileSync(path).includes(MARK)), 'the old database is there');
}

/** What restores have left beside the data. */
export function leftovers(dataDir: string): string[] {
  const beside = readdirSync(dataDir).filter((name) => name.startsWith('.restore-'));
  const states = readdirSync(join(dataDir, 'run')).filter((name) => name.startsWith('restore-'));
  return [...beside, ...states];
}

/** The folder in which the data from before was put aside; fails where there is not exactly one. */
export function keptIn(dataDir: string): string {
  const [kept, ...more] = readdirSync(dataDir).filter((name) => name.startsWith('pre-restore-'));
  assert.ok(kept !== undefined && more.length === 0, 'one folder was kept');
  return join(dataDir, kept);
}

/** A whole restore, without a hub to be stopped or started. */
export async function restore(dataDir: string, backup: string) {
  const { verification, settled, migrated } = await begin(dataDir, backup);
  await swapRestored(dataDir);
  await openRestored(dataDir);
  const { kept } = await finishRestore(dataDir);
  return { verification, settled, migrated, kept };
}

/** The hub again, started on a copy of its data that was restored from a backup; no id of a new row is near its old ids. */
export async function restartRestored(t: TestContext, hub: Hub): Promise<Hub> {
  const { name } = await makeBackup({ ...optionsFor(hub.dataDir), clock: hub.now });
  const dataDir = join(temporaryFolder(t), 'data');
  copyFolder(hub.dataDir, dataDir);
  await restore(dataDir, join(dataDir, 'backups', name));
  const restored = await startHub(t, { DATA_DIR: dataDir });
  restored.passTime(hub.now() - restored.now());
  return restored;
}

/** Everything below DATA_DIR with what can change about it, but locks, what tests compiled, and their copies of backups. */
export function stateOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/^\/(run\/[a-z.-]*lock|run\/compiled|copy )/.test(path.slice(folder.length))).sort().map((path) => {
      const { mode, size, mtimeMs, ino } = lstatSync(path);
      return `${path.slice(folder.length)} ${mode.toString(8)} ${ino} ${path.endsWith('/run') ? '' : `${size} ${mtimeMs}`}`;
    });
}
