import { readdir, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SECOND } from '../../platform/clock.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { BackupError, backupName } from './backup-name.ts';
import { readRestoreState, type RestoreState } from './restore-state.ts';
import { removeStaged, writeRestoreState } from './restore-steps.ts';
import { type Staged, type StageOptions, stageRestore } from './stage-restore.ts';
import { restoreFolders } from './swap-data.ts';

/** `called`: the operator's name for the backup, if the folder is only a copy. Throws BackupError during a restore. */
export async function beginRestore(
  options: Omit<StageOptions, 'staged'> & { called?: string | undefined },
): Promise<Staged & { state: RestoreState }> {
  const { dataDir, backup, clock, called = writtenPath(resolve(backup)) } = options;
  if (readRestoreState(dataDir)) throw new BackupError('a restore was interrupted: run restore.sh --recover first');
  await removeStaged(dataDir);
  const id = await freeId(dataDir, clock());
  const { staged: folder } = restoreFolders(dataDir, id);
  const staged = await stageRestore({ ...options, staged: folder });
  const state: RestoreState = { phase: 'staged', id, backup: called, startedAt: clock(), old: [] };
  try {
    await writeRestoreState(dataDir, state);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return { ...staged, state };
}

async function freeId(dataDir: string, now: number): Promise<string> {
  const taken = new Set(await readdir(dataDir));
  for (let at = now; ; at += SECOND) {
    const id = backupName(at);
    if (!taken.has(`pre-restore-${id}`)) return id;
  }
}
