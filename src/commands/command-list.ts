import type { Command } from './command.ts';

type ListedCommand = { name: string; usage: string; summary: string; load(): Promise<Command> };

/** Every command of hubctl. What one of them needs is loaded when it is asked for. */
export const COMMANDS: ListedCommand[] = [
  {
    name: 'alerts', usage: 'alerts test | alerts list [--state STATE] [--json]',
    summary: 'Send a test alert and print the answer, or list the newest alerts (of --state failed|pending|delivered).',
    load: async () => (await import('./alerts.ts')).alertsCommand,
  },
  {
    name: 'backup', usage: 'backup [--json]',
    summary: 'Make, verify and keep a backup in DATA_DIR/backups, then remove old ones (BACKUP_RETENTION_DAYS).',
    load: async () => (await import('./backup.ts')).backupCommand,
  },
  {
    name: 'config', usage: 'config <VARIABLE>…',
    summary: 'Print settings in effect, one a line as asked, empty where not set. Secrets are not printed.',
    load: async () => (await import('./config.ts')).configCommand,
  },
  {
    name: 'doctor', usage: 'doctor [--hashes] [--json]',
    summary: 'Check the database, the uploaded files against their rows, and the worker; --hashes reads every file.',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    name: 'invite', usage: 'invite [--role admin|member] [--hours N]',
    summary: 'Print an invitation link for one person (a member by default, valid for 72 hours).',
    load: async () => (await import('./invite.ts')).inviteCommand,
  },
  {
    name: 'jobs', usage: 'jobs list [--state STATE] [--json] | jobs retry <id> | jobs discard <id>',
    summary: 'List jobs (failed ones by default; --state failed|retrying|queued|running|done|discarded|all), ' +
      'or retry or discard one.',
    load: async () => (await import('./jobs.ts')).jobsCommand,
  },
  {
    name: 'migrate', usage: 'migrate [--allow-unsafe]',
    summary: 'Apply pending migrations. --allow-unsafe includes those that may lose data, behind a verified backup.',
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  {
    name: 'rehearse', usage: 'rehearse <address>',
    summary: 'A step of scripts/verify-backup.sh --rehearse; run that instead.',
    load: async () => (await import('./rehearse.ts')).rehearseCommand,
  },
  {
    name: 'restore', usage: 'restore begin <backup_dir> | swap | open | finish | undo | state',
    summary: 'The steps of scripts/restore.sh; run that instead.',
    load: async () => (await import('./restore.ts')).restoreCommand,
  },
  {
    name: 'retention', usage: 'retention [--dry-run] [--json]',
    summary: 'Remove old notifications, reading history, audit records and errors now; --dry-run only counts them.',
    load: async () => (await import('./retention.ts')).retentionCommand,
  },
  {
    name: 'verify', usage: 'verify <backup_dir> [--json]',
    summary: 'Check every byte of a backup and report; changes nothing in it.',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
];
