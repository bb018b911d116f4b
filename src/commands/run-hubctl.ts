import { parseArgs } from 'node:util';
import type { Hub } from '../features/hub/hub.ts';
import { ConfigError, loadConfig, type Config } from '../features/hub/read-config.ts';
import { COMMANDS } from './command-list.ts';
import { UsageError, type Command, type CommandContext, type ExitCode, type Terminal, type Values } from './command.ts';

/** Runs one command of the operator's. */
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
    return values['help'] ? say(terminal.out, help, 0) : await runCommand(command, positionals, values, terminal);
  } catch (error) {
    return explain(error, listed.usage, terminal);
  }
}

async function runCommand(command: Command, args: string[], values: Values, terminal: Terminal): Promise<ExitCode> {
  const { context, close } = createContext(terminal);
  try {
    return await command.run(args, values, context);
  } finally {
    close();
  }
}

function createContext(terminal: Terminal): { context: CommandContext; close(): void } {
  let config: Config | undefined;
  const opened: Hub[] = [];
  const context = {
    ...terminal,
    get config(): Config {
      return (config ??= loadConfig(terminal.env));
    },
    async openHub(): Promise<Hub> {
      const { hubOf, openHubDatabase } = await import('../app/processes/open-hub.ts');
      const { createLog } = await import('../platform/log.ts');
      const log = createLog('hubctl', 'warn', Date.now, terminal.err);
      const hub = hubOf('hubctl', context.config, openHubDatabase(context.config), log);
      opened.push(hub);
      return hub;
    },
  };
  return { context, close: () => opened.forEach(({ db }) => db.close()) };
}

function parse(argv: string[], { options }: Command): { values: Values; positionals: string[] } {
  const known = { ...options, help: { type: 'boolean', short: 'h' } } as const;
  try {
    const { values, positionals } = parseArgs({ args: argv, options: known, allowPositionals: true, strict: true });
    return { values: values as Values, positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** What the operator is told of an error that a command has thrown; any other one is a mistake of ours. */
async function explain(error: unknown, usage: string, { err }: Terminal): Promise<ExitCode> {
  if (error instanceof UsageError) return say(err, `hubctl: ${error.message}\nusage: hubctl ${usage}\n`, 2);
  if (error instanceof ConfigError) return say(err, `${error.message}\n`, 2);
  const { SchemaError } = await import('../platform/db/migration-files.ts');
  const { isBusy, isStorageTrouble } = await import('../platform/db/open-database.ts');
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
  const lines = COMMANDS.map(({ usage, summary }) => `  ${usage}\n      ${summary}\n`);
  return `usage: hubctl <command> [option…]\n\n${lines.join('')}
Exit codes: 0 done, 1 failed, 2 wrong usage, 75 busy, try again.\n`;
}
