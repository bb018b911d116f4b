import { parseArgs, type ParseArgsConfig } from 'node:util';
import { createLog } from '../platform/log.ts';
import { isBusy, isStorageTrouble } from '../platform/db/open-database.ts';
import { SchemaError } from '../platform/db/migrate.ts';
import { createApp, type App } from '../app/app.ts';
import { ConfigError, loadConfig, type Config } from '../features/hub/read-config.ts';
import { alertsCommand } from './alerts.ts';
import { backupCommand } from './backup.ts';
import { configCommand } from './config.ts';
import { doctorCommand } from './doctor.ts';
import { inviteCommand } from './invite.ts';
import { jobsCommand } from './jobs.ts';
import { migrateCommand } from './migrate.ts';
import { rehearseCommand } from './rehearse.ts';
import { restoreCommand } from './restore.ts';
import { retentionCommand } from './retention.ts';
import { verifyCommand } from './verify.ts';
import { openHub } from '../app/prepare-hub.ts';
import { surroundings } from '../app/process.ts';

export type Terminal = {
  env: Record<string, string | undefined>;
  out(text: string): void;
  err(text: string): void;
  isTerminal?: boolean; // whether `err` writes to one, where a line can be written over
};

/** 0 done, 1 failed, 2 wrong usage, 75 busy: try again; 128 + n stopped by signal n. */
export type ExitCode = 0 | 1 | 2 | 75 | 129 | 130 | 143;

export type Command = {
  usage: string;
  summary: string;
  options: NonNullable<ParseArgsConfig['options']>;
  run(args: string[], values: Values, context: CommandContext): ExitCode | Promise<ExitCode>;
};

export type Values = Record<string, string | boolean | undefined>;

/** `config` is read when first asked for; `openApp` opens the hub as it is, with safe migrations applied. */
export type CommandContext = Terminal & { readonly config: Config; openApp(): App };

/** Thrown for arguments that make no sense: exit 2, with the usage. */
export class UsageError extends Error {}

const COMMANDS = new Map<string, Command>([
  ['alerts', alertsCommand],
  ['backup', backupCommand],
  ['config', configCommand],
  ['doctor', doctorCommand],
  ['invite', inviteCommand],
  ['jobs', jobsCommand],
  ['migrate', migrateCommand],
  ['rehearse', rehearseCommand],
  ['restore', restoreCommand],
  ['retention', retentionCommand],
  ['verify', verifyCommand],
]);

/** Runs one command of the operator's. Results on `out`, everything else on `err`. */
export async function runHubctl(argv: string[], terminal: Terminal): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === undefined) return say(terminal.err, helpText(), 2);
  if (name === '--help' || name === '-h' || name === 'help') return say(terminal.out, helpText(), 0);
  const command = COMMANDS.get(name);
  if (!command) return say(terminal.err, `hubctl: there is no command ${name}\n\n${helpText()}`, 2);
  try {
    return await runCommand(command, rest, terminal);
  } catch (error) {
    return explain(error, command, terminal);
  }
}

async function runCommand(command: Command, argv: string[], terminal: Terminal): Promise<ExitCode> {
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
  const { values, positionals } = parse(argv, options);
  if (values['help']) return say(terminal.out, `usage: hubctl ${command.usage}\n${command.summary}\n`, 0);
  const { context, close } = createContext(terminal);
  try {
    return await command.run(positionals, values, context);
  } finally {
    close();
  }
}

function createContext(terminal: Terminal): { context: CommandContext; close(): void } {
  let loaded: Config | undefined;
  const opened: App[] = [];
  const context = {
    ...terminal,
    get config(): Config {
      return (loaded ??= loadConfig(terminal.env));
    },
    openApp(): App {
      const log = createLog('hubctl', 'warn', Date.now, terminal.err);
      const { config } = context;
      const app = createApp({ ...surroundings(config, openHub(config, Date.now), log), program: 'hubctl' });
      opened.push(app);
      return app;
    },
  };
  return { context, close: () => opened.forEach((app) => app.db.close()) };
}

function parse(argv: string[], options: NonNullable<ParseArgsConfig['options']>) {
  try {
    const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true, strict: true });
    return { values: values as Values, positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function explain(error: unknown, command: Command, { err }: Terminal): ExitCode {
  if (error instanceof UsageError) return say(err, `hubctl: ${error.message}\nusage: hubctl ${command.usage}\n`, 2);
  if (error instanceof ConfigError) return say(err, `${error.message}\n`, 2);
  if (error instanceof SchemaError) return say(err, `hubctl: ${error.message}\n`, 1);
  if (isBusy(error)) return say(err, 'hubctl: the database is busy; try again\n', 75);
  if (isStorageTrouble(error)) return say(err, `hubctl: the database cannot be used (${String(error)})\n`, 1);
  if (isSystemError(error)) return say(err, `hubctl: ${error.message}\n`, 1);
  throw error;
}

/** Such as a folder that may not be written. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}

function say(write: (text: string) => void, text: string, code: ExitCode): ExitCode {
  write(text);
  return code;
}

function helpText(): string {
  const lines = [...COMMANDS.values()].map(({ usage, summary }) => `  ${usage}\n      ${summary}\n`);
  return `usage: hubctl <command> [option…]\n\n${lines.join('')}
Exit codes: 0 done, 1 failed, 2 wrong usage, 75 busy, try again.\n`;
}
