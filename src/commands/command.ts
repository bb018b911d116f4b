import { readFileSync } from 'node:fs';
import type { ParseArgsConfig } from 'node:util';
import type { Hub } from '../features/hub/hub.ts';
import type { Config } from '../features/hub/read-config.ts';
import { hasPassed, SECOND } from '../platform/clock.ts';
import type { Migration } from '../platform/db/migration-files.ts';
import { byteSize, duration } from '../platform/in-words.ts';
import { excerpt } from '../platform/markup/tidy-text.ts';

/** A command's environment and output streams: results go to `out`, everything else to `err`. */
export type Terminal = {
  env: Record<string, string | undefined>;
  out(text: string | Buffer): void;
  err(text: string): void;
  isTerminal?: boolean; // whether `err` is a terminal, where a line of progress can be overwritten
};

/** 0: done. 1: failed. 2: wrong usage. 75: busy, try again. 128 + n: stopped by signal n. */
export type ExitCode = 0 | 1 | 2 | 75 | 129 | 130 | 143;

export type Command = {
  options: NonNullable<ParseArgsConfig['options']>;
  operands?: number; // maximum number of arguments; absent: the command checks its arguments itself
  run(args: string[], values: Values, context: CommandContext): ExitCode | Promise<ExitCode>;
};

export type Values = Record<string, string | boolean | undefined>;

export type HubToLookAt = { hub: Hub; pending: readonly Migration[] };

/** Opens a hub for a command, and closes it when that ends; never creates one in a mistyped DATA_DIR. */
export type CommandContext = Terminal & {
  readonly config: Config; // a getter: reads .env and the environment when a command first needs a setting
  lookAtHub(): Promise<HubToLookAt>;
  /** Opens the hub's database to change its content. Throws SchemaError while migrations are pending. */
  openHub(): Promise<Hub>;
};

export class UsageError extends Error {}

const LONGEST_PROBLEM = 500; // characters

/** The problem that a script passes on standard input, because other accounts of the machine can read command lines. */
export function readProblem(): string {
  return excerpt(readFileSync(0, 'utf8').trim(), LONGEST_PROBLEM);
}

/** Milliseconds between two drawings of the progress bar on a terminal, and between two lines of progress elsewhere. */
const DRAWN_MS = 200;
const TOLD_MS = 15 * SECOND;

const WIDTH = 20;
const CLEAR = '\r\x1b[K';

/** Reports a long command's progress. `end` clears the line; call `end` before other output. */
type Progress = { onStep(what: string): void; onProgress(done: number, total: number): void; end(): void };

/** Progress without a terminal: `steps` writes a line per step, `all` also lines during a step, `nothing` no line. */
type Elsewhere = 'all' | 'steps' | 'nothing';

/** Shows a command's progress on standard error, on a terminal as a bar. */
export function showProgress(
  { err, isTerminal = false }: Terminal, name: string, elsewhere: Elsewhere, clock: () => number = Date.now,
): Progress {
  let [step, since, told] = ['', clock(), clock()];
  const pace = isTerminal ? DRAWN_MS : TOLD_MS;
  return {
    onStep(what) {
      [step, since, told] = [what, clock(), clock() - (isTerminal ? pace : 0)];
      if (isTerminal) err(`${CLEAR}${name}: ${what} …`);
      else if (elsewhere !== 'nothing') err(`${name}: ${what}\n`);
    },
    onProgress(done, total) {
      const now = clock();
      if (!hasPassed(told, pace, now) || total === 0 || (!isTerminal && elsewhere !== 'all')) return;
      told = now;
      const share = Math.min(1, done / total);
      const far = `${Math.floor(share * 100)} %, ${byteSize(done, 1)} of ${byteSize(total, 1)}`;
      const left = timeLeft(now - since, share);
      err(isTerminal ? `${CLEAR}${name}: ${step} ${bar(share)} ${far}${left}` : `${name}: ${step}: ${far}${left}\n`);
    },
    end: () => isTerminal ? err(CLEAR) : undefined,
  };
}

function bar(share: number): string {
  const full = Math.floor(share * WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}]`;
}

function timeLeft(took: number, share: number): string {
  if (took < 3 * SECOND || share < 0.02) return '';
  return `, ${duration((took / share) * (1 - share))} left`;
}
