import type { SETTINGS } from './settings.ts';

type SettingName = (typeof SETTINGS)[keyof typeof SETTINGS]['name'];

/**
 * `most`: the maximum number of rows per account or source, or the name of the setting that limits their number or
 * bytes. `except`: rows that are stored even beyond it.
 */
type Counted = {
  most: number | SettingName; of: 'account' | 'source'; then: 'refused' | 'the oldest ends'; except?: string;
};

/** A table without a maximum per account or source, and what bounds it. */
type Bounded = { bounded: string };

/**
 * `export`: the part or parts of `GET /api/account/export` that contain an account's rows; null for none.
 * `leaving`: when the rows of a deleted account are removed. `at once`: by the request that deletes it. `steps`: the
 * first by that request, the rest by a job. `cascade`: by SQLite, with the row of another table that they refer to.
 * `before`: the member must transfer or delete them first. `renamed`: they stay under a pseudonym. `last`: the row is
 * renamed at once, and removed after all others. `none`: never for that. `restore`: whether a restore keeps, empties or
 * changes the table. Waiting work in a backup may have been done since that was made.
 */
type Table = (Counted | Bounded) & {
  export: string | readonly string[] | null;
  leaving: 'at once' | 'steps' | 'cascade' | 'before' | 'renamed' | 'last' | 'none';
  restore: 'kept' | 'emptied' | 'changed';
};

const NOBODYS = { export: null, leaving: 'none', restore: 'kept' } as const;
const OF_SOURCE = { export: null, leaving: 'before', restore: 'kept' } as const;
const CONTENT = { most: 'CONTENT_QUOTA_BYTES', of: 'account', then: 'refused', ...OF_SOURCE } as const;
const REFUSE = { of: 'account', then: 'refused' } as const;
const END_OLDEST = { of: 'account', then: 'the oldest ends' } as const;
const AT_ONCE = { leaving: 'at once', restore: 'kept' } as const;
const IN_STEPS = { leaving: 'steps', restore: 'kept' } as const;
const CASCADE = { leaving: 'cascade', restore: 'kept' } as const;
const NOT_EXPORTED = { export: null, ...CASCADE } as const;
const ONE_EACH = { bounded: 'one row for each account', leaving: 'cascade', restore: 'kept' } as const;

