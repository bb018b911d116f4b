import { DAY } from '../../platform/clock.ts';
import { timeOfBackup } from './backup-name.ts';

export type RetentionPlan = {
  remove: string[]; // oldest first
  /** Why nothing is removed although something would be due, for the operator. */
  refusal: string | null;
};

export type RetentionFacts = {
  names: string[]; // of all backups, this run's too
  made: string; // this run's: just verified
  days: number; // how long backups are kept
  now: number; // unix ms
};

const KEPT = 3;

/** A clock that has jumped ahead makes everything old at once. */
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
