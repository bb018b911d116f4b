import { isAbsolute, join, relative } from 'node:path';
import {
  ageRecipient, bearerToken, cidrs, days, farFolder, folder, host, httpUrl, integer, keyFingerprints, logLevel, oneOf,
  origin, rcloneRemote, resticKeep, resticRepository, scriptsFile, sealingKey, shellCommand, zeroOrOne, type Parse,
} from './setting-values.ts';

/** The largest values in bytes: 4 GiB for the size of a file, 256 TiB for a total. */
const MAX_FILE = 2 ** 32;
const MAX_STORE = 2 ** 48;
const DAY_SECONDS = 86_400;

/** The chat and push services in whose formats the hub can send alerts; `json` is for any other receiver. */
export const ALERT_FORMATS = [
  'slack', 'mattermost', 'rocketchat', 'discord', 'googlechat', 'teams', 'ntfy', 'gotify', 'json',
] as const;

export type AlertFormat = (typeof ALERT_FORMATS)[number];

export type Setting<Value> = {
  name: string; // the environment variable, such as PORT
  parse: Parse<Value>;
  default: string | null; // as written in the environment; null: none
  meaning: string; // explains the setting in README.md and .env.example; a test compares these files with SETTINGS
  seeHandbook?: string; // the anchor of the section of scripts/README.md that explains the setting
  /**
   * A secret setting is never shown. `text`: the variable NAME contains it, or NAME_FILE names a file with it. `bytes`:
   * it is binary, so that only NAME_FILE can be set.
   */
  secret?: 'text' | 'bytes';
  usedBy?: 'scripts'; // only scripts read it, so that a change needs no restart of the hub
};

export type SettingList = Record<string, Setting<unknown>>;

export type SettingValues<List extends SettingList> = {
  readonly [Key in keyof List]: ReturnType<List[Key]['parse']> | (List[Key]['default'] extends null ? null : never);
};

