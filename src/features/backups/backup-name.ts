import { isoTime } from '../../platform/clock.ts';

/** A backup cannot be made, trusted or restored; the operator reads the message. */
export class BackupError extends Error {}

/** A backup that was just made failed its verification. */
export class UnsoundBackup extends BackupError {}

export class BackupBusy extends Error {}

const NAME = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})$/;

/** The name of a nightly backup: its time in UTC as YYYYMMDD-HHMMSS. `at`: unix ms. */
export function backupName(at: number): string {
  const [date = '', time = ''] = isoTime(at).slice(0, 19).split('T');
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

/** Unix ms, or undefined if this is not a nightly backup's name. */
export function timeOfBackup(name: string): number | undefined {
  const at = Date.parse(name.replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return !Number.isNaN(at) && backupName(at) === name ? at : undefined;
}

const INTERIM_NAME = /^(\d{4}-\d{2}-\d{2}T\d{2})(\d{2})(\d{2})Z$/;

/** The name of an interim backup, in another form than a nightly one's: YYYY-MM-DDTHHMMSSZ, from unix ms. */
export function interimName(at: number): string {
  return `${isoTime(at).slice(0, 19).replaceAll(':', '')}Z`;
}

/** Unix ms, or undefined if this is not an interim backup's name. */
export function timeOfInterim(name: string): number | undefined {
  const at = Date.parse(name.replace(INTERIM_NAME, '$1:$2:$3Z'));
  return !Number.isNaN(at) && interimName(at) === name ? at : undefined;
}
