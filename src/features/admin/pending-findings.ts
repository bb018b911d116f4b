import { describePending } from '../../platform/db/migrate.ts';
import type { Migration } from '../../platform/db/migration-files.ts';
import { isMissingObject } from '../../platform/db/open-database.ts';
import { finding, type Finding } from './finding.ts';

/** Finding: migrations are pending. Empty if none. */
export function pendingFindings(pending: readonly Migration[]): Finding[] {
  if (pending.length === 0) return [];
  const { which, whatToDo } = describePending(pending);
  return [finding({
    subject: 'Schema', level: 'warn', state: `${pending.length} pending`, whatToDo,
    problem: `The database lacks ${which}: no hub of this version has run on it.`,
  })];
}

/** Turns 'no such table' into 'not known before the migration' while migrations are pending; rethrows other errors. */
export function unknownYet(subject: string, pending: readonly Migration[]): (error: unknown) => Finding[] {
  return (error) => {
    if (pending.length === 0 || !isMissingObject(error)) throw error;
    return [finding({ subject, level: 'off', state: 'not known before the migration' })];
  };
}