/** Every setting of the hub, by its name in `Config`. Code reads a setting from `hub.config`. */
export const SETTINGS = {
  // The dozen that people set.
  host: { name: 'HOST', parse: host, default: '127.0.0.1', meaning: 'address or host name that the hub listens on' },
  port: {
    name: 'PORT', parse: integer(0, 65_535), default: '8080',
    meaning: 'port that the hub listens on; with 0, the system chooses a port',
  },
  baseUrl: {
    name: 'BASE_URL', parse: origin, default: null,
    meaning: 'public address of the hub: scheme, host and port, without a path; `http://HOST:PORT` if not set; with ' +
      '`https:`, cookies are Secure and HSTS is sent',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES', parse: cidrs, default: '',
    meaning: 'comma-separated networks of proxies, such as `127.0.0.1/32`, whose `X-Forwarded-For` and ' +
      '`X-Forwarded-Proto` headers are trusted',
  },
  dataDir: {
    name: 'DATA_DIR', parse: folder, default: 'data',
    meaning: 'folder for everything the hub stores: `hub.db`, `uploads/`, `cache/`, `backups/`, `tmp/`, `run/`',
  },
  alertWebhookUrl: {
    name: 'ALERT_WEBHOOK_URL', parse: httpUrl, default: null, secret: 'text', seeHandbook: 'alerts',
    meaning: 'address that alerts are sent to: an incoming webhook of a chat service, or a push topic',
  },
  heartbeatUrl: {
    name: 'HEARTBEAT_URL', parse: httpUrl, default: null, secret: 'text', seeHandbook: 'a-sign-of-life',
    usedBy: 'scripts',
    meaning: 'address that the hub calls each night after it has made, verified and sent the backup; for a service ' +
      'that raises an alarm when the call is missing',
  },
  backupDir: {
    name: 'BACKUP_DIR', parse: farFolder, default: null, seeHandbook: 'the-first-backup',
    meaning: 'folder for the backups on this machine, such as a folder on another disk; `DATA_DIR/backups` if not set',
  },
  backupRetentionDays: {
    name: 'BACKUP_RETENTION_DAYS', parse: days, default: null,
    meaning: 'days after which backups on this machine are removed (1 to 9999); if not set, no backup is removed',
  },
  backupOffsiteDir: {
    name: 'BACKUP_OFFSITE_DIR', parse: farFolder, default: null,
    meaning: 'off-site destination: a folder on another disk, used by this hub alone, that every backup is copied to',
  },
  backupRcloneRemote: {
    name: 'BACKUP_RCLONE_REMOTE', parse: rcloneRemote, default: null,
    meaning: 'off-site destination: an rclone remote and path, such as `box:hub`, used by this hub alone, that every ' +
      'backup is copied to',
  },
  backupAgeRecipient: {
    name: 'BACKUP_AGE_RECIPIENT', parse: ageRecipient, default: null,
    meaning: 'age recipients (`age1…`, separated by spaces) that off-site copies are encrypted for, or the absolute ' +
      'path of a file that lists them',
  },
  // The rest.
  logLevel: {
    name: 'LOG_LEVEL', parse: logLevel, default: 'info',
    meaning: 'lowest level that is logged, as JSON lines on standard error: `debug`, `info`, `warn` or `error`',
  },
  uploadMaxBytes: {
    name: 'UPLOAD_MAX_BYTES', parse: integer(1, MAX_FILE), default: '26214400',
    meaning: 'maximum size of an uploaded file (25 MiB); a request may hold 10 files and four times this size',
  },
  uploadQuotaBytes: {
    name: 'UPLOAD_QUOTA_BYTES', parse: integer(0, MAX_STORE), default: '1073741824',
    meaning: 'maximum total size of the files of one account (1 GiB)',
  },
  contentQuotaBytes: {
    name: 'CONTENT_QUOTA_BYTES', parse: integer(0, MAX_STORE), default: '2147483648', seeHandbook: 'a-full-account',
    meaning: 'maximum size of all posts in one account’s sources (2 GiB); a full account gets no new posts; ' +
      'administrators have no limit; 0 sets no limit for anybody',
  },
  diskReserveBytes: {
    name: 'DISK_RESERVE_BYTES', parse: integer(0, MAX_STORE), default: null, seeHandbook: 'a-full-disk',
    meaning: 'free bytes on the disk of `DATA_DIR` that the hub keeps for repairs; if not set, 64 MiB, less on a ' +
      'small disk, more with a large search index; 0 turns the reserve off',
  },
  virusScanUrl: {
    name: 'VIRUS_SCAN_URL', parse: httpUrl, default: null, secret: 'text', seeHandbook: 'scanning-uploads',
    meaning: 'address of the virus scanner that uploads are sent to',
  },
  virusScanRequired: {
    name: 'VIRUS_SCAN_REQUIRED', parse: zeroOrOne, default: '0',
    meaning: 'if 1, the hub refuses files without a verdict of the virus scanner; if 0, it stores them and scans later',
  },
  virusScanTimeoutSeconds: {
    name: 'VIRUS_SCAN_TIMEOUT_SECONDS', parse: integer(1, 300), default: '30',
    meaning: 'seconds that the virus scanner may take for one file (1 to 300)',
  },
  attachmentCacheMaxBytes: {
    name: 'ATTACHMENT_CACHE_MAX_BYTES', parse: integer(0, MAX_STORE), default: '1073741824',
    meaning: "maximum size of the cache of publishers' images and documents (1 GiB); 0 turns it off, and posts then " +
      'link to the originals',
  },
  listPictures: {
    name: 'LIST_PICTURES', parse: zeroOrOne, default: '1',
    meaning: 'if 1, the worker fetches a picture of each new post for lists; if 0, lists show pictures that readers ' +
      'have opened',
  },
  fullTextMaxBytes: {
    name: 'FULL_TEXT_MAX_BYTES', parse: integer(0, MAX_STORE), default: '1073741824',
    seeHandbook: 'full-texts-of-posts',
    meaning: 'maximum size of the full texts of posts that the hub keeps, with their words in the search index ' +
      '(1 GiB); the longest unread goes first; 0 turns full texts off for everybody',
  },
  syncConcurrency: {
    name: 'SYNC_CONCURRENCY', parse: integer(1, 64), default: '8',
    meaning: 'feeds fetched at the same time, at most one per host (1 to 64)',
  },
  syncMaxAttempts: {
    name: 'SYNC_MAX_ATTEMPTS', parse: integer(1, 100), default: '5',
    meaning: 'attempts at a synchronisation before it counts as failed (1 to 100)',
  },
  sourcesMax: {
    name: 'SOURCES_MAX', parse: integer(1, 100_000), default: '1000',
    meaning: 'sources that an account may own, and others’ sources that an account may follow (1 to 100000)',
  },
  outboundAllow: {
    name: 'OUTBOUND_ALLOW', parse: cidrs, default: '',
    meaning: 'comma-separated private networks, such as `192.168.1.0/24`, that feeds and their images may be fetched ' +
      'from',
  },
  notificationRetentionDays: {
    name: 'NOTIFICATION_RETENTION_DAYS', parse: integer(0, 9_999), default: '90',
    meaning: 'days after which notifications are removed; with 0, notifications stay for ever',
  },
  readingHistoryRetentionDays: {
    name: 'READING_HISTORY_RETENTION_DAYS', parse: integer(0, 9_999), default: '365',
    meaning: 'days after which reading history and the times of marks are removed; with 0, they stay for ever',
  },
  postRetentionDays: {
    name: 'POST_RETENTION_DAYS', parse: integer(0, 9_999), default: '0',
    meaning: 'days after which posts that have left their feed are removed; posts that a member has starred or ' +
      'has not read are kept; 0 keeps all posts for ever',
  },
  auditRetentionDays: {
    name: 'AUDIT_RETENTION_DAYS', parse: integer(0, 9_999), default: '365',
    meaning: 'days after which audit events are removed; with 0, audit events stay for ever',
  },
  metricsToken: {
    name: 'METRICS_TOKEN', parse: bearerToken, default: null, secret: 'text',
    meaning: 'bearer token that `/api/metrics` requires, if set; must not begin with `hub_`, as API tokens do',
  },
  alertWebhookFormat: {
    name: 'ALERT_WEBHOOK_FORMAT', parse: oneOf('auto', ...ALERT_FORMATS), default: 'auto',
    meaning: `format of alerts: ${ALERT_FORMATS.map((format) => `\`${format}\``).join(', ')}, or \`auto\`, which ` +
      'knows the addresses of chat and push services and takes `json` for any other',
  },
  hubSecretKey: {
    name: 'HUB_SECRET_KEY', parse: sealingKey, default: null, secret: 'bytes', seeHandbook: 'webhook-secrets',
    meaning: 'file of 32 to 4096 random bytes, the key that encrypts webhook secrets and passwords of feeds in the ' +
      'database',
  },
  hubStopCommand: {
    name: 'HUB_STOP_COMMAND', parse: shellCommand, default: null, usedBy: 'scripts',
    meaning: 'shell command with which `restore.sh` stops the hub, if neither the systemd units nor `npm start` ' +
      'run the hub',
  },
  hubStartCommand: {
    name: 'HUB_START_COMMAND', parse: shellCommand, default: null, usedBy: 'scripts',
    meaning: 'shell command with which `restore.sh` starts the hub; only together with `HUB_STOP_COMMAND`',
  },
  restoreHealthSeconds: {
    name: 'RESTORE_HEALTH_SECONDS', parse: integer(1, DAY_SECONDS), default: '90',
    meaning: 'longest trial of a restored hub, in seconds (1 to 86400); a value below 60 also limits the trial of an ' +
      'upgraded hub',
  },
  restoreStopSeconds: {
    name: 'RESTORE_STOP_SECONDS', parse: integer(0, DAY_SECONDS), default: '20', usedBy: 'scripts',
    meaning: 'seconds that `restore.sh` waits for every process to close the old database (0 to 86400)',
  },
  upgradeVerify: {
    name: 'UPGRADE_VERIFY', parse: oneOf('signed'), default: null, usedBy: 'scripts', seeHandbook: 'upgrading',
    meaning: '`signed` makes `upgrade.sh` accept only release tags signed with a key in `UPGRADE_SIGNERS`',
  },
  upgradeSigners: {
    name: 'UPGRADE_SIGNERS', parse: keyFingerprints, default: null, usedBy: 'scripts',
    meaning: 'fingerprints (40 digits, separated by spaces) of the OpenPGP keys whose tags `upgrade.sh` accepts',
  },
  backupTimeoutSeconds: {
    name: 'BACKUP_TIMEOUT_SECONDS', parse: integer(1, 7 * DAY_SECONDS), default: '21600', usedBy: 'scripts',
    meaning: 'seconds after which `backup.sh` stops a step: the backup itself, or the copies to one destination ' +
      '(1 to 604800)',
  },
  backupResticRepository: {
    name: 'BACKUP_RESTIC_REPOSITORY', parse: resticRepository, default: null, seeHandbook: 'large-hubs',
    meaning: 'off-site destination: a restic repository, such as `/mnt/backup/hub` or `rclone:box:hub`, that stores ' +
      'only the new parts of each backup; excludes `BACKUP_AGE_RECIPIENT`, because restic encrypts',
  },
  backupResticPasswordFile: {
    name: 'BACKUP_RESTIC_PASSWORD_FILE', parse: scriptsFile, default: null, usedBy: 'scripts',
    meaning: 'absolute path of the file that holds the password of the restic repository',
  },
  backupResticKeep: {
    name: 'BACKUP_RESTIC_KEEP', parse: resticKeep, default: 'hourly=24 daily=7 weekly=4 monthly=12', usedBy: 'scripts',
    meaning: 'how many backups the restic repository keeps for each period: `last`, `hourly`, `daily`, `weekly`, ' +
      '`monthly`, `yearly`',
  },
  drillEveryDays: {
    name: 'DRILL_EVERY_DAYS', parse: integer(0, 9_999), default: null,
    seeHandbook: 'to-prove-that-a-copy-can-be-restored',
    meaning: 'days between the drills that the nightly run makes with the newest off-site copies (0 to 9999); 0 ' +
      'makes no drills; if not set, 30 for backups of up to 1 GiB and 0 for larger ones',
  },
} satisfies SettingList;