/** Every table, and what limits its rows. `test/app/tables.slow.test.ts` compares this with schema, API and export. */
export const TABLES = {
  // platform and hub
  counts: { bounded: 'one row for each metric and label', ...NOBODYS, restore: 'changed' },
  heartbeats: { bounded: 'one row for each process, and one row for each daily task', ...NOBODYS, restore: 'emptied' },
  jobs: {
    bounded: 'one live and one failed job for each kind and key; done jobs are removed after a day',
    ...NOBODYS, restore: 'changed',
  },
  rate_limits: {
    bounded: 'a row lives until it limits nobody, a day at most, and is removed within a minute then', ...NOBODYS,
  },
  schema_migrations: { bounded: 'one row for each migration that was applied', ...NOBODYS },
  hub: { bounded: 'one row', ...NOBODYS },
  error_events: { bounded: 'one row for each kind of error that happened in the last 90 days', ...NOBODYS },

  // accounts
  accounts: {
    bounded: 'nobody can make an account without a link from an administrator',
    export: 'account', leaving: 'last', restore: 'kept',
  },
  preferences: { ...ONE_EACH, export: 'preferences' },
  sessions: { most: 100, ...END_OLDEST, export: 'sessions', ...AT_ONCE, restore: 'emptied' },
  api_tokens: { most: 100, ...REFUSE, export: 'tokens', ...AT_ONCE },
  sign_in_networks: { most: 20, ...END_OLDEST, export: 'signInNetworks', ...AT_ONCE },
  password_links: { ...ONE_EACH, export: null, ...AT_ONCE, restore: 'emptied' },
  invitations: { most: 100, ...REFUSE, export: 'invitations', ...AT_ONCE },
  audit_records: {
    bounded: 'records are kept for AUDIT_RETENTION_DAYS days; the limit `acts` limits the new records of an account; ' +
      'repeated changes add one record a minute',
    export: 'acts', leaving: 'renamed', restore: 'kept',
  },
  notifications: { most: 2_000, ...END_OLDEST, export: 'notifications', ...IN_STEPS },

  // sources, posts and files
  sources: { most: 'SOURCES_MAX', ...REFUSE, ...OF_SOURCE, export: 'sources' },
  source_offers: {
    bounded: 'ten open offers for each sender; ended offers are removed after 90 days',
    export: 'offers', ...AT_ONCE,
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
  posts_words: CONTENT,
  posts_search: { bounded: 'empty since 2.1.0', ...OF_SOURCE },
  post_links: { bounded: 'at most one row for each post', ...OF_SOURCE },
  link_rows: { bounded: 'at most one row for each post, and 32 rows for each link', ...OF_SOURCE },
  doubles: { bounded: 'empty since 2.1.0', ...OF_SOURCE },
  post_tombstones: CONTENT,
  webhook_events: CONTENT,
  attachments: { ...CONTENT, export: 'posts' },
  uploads: { most: 'UPLOAD_QUOTA_BYTES', ...REFUSE, ...OF_SOURCE, export: 'posts' },
  draft_files: { most: 'UPLOAD_QUOTA_BYTES', ...REFUSE, export: 'drafts', ...CASCADE },
  cached_files: {
    bounded: 'ATTACHMENT_CACHE_MAX_BYTES limits the bytes of the files; the hub remembers failed fetches for an ' +
      'hour, and too large pictures for a week',
    ...NOBODYS,
  },
  full_texts: {
    bounded: 'one row for each post that exists; texts and full_texts_words together: FULL_TEXT_MAX_BYTES',
    ...OF_SOURCE,
  },
  full_texts_words: { bounded: 'one row for each text in full_texts', ...OF_SOURCE },
  full_texts_search: { bounded: 'empty since 2.1.0', ...OF_SOURCE },
  full_text_sources: { bounded: 'one row for each source', ...OF_SOURCE },
  full_text_results: { bounded: 'one row for each source and result of a fetch', ...OF_SOURCE },
  content_usage: { ...ONE_EACH, export: null },
  upload_usage: { ...ONE_EACH, export: null },

  // reading and writing
  follows: { most: 'SOURCES_MAX', ...REFUSE, export: 'follows', ...IN_STEPS },
  folders: { bounded: 'each folder has a followed source', export: 'follows', ...CASCADE },
  list_choices: { most: 1_000, ...END_OLDEST, export: 'listChoices', ...CASCADE },
  entries: {
    bounded: 'one row for each of the newest 20,000 posts of a followed source, at most 1,000,000 for an account; ' +
      'one for each post that the account has marked or starred, or that a rule has muted',
    export: ['readMarks', 'stars', 'mutedPosts'], ...IN_STEPS,
  },
  entries_due: { bounded: 'one row for each changed or ended follow, until its entries agree', ...NOT_EXPORTED },
  unread_counts: {
    bounded: 'one row for each source that an account follows, or has had unread posts of', ...NOT_EXPORTED,
  },
  entries_late: { bounded: 'one row for each new post, until it has reached all followers', ...OF_SOURCE },
  read_acts: { most: 20, ...END_OLDEST, export: null, ...IN_STEPS },
  read_marks: { bounded: 'empty since 2.1.0', ...NOT_EXPORTED },
  read_undo: { bounded: 'empty since 2.1.0', ...NOT_EXPORTED },
  stars: { bounded: 'empty since 2.1.0', ...NOT_EXPORTED },
  reading_history: {
    bounded: 'one row for each post that exists, for READING_HISTORY_RETENTION_DAYS',
    export: 'history', ...IN_STEPS,
  },
  rules: { most: 100, ...REFUSE, export: 'rules', ...IN_STEPS },
  saved_searches: { most: 20, ...REFUSE, export: 'searches', ...IN_STEPS },
  muted_posts: { bounded: 'empty since 2.1.0', ...NOT_EXPORTED },
  withdrawn_states: {
    bounded: 'one row for each reader of a post that is a draft now, if the reader had read, marked or starred it',
    export: 'withdrawnStates', ...CASCADE,
  },
  drafts: {
    most: 30, ...REFUSE,
    except: 'three drafts that wait until their author signs in again, and 30 texts scheduled beside newer drafts',
    export: 'drafts', ...IN_STEPS, restore: 'changed',
  },
  imports: { most: 5, ...END_OLDEST, export: 'imports', ...IN_STEPS },
  import_lines: { bounded: 'an import has at most 5,000 rows', export: 'imports', ...CASCADE },

  // operation
  alert_events: { bounded: 'one row for each condition that can raise an alert', ...NOBODYS },
  alert_deliveries: { bounded: 'one message an hour for each alert, kept 30 days, a failed message 90', ...NOBODYS },
  unsent_alerts: { bounded: 'one message an hour for each alert, kept 90 days', ...NOBODYS },
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
export type ExportPart = Exclude<Exported<Tables[TableName]['export']>, 'account' | 'preferences' | null>;
type Exported<Parts> = Parts extends readonly (infer Part)[] ? Part : Parts;

/** Tables from which a job removes an account's rows in steps. */
export type SteppedTable = { [Name in TableName]: Tables[Name]['leaving'] extends 'steps' ? Name : never }[TableName];
