import type { KeyObject } from 'node:crypto';
import { join, relative, isAbsolute } from 'node:path';
import type { LogLevel } from '../../platform/log.ts';
import type { Cidr } from '../../platform/net/address-guard.ts';
import { httpAddress } from './local-address.ts';
import {
  ageRecipient, bearerToken, cidrs, days, farFolder, folder, host, httpUrl, integer, oneOf, origin,
  rcloneRemote, sealingKey, shellCommand, zeroOrOne,
} from './setting-values.ts';
import { createSettingsReader, type SettingsSource } from './settings-reader.ts';

export { ConfigError } from './settings-reader.ts';

/** Bytes: 4 GiB, and as much as a disk may hold. */
const MAX_FILE = 2 ** 32;
const MAX_STORE = 2 ** 48;
const DAY_SECONDS = 86_400;

/** The receivers whose requests the hub can write; `json` for any other. */
export const ALERT_FORMATS = [
  'slack', 'mattermost', 'rocketchat', 'discord', 'googlechat', 'teams', 'ntfy', 'gotify', 'json',
] as const;

export type AlertFormat = (typeof ALERT_FORMATS)[number];

export type Config = {
  readonly projectRoot: string;
  readonly dataDir: string;
  readonly databasePath: string;
  readonly migrationsDir: string;
  readonly host: string;
  readonly port: number; // 0: the system chooses
  readonly baseUrl: string; // an origin, no trailing slash
  readonly secure: boolean; // the public address is https
  readonly trustedProxies: readonly Cidr[];
  readonly logLevel: LogLevel;
  readonly uploadMaxBytes: number; // of a file; a request may have four times as much
  readonly uploadQuotaBytes: number; // of an account
  readonly virusScanUrl: string | null;
  readonly virusScanRequired: boolean;
  readonly virusScanTimeoutSeconds: number;
  readonly attachmentCacheMaxBytes: number; // 0: no cache
  readonly syncConcurrency: number;
  readonly syncMaxAttempts: number;
  readonly outboundAllow: readonly Cidr[];
  readonly notificationRetentionDays: number; // 0, here and below: kept for ever
  readonly readingHistoryRetentionDays: number;
  readonly auditRetentionDays: number;
  readonly metricsToken: string | null;
  readonly alertWebhookUrl: string | null; // null: nobody is told
  readonly alertWebhookFormat: AlertFormat | 'auto';
  readonly hubSecretKey: KeyObject | null; // for secrets in the database; null: they are stored as they are
  readonly hubStopCommand: string | null; // of the operator's own, for restore.sh
  readonly hubStartCommand: string | null;
  readonly restoreHealthSeconds: number; // how long the hub may take to prove itself on restored data
  readonly restoreStopSeconds: number; // until no process has the database open
  readonly backupTimeoutSeconds: number; // of each part of a run of backup.sh
  readonly backupRetentionDays: number | null; // null: none is ever deleted
  readonly backupOffsiteDir: string | null;
  readonly backupAgeRecipient: string | null; // recipients with spaces between, or the path of a recipients file
  readonly backupRcloneRemote: string | null; // remote:path
  readonly version: string;
  readonly readPaths: readonly string[]; // secret files outside the project, which the processes must be let read
};

