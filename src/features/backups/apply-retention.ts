import type { BackupFolder } from './backup-folder.ts';
import type { FileLock } from '../../platform/db/file-lock.ts';
import { planRetention, type RetentionFacts } from './plan-retention.ts';

export type RetentionResult = { removed: string[]; problems: string[] };

/**
 * Removes old backups, each under a lock that is not to be had while one is verified. A failure is told and does not
 * stop the others: the new backup stands whatever happens here.
 */
export async function applyRetention(
  folder: BackupFolder, facts: Omit<RetentionFacts, 'names'>, takeLock: () => FileLock | undefined,
): Promise<RetentionResult> {
  const result: RetentionResult = { removed: [], problems: [] };
  try {
    const { remove, refusal } = planRetention({ ...facts, names: await folder.list() });
    if (refusal !== null) return { ...result, problems: [`no old backup was removed: ${refusal}`] };
    for (const name of remove) await removeOne(folder, name, takeLock, result);
  } catch (error) {
    result.problems.push(`old backups could not be listed: ${messageOf(error)}`);
  }
  return result;
}

async function removeOne(
  folder: BackupFolder, name: string, takeLock: () => FileLock | undefined, result: RetentionResult,
): Promise<void> {
  try {
    const lock = takeLock();
    if (!lock) return void result.problems.push(`${name} was not removed: a backup is being verified`);
    await folder.withdraw(name).finally(() => lock.release());
    await folder.removeWithdrawn(name);
    result.removed.push(name);
  } catch (error) {
    result.problems.push(`${name} could not be removed: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
