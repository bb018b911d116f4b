import type { Config } from '../features/hub/read-config.ts';
import { UsageError, type Command } from './run-hubctl.ts';

/** What scripts need. Secrets are not among it and cannot be asked for. */
const SETTINGS = new Map<string, (config: Config) => string | number | null>([
  ['BACKUP_AGE_RECIPIENT', (config) => config.backupAgeRecipient],
  ['BACKUP_OFFSITE_DIR', (config) => config.backupOffsiteDir],
  ['BACKUP_RCLONE_REMOTE', (config) => config.backupRcloneRemote],
  ['BACKUP_RETENTION_DAYS', (config) => config.backupRetentionDays],
  ['BACKUP_TIMEOUT_SECONDS', (config) => config.backupTimeoutSeconds],
  ['BASE_URL', (config) => config.baseUrl],
  ['DATA_DIR', (config) => config.dataDir],
  ['HOST', (config) => config.host],
  ['HUB_START_COMMAND', (config) => config.hubStartCommand],
  ['HUB_STOP_COMMAND', (config) => config.hubStopCommand],
  ['PORT', (config) => config.port],
  ['RESTORE_HEALTH_SECONDS', (config) => config.restoreHealthSeconds],
  ['RESTORE_STOP_SECONDS', (config) => config.restoreStopSeconds],
]);

/** Tells scripts the settings in effect, so that one parser reads .env and nothing sources it. */
export const configCommand: Command = {
  usage: 'config <VARIABLE>…',
  summary: `Print settings in effect, one a line as asked, empty where not set: ${[...SETTINGS.keys()].join(', ')}.`,
  options: {},

  run(names, _values, { config, out, err }) {
    const values = names.map((name) => String(setting(name)(config) ?? ''));
    if (names.length === 0) throw new UsageError('say which variables');
    const torn = names.find((_, index) => values[index]?.includes('\n'));
    if (torn !== undefined) {
      err(`${torn} holds a line break: scripts cannot use it\n`);
      return 1;
    }
    out(values.map((value) => `${value}\n`).join(''));
    return 0;
  },
};

function setting(name: string): (config: Config) => string | number | null {
  const find = SETTINGS.get(name);
  if (!find) throw new UsageError(`${name} is not a setting that can be shown`);
  return find;
}