/** The configuration, checked and frozen. Throws ConfigError with every mistake. */
export function readConfig(
  env: Record<string, string | undefined>,
  files: Pick<SettingsSource, 'projectRoot' | 'readFile'>,
): Config {
  const { projectRoot, readFile } = files;
  const read = createSettingsReader({ env, ...files });

  const settings = {
    host: read.value('HOST', host, '127.0.0.1'),
    port: read.value('PORT', integer(0, 65_535), '8080'),
    baseUrl: read.optional('BASE_URL', origin),
    trustedProxies: read.value('TRUSTED_PROXIES', cidrs, ''),
    dataDir: read.value('DATA_DIR', folder(projectRoot), 'data'),
    logLevel: read.value('LOG_LEVEL', oneOf('debug', 'info', 'warn', 'error'), 'info'),
    uploadMaxBytes: read.value('UPLOAD_MAX_BYTES', integer(1, MAX_FILE), '26214400'),
    uploadQuotaBytes: read.value('UPLOAD_QUOTA_BYTES', integer(0, MAX_STORE), '1073741824'),
    virusScanUrl: read.secret('VIRUS_SCAN_URL', httpUrl),
    virusScanRequired: read.value('VIRUS_SCAN_REQUIRED', zeroOrOne, '0'),
    virusScanTimeoutSeconds: read.value('VIRUS_SCAN_TIMEOUT_SECONDS', integer(1, 600), '30'),
    attachmentCacheMaxBytes: read.value('ATTACHMENT_CACHE_MAX_BYTES', integer(0, MAX_STORE), '1073741824'),
    syncConcurrency: read.value('SYNC_CONCURRENCY', integer(1, 64), '8'),
    syncMaxAttempts: read.value('SYNC_MAX_ATTEMPTS', integer(1, 100), '5'),
    outboundAllow: read.value('OUTBOUND_ALLOW', cidrs, ''),
    notificationRetentionDays: read.value('NOTIFICATION_RETENTION_DAYS', integer(0, 9_999), '90'),
    readingHistoryRetentionDays: read.value('READING_HISTORY_RETENTION_DAYS', integer(0, 9_999), '365'),
    auditRetentionDays: read.value('AUDIT_RETENTION_DAYS', integer(0, 9_999), '365'),
    metricsToken: read.secret('METRICS_TOKEN', bearerToken),
    alertWebhookUrl: read.secret('ALERT_WEBHOOK_URL', httpUrl),
    alertWebhookFormat: read.value('ALERT_WEBHOOK_FORMAT', oneOf('auto', ...ALERT_FORMATS), 'auto'),
    hubSecretKey: read.secretBytes('HUB_SECRET_KEY_FILE', sealingKey),
    hubStopCommand: read.optional('HUB_STOP_COMMAND', shellCommand),
    hubStartCommand: read.optional('HUB_START_COMMAND', shellCommand),
    restoreHealthSeconds: read.value('RESTORE_HEALTH_SECONDS', integer(1, DAY_SECONDS), '90'),
    restoreStopSeconds: read.value('RESTORE_STOP_SECONDS', integer(0, DAY_SECONDS), '20'),
    backupTimeoutSeconds: read.value('BACKUP_TIMEOUT_SECONDS', integer(1, 7 * DAY_SECONDS), '21600'),
    backupRetentionDays: read.optional('BACKUP_RETENTION_DAYS', days),
    backupOffsiteDir: read.optional('BACKUP_OFFSITE_DIR', farFolder),
    backupAgeRecipient: read.optional('BACKUP_AGE_RECIPIENT', ageRecipient),
    backupRcloneRemote: read.optional('BACKUP_RCLONE_REMOTE', rcloneRemote),
  };

  if ((settings.hubStopCommand === null) !== (settings.hubStartCommand === null)) {
    read.problem('HUB_STOP_COMMAND and HUB_START_COMMAND belong together; set both or none');
  }
  if (settings.virusScanRequired && settings.virusScanUrl === null) {
    read.problem('VIRUS_SCAN_REQUIRED=1 needs VIRUS_SCAN_URL, the scanner to ask');
  }
  // The processes may write all of DATA_DIR: were the project inside it, they could rewrite the program.
  if (isInside(settings.dataDir, projectRoot)) {
    read.problem('DATA_DIR must be a folder of its own, neither the project nor one that holds it');
  }
  if (settings.backupOffsiteDir !== null && isInside(settings.dataDir, settings.backupOffsiteDir)) {
    read.problem('BACKUP_OFFSITE_DIR must be outside DATA_DIR: it would be lost together with it');
  }
  const secretFiles = read.finish();
  const baseUrl = settings.baseUrl ?? httpAddress(settings.host, settings.port);

  return deepFreeze({
    ...settings,
    baseUrl,
    secure: baseUrl.startsWith('https:'),
    projectRoot,
    databasePath: join(settings.dataDir, 'hub.db'),
    migrationsDir: join(projectRoot, 'migrations'),
    version: packageVersion(readFile(join(projectRoot, 'package.json'))),
    readPaths: secretFiles.filter((path) => !isInside(projectRoot, path)),
  });
}

function packageVersion(text: string): string {
  const manifest: unknown = JSON.parse(text);
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json names no version');
}

function isInside(outer: string, path: string): boolean {
  const way = relative(outer, path);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way));
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
