import { isoTime } from '../../platform/clock.ts';

/** What keeps a backup from being made or trusted; the message is a sentence for the operator. */
export class BackupError extends Error {}

/** Another backup is being made, verified for deletion or restored: the same may work later. */
export class BackupBusy extends Error {}

const NAME = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})$/;

/** YYYYMMDD-HHMMSS in UTC, from unix ms. */
export function backupName(at: number): string {
  const [date = '', time = ''] = isoTime(at).slice(0, 19).split('T');
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

/** Unix ms, or undefined for what is no name of a backup, such as one of the 31st of February. */
export function timeOfBackup(name: string): number | undefined {
  if (!NAME.test(name)) return undefined;
  const at = Date.parse(name.replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return !Number.isNaN(at) && backupName(at) === name ? at : undefined;
}
