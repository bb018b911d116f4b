import type { TableName } from '../../src/features/hub/tables.ts';

/** Readers of stored data in the hub itself. An account that may open DATA_DIR or a backup can read all data. */
type Readers = 'nobody' | 'the account' | 'administrators' | 'the account and administrators' |
  'readers of the source' | 'the source’s owner and administrators' | 'sender and receiver' | 'everybody';

type Stored = { holds: string; about: 'a person' | 'a source' | 'the hub'; readers: Readers };

const OF_ACCOUNT = { about: 'a person', readers: 'the account' } as const;
const OF_SOURCE = { about: 'a source', readers: 'readers of the source' } as const;
const OF_OWNER = { about: 'a source', readers: 'the source’s owner and administrators' } as const;
const OF_HUB = { about: 'the hub', readers: 'administrators' } as const;

/** The content of each table in words, for the ledger. */
export const STORED_DATA: Record<TableName, Stored> = {
  counts: { ...OF_HUB, holds: 'sums for metrics' },
  heartbeats: { ...OF_HUB, holds: 'when each process was seen last' },
  jobs: { ...OF_HUB, holds: 'waiting and failed work: ids of sources, accounts and deliveries' },
  rate_limits: { about: 'a person', readers: 'nobody', holds: 'account, network or source that has acted, and how long its budget is used up' },
  schema_migrations: { ...OF_HUB, holds: 'applied migrations' },
  hub: { about: 'the hub', readers: 'everybody', holds: 'the hub’s name, front text and colour' },
  error_events: { ...OF_HUB, holds: 'messages of unexpected errors' },
  accounts: { about: 'a person', readers: 'the account and administrators', holds: 'user name, display name, role, hash of the password' },
  preferences: { ...OF_ACCOUNT, holds: 'time zone, and how pages look and behave' },
  sessions: { ...OF_ACCOUNT, holds: 'hash of the cookie, when the session was seen last and from which IP address' },
  api_tokens: { about: 'a person', readers: 'the account and administrators', holds: 'hash of an API token or app password, its scope and name, when it was seen last and from which IP address; administrators see the name in the audit log' },
  sign_in_networks: { ...OF_ACCOUNT, holds: 'networks from which the account has signed in' },
  password_links: { about: 'a person', readers: 'nobody', holds: 'hash of a link that sets a new password' },
  invitations: { about: 'a person', readers: 'administrators', holds: 'hash of an invitation, its purpose and its author' },
  audit_records: { about: 'a person', readers: 'the account and administrators', holds: 'who changed what and when, with the IP address' },
  notifications: { ...OF_ACCOUNT, holds: 'notes to the account about its sources' },
  sources: { ...OF_SOURCE, holds: 'title, visibility and state of a source' },
  source_offers: { about: 'a person', readers: 'sender and receiver', holds: 'offers of a source to another member' },
  feeds: { ...OF_OWNER, holds: 'address of a feed, and its password, which nobody can read; readers see the feed’s site and description' },
  webhooks: { ...OF_OWNER, holds: 'secrets of a webhook, which nobody can read, and when the last event came' },
  source_usage: { ...OF_OWNER, holds: 'bytes of a source’s posts' },
  source_icons: { ...OF_SOURCE, holds: 'which icon a source has' },
  icons: { about: 'a source', readers: 'everybody', holds: 'icons of sources' },
  source_days: { ...OF_OWNER, holds: 'counts of synchronisations per day' },
  source_runs: { ...OF_OWNER, holds: 'results of the last synchronisations' },
  posts: { ...OF_SOURCE, holds: 'posts' },
  post_texts: { ...OF_SOURCE, holds: 'texts of posts as their authors wrote the texts' },
  posts_words: { ...OF_SOURCE, holds: 'words of posts' },
  posts_search: { ...OF_SOURCE, holds: 'nothing; before version 2.1.0 words of posts' },
  post_links: { about: 'a source', readers: 'nobody', holds: 'hashes of the links of posts' },
  doubles: { about: 'a source', readers: 'nobody', holds: 'which posts have the same link as posts of other sources' },
  post_tombstones: { about: 'a source', readers: 'nobody', holds: 'ids of deleted posts' },
  webhook_events: { about: 'a source', readers: 'nobody', holds: 'ids and times of received events' },
  attachments: { ...OF_SOURCE, holds: 'names, types and addresses of files' },
  uploads: { ...OF_SOURCE, holds: 'hash, type and size of uploaded files, and of pictures within posts, which count for CONTENT_QUOTA_BYTES' },
  cached_files: { about: 'a source', readers: 'nobody', holds: 'hash, type and size of publishers’ files, when a file was used last' },
  full_texts: { ...OF_SOURCE, holds: 'full texts of posts, which only signed-in readers see, and why a page brought none' },
  full_texts_words: { ...OF_SOURCE, holds: 'words of full texts, which only searches of signed-in readers find' },
  full_texts_search: { ...OF_SOURCE, holds: 'nothing; before version 2.1.0 words of full texts' },
  full_text_sources: { ...OF_OWNER, holds: 'whether the hub always fetches full texts, and how often readers asked for them' },
  full_text_results: { ...OF_OWNER, holds: 'counts of fetched full texts, and of the reasons why there was none' },
  content_usage: { about: 'a person', readers: 'the account and administrators', holds: 'bytes of posts in the account’s sources' },
  upload_usage: { ...OF_ACCOUNT, holds: 'bytes of the account’s files' },
  follows: { ...OF_ACCOUNT, holds: 'which sources a reader follows, the reader’s own names for sources, which sources are hidden from the lists of all sources, and how far the reader has read each source' },
  folders: { ...OF_ACCOUNT, holds: 'names of a reader’s folders' },
  list_choices: { ...OF_ACCOUNT, holds: 'which order and posts a reader chose for each list' },
  read_marks: { ...OF_ACCOUNT, holds: 'posts that a reader has read, or has marked as unread' },
  read_undo: { ...OF_ACCOUNT, holds: 'what undoes a reader’s last marks' },
  rules: { ...OF_ACCOUNT, holds: 'the words of a reader’s rules, and how often and when each rule last acted' },
  saved_searches: { ...OF_ACCOUNT, holds: 'names and words of searches that a reader has saved' },
  muted_posts: { ...OF_ACCOUNT, holds: 'posts that a reader’s rules keep out of the reader’s lists' },
  stars: { ...OF_ACCOUNT, holds: 'posts that a reader has starred' },
  reading_history: { ...OF_ACCOUNT, holds: 'which posts a reader has opened, and when' },
  drafts: { ...OF_ACCOUNT, holds: 'texts of forms that were not submitted' },
  withdrawn_states: { ...OF_ACCOUNT, holds: 'what a reader has read and starred of posts that are drafts now' },
  draft_files: { ...OF_ACCOUNT, holds: 'names, types and hashes of the files of drafts' },
  imports: { ...OF_ACCOUNT, holds: 'when the account has imported a list of feeds' },
  import_lines: { ...OF_ACCOUNT, holds: 'addresses and titles of the imported feeds' },
  alert_events: { ...OF_HUB, holds: 'state of each alert' },
  alert_deliveries: { ...OF_HUB, holds: 'texts of alerts that were sent' },
  unsent_alerts: { ...OF_HUB, holds: 'texts of alerts that no receiver was configured for' },
  retention_runs: { ...OF_HUB, holds: 'result of the last removal of old rows' },
  history_figures: { ...OF_HUB, holds: 'names of the figures in plots' },
  history: { ...OF_HUB, holds: 'figures of the plots: requests, memory, queue' },
  history_readings: { ...OF_HUB, holds: 'last readings of the processes' },
  backup_runs: { ...OF_HUB, holds: 'results of backups' },
  certificates: { ...OF_HUB, holds: 'end of the TLS certificate of `BASE_URL`' },
};
