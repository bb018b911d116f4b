import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { backupName } from '../../src/features/backups/backup-name.ts';
import type { Kind, RunResult } from '../../src/features/backups/backup-status.ts';
import { noteRun } from '../../src/features/backups/note-run.ts';
import type { Hub } from './hub.ts';

/** The result of a run that has just ended: a verified backup of that moment, unless `changes` says otherwise. */
export function runOf(hub: Pick<Hub, 'now'>, changes: Partial<RunResult> = {}): RunResult {
  const { verdict = 'verified' } = changes;
  const at = hub.now();
  return { name: backupName(at), at, ok: verdict === 'verified', verdict, bytes: 5, seconds: 60, problem: null, ...changes };
}

/** Records such a run, and makes the folder of its backup. Returns the backup's name. */
export async function noteBackup(
  hub: Pick<Hub, 'now' | 'dataDir'>, changes: Partial<RunResult> = {}, kind: Kind = 'backup',
): Promise<string> {
  const run = runOf(hub, changes);
  for (const folder of ['run', join('backups', run.name ?? '')]) mkdirSync(join(hub.dataDir, folder), { recursive: true });
  await noteRun(hub.dataDir, kind, run);
  return run.name ?? '';
}
