import { readdirSync } from 'node:fs';
import { type Migration, readMigrations, SchemaError } from '../../platform/db/migration-files.ts';

/** The files of this version. An interrupted switch of versions may leave those of another in the folder. */
export const OWN_MIGRATIONS = [
  '0001_platform.sql',
  '0002_hub.sql',
  '0003_errors.sql',
  '0004_accounts.sql',
  '0005_audit.sql',
  '0006_notifications.sql',
  '0007_alerts.sql',
  '0008_sources.sql',
  '0009_follows.sql',
  '0010_posts.sql',
  '0011_attachments.sql',
  '0012_webhooks.sql',
  '0013_retention.sql',
  '0014_reading.sql',
  '0015_manage_sources.sql',
  '0016_writing.sql',
  '0017_history.sql',
  '0018_merged_rows.sql',
  '0019_sources_usage.sql',
  '0020_manage_sources_offers.sql',
  '0021_accounts_app_passwords.sql',
  '0022_follows_titles.sql',
  '0023_accounts_look.sql',
  '0024_sources_guid_prefix.sql',
  '0025_follows_hide_globally.sql',
  '0026_reading_list_choices.sql',
  '0027_full_text.sql',
  '0028_writing_drafts.sql',
  '0029_attachments_draft_files.sql',
  '0030_posts_texts.sql',
  '0031_writing_scheduled.sql',
  '0032_reading_withdrawn.sql',
  '0033_posts_doubles.sql',
  '0034_rules.sql',
  '0035_reading_muted.sql',
  '0036_reading_muted_doubles.sql',
  '0037_writing_forms.sql',
  '0038_full_text_sizes.sql',
  '0039_alerts_unsent.sql',
  '0040_posts_words.sql',
  '0041_attachments_embedded.sql',
  '0042_posts_link_rows.sql',
  '0043_reading_entries.sql',
  '0044_reading_list_orders.sql',
  '0045_reading_unread_counts.sql',
];

/** Throws SchemaError unless the `.sql` files in the folder are those of this version, no fewer and no more. */
export function readOwnMigrations(folder: string): Migration[] {
  const found = readdirSync(folder).filter((file) => file.endsWith('.sql'));
  const foreign = found.find((file) => !OWN_MIGRATIONS.includes(file));
  const missing = OWN_MIGRATIONS.find((file) => !found.includes(file));
  if (foreign === undefined && missing === undefined) return readMigrations(folder);
  const problem = `${foreign ?? missing} is ${foreign ? 'not of this version' : 'missing'}`;
  throw new SchemaError(`migrations/${problem}; nothing was changed. If an upgrade was interrupted, run ` +
    './scripts/upgrade.sh --recover; otherwise put the files of this version back (git status names what differs)');
}
