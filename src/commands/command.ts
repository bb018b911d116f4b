import type { ParseArgsConfig } from 'node:util';
import type { Hub } from '../features/hub/hub.ts';
import type { Config } from '../features/hub/read-config.ts';
import type { Migration } from '../platform/db/migration-files.ts';

/** A command's environment and output streams: results go to `out`, everything else to `err`. */
export type Terminal = {
  env: Record<string, string | undefined>;
  out(text: string | Buffer): void;
  err(text: string): void;
  isTerminal?: boolean; // whether `err` is a terminal, where a line of progress can be overwritten
};

/** 0 done, 1 failed, 2 wrong usage, 75 busy: try again; 128 + n stopped by signal n. */
export type ExitCode = 0 | 1 | 2 | 75 | 129 | 130 | 143;

/** What a command of hubctl does. Its usage and summary stand in the list of commands. */
export type Command = {
  options: NonNullable<ParseArgsConfig['options']>;
  operands?: number; // maximum number of arguments; absent if the command checks them itself
  run(args: string[], values: Values, context: CommandContext): ExitCode | Promise<ExitCode>;
};

export type Values = Record<string, string | boolean | undefined>;

/** A hub that cannot be changed, and the migrations that its database lacks. */
export type HubToLookAt = { hub: Hub; pending: readonly Migration[] };

/** Hubs are closed when the command ends. Opening never creates a hub, for example in a mistyped DATA_DIR. */
export type CommandContext = Terminal & {
  readonly config: Config; // read on first use
  /** Opens the hub and writes nothing at all, whether or not migrations are pending. */
  lookAtHub(): Promise<HubToLookAt>;
  /** Opens the hub to change its content; refused while migrations are pending. */
  openHub(): Promise<Hub>;
};

/** Thrown for invalid arguments: prints the usage and exits with 2. */
export class UsageError extends Error {}
