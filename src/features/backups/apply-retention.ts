import type { BackupFolder } from './backup-folder.ts';
import { planRetention, type RetentionFacts } from './plan-retention.ts';

export type RetentionResult = { removed: string[]; problems: string[] };

/** Removes old backups. A failure is told and does not stop the others: the new backup stands whatever happens here. */
export async function applyRetention(
  folder: BackupFolder, facts: Omit<RetentionFacts, 'names'>, isVerifying: () => boolean,
): Promise<RetentionResult> {
  const result: RetentionResult = { removed: [], problems: [] };
  try {
    const { remove, refusal } = planRetention({ ...facts, names: await folder.list() });
    if (refusal !== null) return { ...result, problems: [`no old backup was removed: ${refusal}`] };
    if (remove.length > 0 && isVerifying()) {
      return { ...result, problems: ['no old backup was removed: one is being verified'] };
    }
    for (const name of remove) await removeOne(folder, name, result);
  } catch (error) {
    result.problems.push(`old backups could not be listed: ${messageOf(error)}`);
  }
  return result;
}

async function removeOne(folder: BackupFolder, name: string, result: RetentionResult): Promise<void> {
  try {
    await folder.remove(name);
    result.removed.push(name);
  } catch (error) {
    result.problems.push(`${name} could not be removed: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
