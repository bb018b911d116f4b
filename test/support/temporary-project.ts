import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';

/** What lasts until its work is done: a test, or this process. */
export type Lifetime = { after(work: () => unknown): void };

/** For what is made once in a process and then copied. */
export const UNTIL_EXIT: Lifetime = { after: (work) => void process.once('exit', work) };

/** A folder of the test's own, with a space and a comma in its path; gone when the test is over. */
export function temporaryFolder(t: Lifetime): string {
  const parent = mkdtempSync(join(tmpdir(), 'hub-'));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, 'a hub, of sorts');
  mkdirSync(folder);
  return folder;
}

/** A copy of the named files and folders of the project, in a temporary folder. */
export function temporaryProject(t: Lifetime, parts: readonly string[]): string {
  const folder = temporaryFolder(t);
  for (const part of parts) cpSync(join(PROJECT_ROOT, part), join(folder, part), { recursive: true });
  return folder;
}

/** A copy at that path, with all modes and times. */
export function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-a', '--', from, to]);
}

/** Writes files below the folder, from their relative paths; `mode` for programs. */
export function writeFiles(folder: string, files: Record<string, string>, mode = 0o644): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text, { mode });
  }
}
