import { isoTime } from '../../platform/clock.ts';

/** Why a backup cannot be made or trusted; the message is for the operator. */
export class BackupError extends Error {}

/** Another backup or restore holds the lock: try again later. */
export class BackupBusy extends Error {}

const NAME = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})$/;

/** The name of a backup: its time in UTC as YYYYMMDD-HHMMSS. `at`: unix ms. */
export function backupName(at: number): string {
  const [date = '', time = ''] = isoTime(at).slice(0, 19).split('T');
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

/** The time of a backup (unix ms) from its name; undefined if the name is not a backup's name. */
export function timeOfBackup(name: string): number | undefined {
  if (!NAME.test(name)) return undefined;
  const at = Date.parse(name.replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return !Number.isNaN(at) && backupName(at) === name ? at : undefined;
}
