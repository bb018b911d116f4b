import { existsSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { FoundDatabase } from '../app/processes/open-hub.ts';
import type { Hub } from '../features/hub/hub.ts';
import { ConfigError, loadConfig, type Config } from '../features/hub/read-config.ts';
import type { Migration } from '../platform/db/migration-files.ts';
import { messageOf } from '../platform/error-code.ts';
import { writtenPath } from '../platform/files/granted-name.ts';
import {
  UsageError, type Command, type CommandContext, type ExitCode, type HubToLookAt, type Terminal, type Values,
} from './command.ts';

/** `isStep`: a step of a script, which the list of commands leaves out. */
type ListedCommand = { name: string; usage: string; summary: string; isStep?: true; load(): Promise<Command> };

/** Every command of hubctl. A command is loaded only when it is run. */
export const COMMANDS: ListedCommand[] = [
  {
    name: 'account',
    usage: 'account list [--json] | account reset-password <name> [--json] | account disable <name> | ' +
      'account enable <name> | account role <name> admin|member',
    summary: 'List accounts, print a link for a new password (works once, for an hour), or change state or role.',
    load: async () => (await import('./administer.ts')).accountCommand,
  },
  {
    name: 'alerts', usage: 'alerts test | alerts list [--state STATE] [--json]',
    summary: 'Send a test alert and print whether it arrived, or list the newest alerts ' +
      '(--state failed|pending|delivered).',
    load: async () => (await import('./administer.ts')).alertsCommand,
  },
  {
    isStep: true, name: 'await-writes', usage: 'await-writes [--seconds N] <unix_ms> web|worker…',
    summary: 'Internal step of scripts/upgrade.sh; not for operators.',
    load: async () => (await import('./upgrade.ts')).awaitWritesCommand,
  },
  {
    name: 'backup', usage: 'backup [--interim [--every HOURS]] [--json] | backup show <backup> [text] | ' +
      'backup extract <backup> post <id> | backup extract <backup> upload <sha256|filename>',
    summary: 'Make and verify a backup in BACKUP_DIR, then remove old backups (BACKUP_RETENTION_DAYS), ' +
      'or read one (by its name here, or its folder). --interim: make an interim backup in ' +
      'BACKUP_DIR/interim, then remove all but the newest 24; the hub calls them late after three times --every. ' +
      'show: print what it contains, and the posts and files whose names contain the text. ' +
      'extract: print a post as JSON, or an uploaded file.',
    load: async () => (await import('./backup.ts')).backupCommand,
  },
  {
    isStep: true, name: 'backups', usage: 'backups [interim]',
    summary: 'Internal step of scripts/restore.sh --list; not for operators.',
    load: async () => (await import('./list-backups.ts')).backupsCommand,
  },
  {
    name: 'config', usage: 'config <VARIABLE>…',
    summary: 'Print the named settings, except secrets, one per line; an empty line means not set.',
    load: async () => (await import('./settings.ts')).configCommand,
  },
  {
    name: 'doctor', usage: 'doctor [--hashes] [--json]',
    summary: 'Check the database and the uploaded files (--hashes: the content of every file too), then print ' +
      'what needs attention and what to do. Exit status 1: the hub needs attention.',
    load: async () => (await import('./status.ts')).doctorCommand,
  },
  {
    isStep: true, name: 'drill', usage: 'drill due | room <bytes> | note <destination> proven|compared|failed',
    summary: 'Internal steps of scripts/drill.sh and scripts/nightly-backup.sh; run ./scripts/drill.sh instead.',
    load: async () => (await import('./drill.ts')).drillCommand,
  },
  {
    name: 'heartbeat', usage: 'heartbeat',
    summary: 'Call HEARTBEAT_URL, as the nightly backup does if nothing has failed, and print the result.',
    load: async () => (await import('./heartbeat.ts')).heartbeatCommand,
  },
  {
    name: 'invite', usage: 'invite [--role admin|member] [--hours N]',
    summary: 'Print an invitation link for one person (a member by default, valid for 72 hours).',
    load: async () => (await import('./administer.ts')).inviteCommand,
  },
  {
    name: 'jobs', usage: 'jobs list [--state STATE] [--json] | jobs retry <id> | jobs discard <id>',
    summary: 'List jobs (by default failed jobs; --state failed|retrying|queued|running|done|discarded|all), ' +
      'retry one, or discard one.',
    load: async () => (await import('./administer.ts')).jobsCommand,
  },
  {
    name: 'migrate', usage: 'migrate [--allow-unsafe]',
    summary: 'Apply pending migrations. --allow-unsafe includes migrations that may lose data; it requires a fresh ' +
      'verified backup.',
    load: async () => (await import('./upgrade.ts')).migrateCommand,
  },
  {
    name: 'offsite', usage: 'offsite adopt [--no] [<hub>]',
    summary: 'Take over the backups of older hubs of the same origin, or of the named hub, in the restic repository: ' +
      'they are then removed as BACKUP_RESTIC_KEEP says. --no leaves them alone.',
    load: async () => (await import('./offsite-note.ts')).offsiteCommand,
  },
  {
    isStep: true, name: 'offsite-note', usage: 'offsite-note <destination> ok|failed',
    summary: 'Internal step of scripts/off-site.sh; not for operators.',
    load: async () => (await import('./offsite-note.ts')).offsiteNoteCommand,
  },
  {
    name: 'recovery-kit', usage: 'recovery-kit [--recipient RECIPIENT]',
    summary: 'Print what must be kept elsewhere to restore the hub on another machine, with keys and settings sealed ' +
      'for an age recipient.',
    load: async () => (await import('./settings.ts')).recoveryKitCommand,
  },
  {
    isStep: true, name: 'rehearse', usage: 'rehearse <address>',
    summary: 'Internal step of scripts/verify-backup.sh --rehearse; not for operators.',
    load: async () => (await import('./restore.ts')).rehearseCommand,
  },
  {
    name: 'reindex', usage: 'reindex',
    summary: 'Make all indices of the database anew from its rows, if doctor has found a damaged index. Nothing is ' +
      'lost; the hub may run, and writes nothing meanwhile.',
    load: async () => (await import('./administer.ts')).reindexCommand,
  },
  {
    isStep: true, name: 'restic', usage: 'restic hub|staged|compare|part|…',
    summary: 'Internal steps of scripts/off-site.sh and scripts/restic-backups.sh; not for operators.',
    load: async () => (await import('./restic.ts')).resticCommand,
  },
  {
    isStep: true, name: 'restore',
    usage: 'restore begin <backup_dir> [<name>] | swap | open | finish | reject | undo | state',
    summary: 'Internal steps of scripts/restore.sh; not for operators.',
    load: async () => (await import('./restore.ts')).restoreCommand,
  },
  {
    name: 'retention', usage: 'retention [--dry-run] [--json]',
    summary: 'Remove expired notifications, reading history, audit events and errors now; --dry-run only counts them.',
    load: async () => (await import('./administer.ts')).retentionCommand,
  },
  {
    name: 'status', usage: 'status [--json]',
    summary: 'Print whether the hub is well, then each check of the overview. Exit status 1: the hub needs attention.',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  {
    name: 'verify', usage: 'verify <backup_dir> [--json]',
    summary: 'Check every byte of a backup and print a report; the backup is not changed.',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
];

export async function runHubctl(argv: string[], terminal: Terminal): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === undefined) return say(terminal.err, helpText(), 2);
  if (name === '--help' || name === '-h' || name === 'help') return say(terminal.out, helpText(), 0);
  const listed = COMMANDS.find((command) => command.name === name);
  if (!listed) return say(terminal.err, `hubctl: unknown command ${name}\n\n${helpText()}`, 2);
  try {
    const command = await listed.load();
    const { values, positionals } = parse(rest, command);
    const help = `usage: hubctl ${listed.usage}\n${listed.summary}\n`;
    if (values['help']) return say(terminal.out, help, 0);
    const extra = positionals[command.operands ?? positionals.length];
    if (extra !== undefined) throw new UsageError(`unexpected argument ${extra}`);
    return await runCommand(command, positionals, values, terminal);
  } catch (error) {
    return explain(error, listed.usage, terminal);
  }
}

async function runCommand(command: Command, args: string[], values: Values, terminal: Terminal): Promise<ExitCode> {
  const opened: HubToLookAt[] = [];
  try {
    return await command.run(args, values, createContext(terminal, opened));
  } catch (error) {
    throw await explainLack(error, opened.flatMap(({ pending }) => pending));
  } finally {
    opened.forEach(({ hub }) => hub.db.close());
  }
}

function createContext(terminal: Terminal, opened: HubToLookAt[]): CommandContext {
  let config: Config | undefined;
  const context = {
    ...terminal,
    get config(): Config {
      return (config ??= loadConfig(terminal.env));
    },
    async lookAtHub(): Promise<HubToLookAt> {
      await requireHub(context.config);
      const { lookAtDatabase } = await import('../app/processes/open-hub.ts');
      return open(lookAtDatabase(context.config));
    },
    async openHub(): Promise<Hub> {
      await requireHub(context.config);
      const { openToChange } = await import('../app/processes/open-hub.ts');
      return (await open({ db: openToChange(context.config), pending: [] })).hub;
    },
  };
  return context;

  async function open({ db, pending }: FoundDatabase): Promise<HubToLookAt> {
    const { hubOf } = await import('../app/processes/open-hub.ts');
    const { createLog } = await import('../platform/log.ts');
    const log = createLog('hubctl', 'warn', Date.now, terminal.err);
    const found = { hub: hubOf('hubctl', context.config, db, log), pending };
    opened.push(found);
    return found;
  }
}

async function requireHub({ databasePath, dataDir }: Config): Promise<void> {
  const { isRestoreUnderWay } = await import('../features/backups/restore-state.ts');
  // Throws if this account of the operating system may not look into DATA_DIR.
  const isThere = (): boolean => statSync(databasePath, { throwIfNoEntry: false }) !== undefined;
  // During a restore the database may be missing. If DATA_DIR is missing, Node lets hubctl read nothing within it.
  if (existsSync(dataDir) && (isThere() || isRestoreUnderWay(dataDir))) return;
  const { SchemaError } = await import('../platform/db/migration-files.ts');
  const { hasTraces, lostDatabase } = await import('../app/processes/open-hub.ts');
  if (existsSync(dataDir) && hasTraces(dataDir)) throw new SchemaError(lostDatabase(dataDir, databasePath));
  throw new SchemaError(`no hub is in DATA_DIR yet (${writtenPath(databasePath)} is missing): ` +
    'check DATA_DIR, or run npm start');
}

async function explainLack(error: unknown, pending: readonly Migration[]): Promise<unknown> {
  if (pending.length === 0) return error;
  const { isMissingObject } = await import('../platform/db/open-database.ts');
  if (!isMissingObject(error)) return error;
  const { describePending } = await import('../platform/db/migrate.ts');
  const { SchemaError } = await import('../platform/db/migration-files.ts');
  const { which, whatToDo } = describePending(pending);
  return new SchemaError(`this command needs ${which}, which the database lacks. ${whatToDo}`, { cause: error });
}

function parse(argv: string[], { options }: Command): { values: Values; positionals: string[] } {
  const known = { ...options, help: { type: 'boolean', short: 'h' } } as const;
  try {
    const { values, positionals } = parseArgs({ args: argv, options: known, allowPositionals: true, strict: true });
    return { values: values as Values, positionals };
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

async function explain(error: unknown, usage: string, { err }: Terminal): Promise<ExitCode> {
  if (error instanceof UsageError) return say(err, `hubctl: ${error.message}\nusage: hubctl ${usage}\n`, 2);
  if (error instanceof ConfigError) return say(err, `${error.message}\n`, 2);
  const { DataInUseError, SchemaError } = await import('../platform/db/migration-files.ts');
  const { isBusy, isStorageTrouble } = await import('../platform/db/open-database.ts');
  if (error instanceof SchemaError) {
    return say(err, `hubctl: ${error.message}\n`, error instanceof DataInUseError ? 75 : 1);
  }
  if (isBusy(error)) return say(err, 'hubctl: the database is busy; try again\n', 75);
  if (isStorageTrouble(error)) return say(err, `hubctl: the database cannot be used (${String(error)})\n`, 1);
  // An error of the operating system, such as a write to a folder that is not writable.
  if (error instanceof Error && 'syscall' in error) return say(err, `hubctl: ${error.message}\n`, 1);
  throw error;
}

function say(write: (text: string) => void, text: string, code: ExitCode): ExitCode {
  write(text);
  return code;
}

function helpText(): string {
  const lines = COMMANDS.filter(({ isStep }) => !isStep).map(({ usage, summary }) => `  ${usage}\n      ${summary}\n`);
  return `usage: hubctl <command> [option…]\n\n${lines.join('')}  --version\n      Print the version of the hub.\n
Exit codes: 0 done, 1 failed, 2 wrong usage, 75 busy, try again.\n`;
}
