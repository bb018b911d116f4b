import { isAbsolute, relative } from 'node:path';
import {
  ageRecipient, bearerToken, cidrs, days, farFolder, folder, host, httpUrl, integer, logLevel, oneOf, origin,
  rcloneRemote, sealingKey, shellCommand, zeroOrOne, type Parse,
} from './setting-values.ts';

/** Bytes: 4 GiB, and as much as a disk may hold. */
const MAX_FILE = 2 ** 32;
const MAX_STORE = 2 ** 48;
const DAY_SECONDS = 86_400;

/** The receivers whose requests the hub can write; `json` for any other. */
export const ALERT_FORMATS = [
  'slack', 'mattermost', 'rocketchat', 'discord', 'googlechat', 'teams', 'ntfy', 'gotify', 'json',
] as const;

export type AlertFormat = (typeof ALERT_FORMATS)[number];

/** One setting of the operator's. */
export type Setting<Value> = {
  name: string; // of the environment variable
  parse: Parse<Value>;
  default: string | null; // what holds where it is not set, as text of the same form; null for nothing
  meaning: string; // for README.md and .env.example, which a test holds against this list
  seeHandbook?: string; // the heading of scripts/README.md that says more, as an anchor
  /** Never shown. `text` may come from the file that NAME_FILE names instead; `bytes` come from there alone. */
  secret?: 'text' | 'bytes';
};

export type SettingList = Record<string, Setting<unknown>>;

/** The values of a list of settings, by key. */
export type SettingValues<List extends SettingList> = {
  readonly [Key in keyof List]: ReturnType<List[Key]['parse']> | (List[Key]['default'] extends null ? null : never);
};

