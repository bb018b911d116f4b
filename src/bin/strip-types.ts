/**
 * node src/bin/strip-types.ts
 * Strips the types of every source into .runtime/stripped, for load-stripped.js, and removes what no source needs any
 * more.
 */
import { hash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';

const SOURCES = join(import.meta.dirname, '..');
const FOLDER = join(SOURCES, '../.runtime/stripped');
const DONE = 'done'; // set-up.sh looks for sources that are newer

mkdirSync(FOLDER, { recursive: true });
const kept = new Set([DONE, ...globSync('**/*.ts', { cwd: SOURCES }).map((file) => keepStripped(join(SOURCES, file)))]);
for (const name of readdirSync(FOLDER)) if (!kept.has(name)) rmSync(join(FOLDER, name));
writeFileSync(join(FOLDER, DONE), '');

/** Returns the name of the stripped text. */
function keepStripped(file: string): string {
  const text = readFileSync(file, 'utf8');
  const name = `${hash('sha256', text)}.js`;
  const path = join(FOLDER, name);
  writeFileSync(`${path}.partial`, stripTypeScriptTypes(text));
  renameSync(`${path}.partial`, path);
  return name;
}
