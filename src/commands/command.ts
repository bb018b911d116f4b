import type { ParseArgsConfig } from 'node:util';
import type { Hub } from '../features/hub/hub.ts';
import type { Config } from '../features/hub/read-config.ts';

/** Where a command reads settings from and writes to: results on `out`, everything else on `err`. */
export type Terminal = {
  env: Record<string, string | undefined>;
  out(text: string): void;
  err(text: string): void;
  isTerminal?: boolean; // whether `err` writes to one, where a line can be written over
};

/** 0 done, 1 failed, 2 wrong usage, 75 busy: try again; 128 + n stopped by signal n. */
export type ExitCode = 0 | 1 | 2 | 75 | 129 | 130 | 143;

/** What a command of hubctl does. Its usage and summary stand in the list of commands. */
export type Command = {
  options: NonNullable<ParseArgsConfig['options']>;
  operands?: number; // how many arguments it takes at most; absent where it looks itself
  run(args: string[], values: Values, context: CommandContext): ExitCode | Promise<ExitCode>;
};

export type Values = Record<string, string | boolean | undefined>;

export type CommandContext = Terminal & {
  readonly config: Config; // read when first asked for
  /** Opens the hub as it is, with safe migrations applied, and loads what that takes. Closed when the command ends. */
  openHub(): Promise<Hub>;
};

/** Thrown for arguments that make no sense: exit 2, with the usage. */
export class UsageError extends Error {}
