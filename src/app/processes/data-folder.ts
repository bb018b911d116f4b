import { mkdirSync, statSync } from 'node:fs';
import { codeOf } from '../../platform/error-code.ts';

/**
 * Makes DATA_DIR if it is missing, for the hub's own eyes only; one that exists keeps its mode. The folder above
 * has to exist: a disk that is not mounted must not become a new, empty hub. Throws a sentence for the operator.
 */
export function makeDataFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { mode: 0o700 });
  } catch (cause) {
    const code = codeOf(cause) ?? 'unknown error';
    if (code === 'EEXIST' && statSync(dataDir, { throwIfNoEntry: false })?.isDirectory()) return;
    throw new Error(`DATA_DIR ${dataDir} ${WHY[code] ?? `cannot be made (${code})`}`, { cause });
  }
}

const WHY: Record<string, string> = {
  ENOENT: 'cannot be made: the folder above it does not exist',
  EEXIST: 'is not a folder',
};

/** For entrypoints: as makeDataFolder, but a failure ends the process with 1 and one line on standard error. */
export function makeDataFolderOrExit(dataDir: string): void {
  try {
    makeDataFolder(dataDir);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
