import { isoTime } from '../../platform/clock.ts';

/** The error for a backup that cannot be made or trusted; the operator reads the error's message. */
export class BackupError extends Error {}

/** The error for a backup that cannot be made now, because another backup or a restore holds the lock. */
export class BackupBusy extends Error {}

const NAME = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})$/;

/** The name of a backup: the time of the backup in UTC, as YYYYMMDD-HHMMSS. `at`: unix ms. */
export function backupName(at: number): string {
  const [date = '', time = ''] = isoTime(at).slice(0, 19).split('T');
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

/** The time of a backup (unix ms), read from the backup's name; undefined if the name is not the name of a backup. */
export function timeOfBackup(name: string): number | undefined {
  if (!NAME.test(name)) return undefined;
  const at = Date.parse(name.replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return !Number.isNaN(at) && backupName(at) === name ? at : undefined;
}