export type Settings = SettingValues<typeof SETTINGS>;

/** Finds mistakes in the combination of several settings. */
export function problemsTogether(settings: Settings, projectRoot: string): string[] {
  const { hubStopCommand, hubStartCommand, virusScanRequired, virusScanUrl, dataDir } = settings;
  const { backupDir, backupOffsiteDir, backupAgeRecipient, upgradeVerify, upgradeSigners } = settings;
  const { backupResticRepository: repository, backupResticPasswordFile } = settings;
  const problems: [isWrong: boolean, problem: string][] = [
    [
      (hubStopCommand === null) !== (hubStartCommand === null),
      'HUB_STOP_COMMAND and HUB_START_COMMAND belong together; set both or neither',
    ],
    [
      (upgradeVerify === null) !== (upgradeSigners === null),
      'UPGRADE_VERIFY and UPGRADE_SIGNERS belong together; set both or neither',
    ],
    [virusScanRequired && virusScanUrl === null, 'VIRUS_SCAN_REQUIRED=1 needs VIRUS_SCAN_URL, the scanner’s address'],
    // If DATA_DIR contained the project, the hub's processes, which may write DATA_DIR, could rewrite the program.
    [isInside(dataDir, projectRoot), 'DATA_DIR must be neither the project folder nor a folder above the project'],
    [
      backupDir !== null && overlaps(backupDir, dataDir, projectRoot),
      'BACKUP_DIR must be DATA_DIR/backups, or a folder that neither lies in DATA_DIR or the project nor contains them',
    ],
    [
      backupDir !== null && backupOffsiteDir !== null && isInside(backupDir, backupOffsiteDir),
      'BACKUP_OFFSITE_DIR must be outside BACKUP_DIR: one failure must not destroy both folders',
    ],
    [
      backupOffsiteDir !== null && isInside(dataDir, backupOffsiteDir),
      'BACKUP_OFFSITE_DIR must be outside DATA_DIR: one failure must not destroy both folders',
    ],
    [
      repository !== null && isAbsolute(repository) &&
        [dataDir, backupDir].some((own) => own !== null && isInside(own, repository)),
      'BACKUP_RESTIC_REPOSITORY must be outside DATA_DIR and BACKUP_DIR: one failure must not destroy all copies',
    ],
    [
      (repository === null) !== (backupResticPasswordFile === null),
      'BACKUP_RESTIC_REPOSITORY and BACKUP_RESTIC_PASSWORD_FILE belong together; set both or neither',
    ],
    [
      repository !== null && backupAgeRecipient !== null,
      'BACKUP_RESTIC_REPOSITORY and BACKUP_AGE_RECIPIENT exclude each other: restic encrypts its ' +
        'repository itself',
    ],
  ];
  return problems.filter(([isWrong]) => isWrong).map(([, problem]) => problem);
}

function overlaps(backupDir: string, dataDir: string, projectRoot: string): boolean {
  const isUsual = backupDir === join(dataDir, 'backups');
  const isApart = [dataDir, projectRoot].every((other) => !isInside(other, backupDir) && !isInside(backupDir, other));
  return !isUsual && !isApart;
}

/** Whether `path` is the folder `outer` or lies below it; both are absolute. */
export function isInside(outer: string, path: string): boolean {
  const way = relative(outer, path);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way));
}
