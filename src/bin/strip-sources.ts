/**
 * node src/bin/strip-sources.ts
 * Keeps the sources without their types in node_modules/.cache, for stripped.cjs. Run by set-up after a change.
 */
import { hash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../features/hub/read-config.ts';

const FOLDER = join(PROJECT_ROOT, 'node_modules/.cache');

const kept = globSync('src/**/*.ts', { cwd: PROJECT_ROOT }).map((path) => {
  const source = readFileSync(join(PROJECT_ROOT, path), 'utf8');
  return [path, { sha256: hash('sha256', source), code: stripTypeScriptTypes(source) }];
});

mkdirSync(FOLDER, { recursive: true });
const temporary = join(FOLDER, `stripped.json.${process.pid}`);
writeFileSync(temporary, JSON.stringify(Object.fromEntries(kept)));
renameSync(temporary, join(FOLDER, 'stripped.json'));
