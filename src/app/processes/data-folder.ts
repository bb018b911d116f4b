import { mkdirSync, statSync } from 'node:fs';
import { codeOf } from '../../platform/error-code.ts';

/**
 * For entrypoints: makes DATA_DIR if it is missing, for the hub's own eyes only; one that exists keeps its mode. The
 * folder above has to exist: a disk that is not mounted must not become a new, empty hub. A failure ends the process
 * with 1 and one line on standard error.
 */
export function makeDataFolderOrExit(dataDir: string): void {
  const problem = makeFolder(dataDir);
  if (problem === null) return;
  process.stderr.write(`DATA_DIR ${dataDir} ${problem}\n`);
  process.exit(1);
}

/** Null where the folder is there now, otherwise why it is not. */
function makeFolder(path: string): string | null {
  try {
    mkdirSync(path, { mode: 0o700 });
    return null;
  } catch (error) {
    const code = codeOf(error) ?? 'unknown error';
    if (code === 'EEXIST') return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? null : 'is not a folder';
    if (code === 'ENOENT') return 'cannot be made: the folder above it does not exist';
    return `cannot be made (${code})`;
  }
}