/** Every setting of the hub, by its name in `Config`. A new one is a line here, and its use. */
export const SETTINGS = {
  host: {
    name: 'HOST', parse: host, default: '127.0.0.1', meaning: 'address or host name where the hub listens',
  },
  port: {
    name: 'PORT', parse: integer(0, 65_535), default: '8080',
    meaning: 'port where the hub listens; 0 lets the system choose',
  },
  baseUrl: {
    name: 'BASE_URL', parse: origin, default: null,
    meaning: 'the address people use, an origin without path, `http://HOST:PORT` where not set; with `https:` ' +
      'cookies are Secure and HSTS is sent',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES', parse: cidrs, default: '',
    meaning: 'networks, such as `127.0.0.1/32`, whose `X-Forwarded-For` and `-Proto` are believed',
  },
  dataDir: {
    name: 'DATA_DIR', parse: folder, default: 'data',
    meaning: 'everything the hub keeps: `hub.db`, `uploads/`, `cache/`, `backups/`, `tmp/`, `run/`',
  },
  logLevel: {
    name: 'LOG_LEVEL', parse: logLevel, default: 'info',
    meaning: '`debug`, `info`, `warn` or `error`: JSON lines on standard error',
  },
  uploadMaxBytes: {
    name: 'UPLOAD_MAX_BYTES', parse: integer(1, MAX_FILE), default: '26214400',
    meaning: 'largest uploaded file (25 MiB); a request may have four times as much, and 10 files',
  },
  uploadQuotaBytes: {
    name: 'UPLOAD_QUOTA_BYTES', parse: integer(0, MAX_STORE), default: '1073741824',
    meaning: 'what the files of one account may take together (1 GiB)',
  },
  virusScanUrl: {
    name: 'VIRUS_SCAN_URL', parse: httpUrl, default: null, secret: 'text', seeHandbook: 'scanning-uploads',
    meaning: 'where uploads are sent for a verdict',
  },
  virusScanRequired: {
    name: 'VIRUS_SCAN_REQUIRED', parse: zeroOrOne, default: '0',
    meaning: '1 refuses uploads while the scanner does not answer',
  },
  virusScanTimeoutSeconds: {
    name: 'VIRUS_SCAN_TIMEOUT_SECONDS', parse: integer(1, 600), default: '30',
    meaning: 'seconds that the scanner may take for one file (1 to 600)',
  },
  attachmentCacheMaxBytes: {
    name: 'ATTACHMENT_CACHE_MAX_BYTES', parse: integer(0, MAX_STORE), default: '1073741824',
    meaning: "copies of publishers' images and documents (1 GiB); 0 keeps none, and posts then link to their " +
      'publishers',
  },
  syncConcurrency: {
    name: 'SYNC_CONCURRENCY', parse: integer(1, 64), default: '8',
    meaning: 'feeds fetched at once, never two of one host',
  },
  syncMaxAttempts: {
    name: 'SYNC_MAX_ATTEMPTS', parse: integer(1, 100), default: '5',
    meaning: 'tries of one synchronisation before it counts as failed',
  },
  outboundAllow: {
    name: 'OUTBOUND_ALLOW', parse: cidrs, default: '',
    meaning: 'private networks that feeds and their images may be fetched from, such as `192.168.1.0/24`',
  },
  notificationRetentionDays: {
    name: 'NOTIFICATION_RETENTION_DAYS', parse: integer(0, 9_999), default: '90',
    meaning: 'days that notifications are kept; 0 keeps them for ever',
  },
  readingHistoryRetentionDays: {
    name: 'READING_HISTORY_RETENTION_DAYS', parse: integer(0, 9_999), default: '365',
    meaning: 'days that it is remembered who has read what; 0 remembers it for ever',
  },
  auditRetentionDays: {
    name: 'AUDIT_RETENTION_DAYS', parse: integer(0, 9_999), default: '365',
    meaning: 'days that audit events are kept; 0 keeps them for ever',
  },
  metricsToken: {
    name: 'METRICS_TOKEN', parse: bearerToken, default: null, secret: 'text',
    meaning: 'bearer token that `/api/metrics` then asks for (not beginning with `hub_`, as API tokens do)',
  },
  alertWebhookUrl: {
    name: 'ALERT_WEBHOOK_URL', parse: httpUrl, default: null, secret: 'text', seeHandbook: 'alerts',
    meaning: 'where the hub tells its operator of trouble: an incoming webhook of a chat service or a push topic',
  },
  alertWebhookFormat: {
    name: 'ALERT_WEBHOOK_FORMAT', parse: oneOf('auto', ...ALERT_FORMATS), default: 'auto',
    meaning: `${ALERT_FORMATS.map((format) => `\`${format}\``).join(', ')}, or \`auto\`, which goes by the address`,
  },
  hubSecretKey: {
    name: 'HUB_SECRET_KEY', parse: sealingKey, default: null, secret: 'bytes', seeHandbook: 'webhook-secrets',
    meaning: 'file of 32 to 4096 random bytes that webhook secrets are encrypted with',
  },
  hubStopCommand: {
    name: 'HUB_STOP_COMMAND', parse: shellCommand, default: null,
    meaning: "shell command that stops the hub for `restore.sh`, where neither systemd's units nor `npm start` run it",
  },
  hubStartCommand: {
    name: 'HUB_START_COMMAND', parse: shellCommand, default: null,
    meaning: 'shell command that starts it again; both are set, or none',
  },
  restoreHealthSeconds: {
    name: 'RESTORE_HEALTH_SECONDS', parse: integer(1, DAY_SECONDS), default: '90',
    meaning: 'seconds that `restore.sh` waits for the hub to be healthy on the restored data (1 to 86400)',
  },
  restoreStopSeconds: {
    name: 'RESTORE_STOP_SECONDS', parse: integer(0, DAY_SECONDS), default: '20',
    meaning: 'seconds that `restore.sh` waits until no process has the old database open (0 to 86400)',
  },
  backupTimeoutSeconds: {
    name: 'BACKUP_TIMEOUT_SECONDS', parse: integer(1, 7 * DAY_SECONDS), default: '21600',
    meaning: 'seconds after which `backup.sh` ends a part of its work: the backup itself, or a copy elsewhere ' +
      '(1 to 604800)',
  },
  backupRetentionDays: {
    name: 'BACKUP_RETENTION_DAYS', parse: days, default: null,
    meaning: 'days after which backups on this machine are removed (1 to 9999); none ever is while it is not set',
  },
  backupOffsiteDir: {
    name: 'BACKUP_OFFSITE_DIR', parse: farFolder, default: null,
    meaning: 'folder on another disk, for this hub alone, that every backup is copied to',
  },
  backupRcloneRemote: {
    name: 'BACKUP_RCLONE_REMOTE', parse: rcloneRemote, default: null,
    meaning: "remote of rclone's configuration and path, such as `box:hub`, for this hub alone, that every backup is " +
      'copied to',
  },
  backupAgeRecipient: {
    name: 'BACKUP_AGE_RECIPIENT', parse: ageRecipient, default: null,
    meaning: 'whom off-site copies are encrypted for: recipients (`age1…`) with spaces between, or the absolute path ' +
      'of a file of them',
  },
} satisfies SettingList;

export type Settings = SettingValues<typeof SETTINGS>;

/** The mistakes that only show when several settings are seen together. */
export function problemsTogether(settings: Settings, projectRoot: string): string[] {
  const { hubStopCommand, hubStartCommand, virusScanRequired, virusScanUrl, dataDir, backupOffsiteDir } = settings;
  const problems: [isWrong: boolean, problem: string][] = [
    [
      (hubStopCommand === null) !== (hubStartCommand === null),
      'HUB_STOP_COMMAND and HUB_START_COMMAND belong together; set both or none',
    ],
    [virusScanRequired && virusScanUrl === null, 'VIRUS_SCAN_REQUIRED=1 needs VIRUS_SCAN_URL, the scanner to ask'],
    // The processes may write all of DATA_DIR: were the project inside it, they could rewrite the program.
    [isInside(dataDir, projectRoot), 'DATA_DIR must be a folder of its own, neither the project nor one that holds it'],
    [
      backupOffsiteDir !== null && isInside(dataDir, backupOffsiteDir),
      'BACKUP_OFFSITE_DIR must be outside DATA_DIR: it would be lost together with it',
    ],
  ];
  return problems.filter(([isWrong]) => isWrong).map(([, problem]) => problem);
}

/** Whether a path is that folder or below it; both are absolute. */
export function isInside(outer: string, path: string): boolean {
  const way = relative(outer, path);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way));
}
