const NAME = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})$/;

/** YYYYMMDD-HHMMSS in UTC, from unix ms. */
export function backupName(at: number): string {
  const [date = '', time = ''] = new Date(at).toISOString().slice(0, 19).split('T');
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

/** Unix ms, or undefined for what is no name of a backup, such as one of the 31st of February. */
export function timeOfBackup(name: string): number | undefined {
  if (!NAME.test(name)) return undefined;
  const at = Date.parse(name.replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return !Number.isNaN(at) && backupName(at) === name ? at : undefined;
}
