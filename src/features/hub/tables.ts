import type { SETTINGS } from './settings.ts';

type SettingName = (typeof SETTINGS)[keyof typeof SETTINGS]['name'];

/**
 * `most`: the maximum number of this table's rows per account or source, or the name of the setting that limits the
 * number or the bytes of these rows. `except`: the rows that are stored beyond this number.
 */
type Counted = {
  most: number | SettingName; of: 'account' | 'source'; then: 'refused' | 'the oldest ends'; except?: string;
};

/** A table without a maximum per account or source, and why the table stays small. */
type Bounded = { bounded: string };

/**
 * `export`: the part of `GET /api/account/export` that contains an account's rows of this table; null if the table
 * holds only secrets, sums, or rows of no account. `leaving`: when the rows of a deleted account are removed. `at
 * once`: the request that deletes the account removes the rows. `steps`: a job removes the account's rows. `cascade`:
 * SQLite removes the rows with the row of another table that the rows refer to. `before`: the member must transfer or
 * delete the rows before deleting the account. `none`: the rows belong to no account. `restore`: whether a restore
 * keeps, empties or changes the table. Waiting work in a backup may have been done since the backup was made.
 */
type Table = (Counted | Bounded) & {
  export: string | null;
  leaving: 'at once' | 'steps' | 'cascade' | 'before' | 'none';
  restore: 'kept' | 'emptied' | 'changed';
};

const NOBODYS = { export: null, leaving: 'none', restore: 'kept' } as const;
const OF_SOURCE = { export: null, leaving: 'before', restore: 'kept' } as const;
const CONTENT = { most: 'CONTENT_QUOTA_BYTES', of: 'account', then: 'refused', ...OF_SOURCE } as const;
const ONE_EACH = { bounded: 'one row for each account', leaving: 'cascade', restore: 'kept' } as const;

