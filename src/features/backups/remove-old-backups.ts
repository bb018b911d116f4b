import { DAY } from '../../platform/clock.ts';
import type { FileLock } from '../../platform/db/file-lock.ts';
import { timeOfBackup, type BackupFolder } from './backup-folder.ts';

export type RetentionResult = { removed: string[]; problems: string[] };

/**
 * Removes old backups, each under the lock that keeps verifications away. A failure is reported and does not stop the
 * others: the new backup stands whatever happens here.
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

type RetentionPlan = {
  remove: string[]; // oldest first
  /** Why nothing is removed although something would be due, for the operator. */
  refusal: string | null;
};

type RetentionFacts = {
  names: string[]; // of all backups, this run's too
  made: string; // this run's: just verified
  days: number; // how long backups are kept
  now: number; // unix ms
};

const KEPT = 3;

/** Nobody pauses backups for longer; a clock that has jumped ahead makes everything old at once. */
const LONGEST_PAUSE = 35 * DAY;

/** What is older than its days, by its name; never one of the newest three, and nothing while clocks look wrong. */
export function planRetention({ names, made, days, now }: RetentionFacts): RetentionPlan {
  const dated = names
    .map((name) => ({ name, at: timeOfBackup(name) }))
    .filter((backup): backup is { name: string; at: number } => backup.at !== undefined)
    .sort((a, b) => a.at - b.at);
  const removable = dated.slice(0, -KEPT).filter(({ name }) => name !== made);
  const remove = removable.filter(({ at }) => at < now - days * DAY).map(({ name }) => name);
  const refusal = remove.length > 0 ? clockTrouble(dated, made, now) : null;
  return refusal === null ? { remove, refusal } : { remove: [], refusal };
}

function clockTrouble(dated: { name: string; at: number }[], made: string, now: number): string | null {
  const newest = dated.at(-1);
  if (newest && newest.name !== made) return `${newest.name} is newer than this backup: the clock may be wrong`;
  if (newest && newest.at > now + DAY) return `${newest.name} lies in the future: the clock may be wrong`;
  const before = dated.at(-2);
  if (!before || now - before.at <= LONGEST_PAUSE) return null;
  return `the backup before this one, ${before.name}, is ${Math.floor((now - before.at) / DAY)} days older: ` +
    'the clock may be wrong';
}