/** Every table, and what limits its rows; `test/app/tables.test.ts` compares each entry with schema, API and export. */
export const TABLES = {
  // platform
  counts: { bounded: 'one row for each metric and label', ...NOBODYS, restore: 'changed' },
  heartbeats: { bounded: 'one row for each process, and one row for each daily task', ...NOBODYS, restore: 'emptied' },
  jobs: {
    bounded: 'one live job and ten dead-lettered jobs for each kind and key; done jobs are removed after a day',
    ...NOBODYS, restore: 'changed',
  },
  rate_limits: { bounded: 'a row that no longer limits anything is removed within a minute', ...NOBODYS },
  schema_migrations: { bounded: 'one row for each migration that was applied', ...NOBODYS },
  hub: { bounded: 'one row', ...NOBODYS },
  error_events: { bounded: 'one row for each kind of error that happened in the last 90 days', ...NOBODYS },

  // accounts
  accounts: {
    bounded: 'nobody can make an account without a link from an administrator',
    export: 'account', leaving: 'cascade', restore: 'kept',
  },
  preferences: { ...ONE_EACH, export: 'preferences' },
  sessions: {
    most: 100, of: 'account', then: 'the oldest ends', export: 'sessions', leaving: 'at once', restore: 'emptied',
  },
  api_tokens: { most: 100, of: 'account', then: 'refused', export: 'tokens', leaving: 'at once', restore: 'kept' },
  sign_in_networks: {
    most: 20, of: 'account', then: 'the oldest ends', export: 'signInNetworks', leaving: 'at once', restore: 'kept',
  },
  password_links: { ...ONE_EACH, export: null, leaving: 'at once', restore: 'emptied' },
  invitations: {
    most: 100, of: 'account', then: 'refused',
    export: 'invitations', leaving: 'at once', restore: 'kept',
  },
  audit_records: {
    bounded: 'AUDIT_RETENTION_DAYS and the limit `acts` of each account; repeated changes add one record a minute',
    export: 'acts', leaving: 'steps', restore: 'kept',
  },
  notifications: {
    most: 2_000, of: 'account', then: 'the oldest ends', export: 'notifications', leaving: 'steps', restore: 'kept',
  },

  // tables of sources, posts, follows and files
  sources: {
    most: 'SOURCES_MAX', of: 'account', then: 'refused',
    export: 'sources', leaving: 'before', restore: 'kept',
  },
  source_offers: {
    bounded: 'ten open offers for each sender; ended offers are removed after 90 days',
    export: 'offers', leaving: 'at once', restore: 'kept',
  },
  feeds: { bounded: 'one row for each source', ...OF_SOURCE, export: 'sources' },
  webhooks: { bounded: 'one row for each source', ...OF_SOURCE, export: 'sources' },
  source_usage: { bounded: 'one row for each source', ...OF_SOURCE },
  source_icons: { bounded: 'one row for each source', ...OF_SOURCE },
  icons: { bounded: 'one row for each icon that a source has', ...OF_SOURCE },
  source_days: { most: 30, of: 'source', then: 'the oldest ends', ...OF_SOURCE },
  source_runs: { most: 20, of: 'source', then: 'the oldest ends', ...OF_SOURCE },
  posts: { ...CONTENT, export: 'posts' },
  post_texts: { ...CONTENT, export: 'posts' },
  posts_search: CONTENT,
  post_links: { bounded: 'at most one row for each post', ...OF_SOURCE },
  doubles: { bounded: 'at most one row for each post, and 32 rows for each link', ...OF_SOURCE },
  post_tombstones: CONTENT,
  webhook_events: CONTENT,
  attachments: { ...CONTENT, export: 'posts' },
  uploads: { most: 'UPLOAD_QUOTA_BYTES', of: 'account', then: 'refused', ...OF_SOURCE, export: 'posts' },
  draft_files: {
    most: 'UPLOAD_QUOTA_BYTES', of: 'account', then: 'refused', export: 'drafts', leaving: 'cascade', restore: 'kept',
  },
  cached_files: {
    bounded: 'ATTACHMENT_CACHE_MAX_BYTES; failed fetches are remembered for an hour, too large pictures for a week',
    ...NOBODYS,
  },
  full_texts: {
    bounded: 'one row for each post that exists; texts and full_texts_search together: FULL_TEXT_MAX_BYTES',
    ...OF_SOURCE,
  },
  full_texts_search: { bounded: 'one row for each text in full_texts', ...OF_SOURCE },
  full_text_sources: { bounded: 'one row for each source', ...OF_SOURCE },
  full_text_results: { bounded: 'one row for each source and result of a fetch', ...OF_SOURCE },
  content_usage: { ...ONE_EACH, export: null },
  upload_usage: { ...ONE_EACH, export: null },

  // reading and writing
  follows: {
    most: 'SOURCES_MAX', of: 'account', then: 'refused',
    export: 'follows', leaving: 'steps', restore: 'kept',
  },
  folders: { bounded: 'each folder has a followed source', export: 'follows', leaving: 'cascade', restore: 'kept' },
  list_choices: {
    most: 1_000, of: 'account', then: 'the oldest ends', export: 'listChoices', leaving: 'cascade', restore: 'kept',
  },
  read_marks: {
    most: 20_000, of: 'account', then: 'refused',
    except: 'marks of apps, of rules and of arriving posts with a link that was read, at most one for each post',
    export: 'readMarks', leaving: 'steps', restore: 'kept',
  },
  read_undo: { most: 20, of: 'account', then: 'the oldest ends', export: null, leaving: 'steps', restore: 'kept' },
  stars: { bounded: 'one row for each post that exists', export: 'stars', leaving: 'steps', restore: 'kept' },
  reading_history: {
    bounded: 'one row for each post that exists, for READING_HISTORY_RETENTION_DAYS',
    export: 'history', leaving: 'steps', restore: 'kept',
  },
  rules: { most: 100, of: 'account', then: 'refused', export: 'rules', leaving: 'steps', restore: 'kept' },
  saved_searches: {
    most: 20, of: 'account', then: 'refused', export: 'searches', leaving: 'steps', restore: 'kept',
  },
  muted_posts: {
    bounded: 'one row for each post that exists and each rule that mutes the post',
    export: 'mutedPosts', leaving: 'steps', restore: 'kept',
  },
  withdrawn_states: {
    bounded: 'one row for each reader of a post that is a draft now, if the reader had marked or starred the post',
    export: 'withdrawnStates', leaving: 'cascade', restore: 'kept',
  },
  drafts: {
    most: 30, of: 'account', then: 'refused', except: 'three drafts that wait until their author signs in again',
    export: 'drafts', leaving: 'steps', restore: 'changed',
  },
  imports: { most: 5, of: 'account', then: 'the oldest ends', export: 'imports', leaving: 'steps', restore: 'kept' },
  import_lines: { bounded: 'an import has at most 5,000 rows', export: 'imports', leaving: 'cascade', restore: 'kept' },

  // operation
  alert_events: { bounded: 'one row for each condition that can raise an alert', ...NOBODYS },
  alert_deliveries: { bounded: 'one message an hour for each alert, kept 30 days, a failed message 90', ...NOBODYS },
  retention_runs: { bounded: 'one row', ...NOBODYS },
  history_figures: { bounded: 'one row for each figure of the history', ...NOBODYS },
  history: { bounded: '2,018 rows: two days in steps of five minutes, and 60 days in steps of an hour', ...NOBODYS },
  history_readings: { bounded: 'a row of figures and a row of changed settings for each process', ...NOBODYS },
  backup_runs: { bounded: 'each place of backups has at most 500 rows, of the last 60 days', ...NOBODYS },
  certificates: { bounded: 'one row for each BASE_URL that the hub has had', ...NOBODYS },
} as const satisfies Record<string, Table>;

type Tables = typeof TABLES;
export type TableName = keyof Tables;

/** Parts of an account's export that are lists of rows. */
export type ExportPart = Exclude<Tables[TableName]['export'], 'account' | 'preferences' | null>;

/** Tables from which a job removes an account's rows in steps. */
export type SteppedTable = { [Name in TableName]: Tables[Name]['leaving'] extends 'steps' ? Name : never }[TableName];
