import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { test } from 'node:test';

const PROJECT = resolve(import.meta.dirname, '..');

/** bin → app, commands → features → platform. */
const MAY_IMPORT: Record<string, string[]> = {
  bin: ['app', 'commands', 'features', 'platform'],
  commands: ['app', 'features', 'platform'],
  app: ['features', 'platform'],
  features: ['platform'], // and features that stand earlier in FEATURES
  platform: [],
};

/** The features from the ground up: each may import those before it, and none after it. */
const FEATURES = [
  'hub', 'audit', 'errors', 'notifications', 'alerts', 'accounts', 'sources', 'follows', 'attachments', 'posts',
  'history', 'feeds', 'webhooks', 'manage-sources', 'leaving', 'retention', 'backups', 'health', 'admin',
];

const files = readdirSync(join(PROJECT, 'src'), { recursive: true })
  .map((name) => `src/${String(name)}`)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, code: readFileSync(join(PROJECT, name), 'utf8') }));

const imports = files.flatMap(({ name, code }) =>
  [...code.matchAll(/^(?:import|export|\}).*\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm)]
    .map((found) => ({ file: name, target: found[1] ?? found[2] ?? found[3] ?? '' })));

/** src/features/feeds/x.ts → layer features, feature feeds */
function place(file: string): { layer: string; feature: string } {
  const [, layer = '', feature = ''] = file.split('/');
  return { layer, feature: layer === 'features' ? feature : '' };
}

function mayImport(file: string, target: string): boolean {
  const [from, to] = [place(file), place(target)];
  if (from.layer !== to.layer) return MAY_IMPORT[from.layer]?.includes(to.layer) ?? false;
  return FEATURES.indexOf(to.feature) <= FEATURES.indexOf(from.feature);
}

function offenders(allowed: RegExp, pattern: RegExp): string[] {
  const offending = files.filter(({ name, code }) => !allowed.test(name) && pattern.test(withoutComments(code)));
  return offending.map(({ name }) => name);
}

function withoutComments(code: string): string {
  return code.replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, '');
}

const within = imports
  .filter(({ target }) => target.startsWith('.'))
  .map(({ file, target }) => ({ file, target: posix.join(posix.dirname(file), target) }));

test('folders import only downwards, and features only those before them in the declared order', () => {
  assert.deepEqual(within.filter(({ file, target }) => !mayImport(file, target)), []);
  const folders = files.map(({ name }) => place(name)).filter(({ layer }) => layer === 'features');
  assert.deepEqual([...new Set(folders.map(({ feature }) => feature))].filter((name) => !FEATURES.includes(name)), []);
});

test('only Node and better-sqlite3 are imported, the latter in one file', () => {
  const foreign = imports.filter(({ target }) => !target.startsWith('.') && !target.startsWith('node:'));
  assert.deepEqual(foreign, [{ file: 'src/platform/db/open-database.ts', target: 'better-sqlite3' }]);
});

test('SQL statements stand in stores, jobs, metrics, migrations and the database itself', () => {
  const mayHoldSql = /-store\.ts$|^src\/platform\/(db|jobs|metrics)\/|^src\/app\/content-version\.ts$/;
  assert.deepEqual(offenders(mayHoldSql, /\b(db|reader|file)\.prepare[<(]/), []);
});

test('the environment is read in entrypoints only, the clock and chance there and where processes start', () => {
  assert.deepEqual(offenders(/^src\/bin\//, /\bprocess\.env\b/), []);
  const mayTellTime = [
    /^src\/(bin|commands|app\/processes)\//,
    /^src\/platform\/jobs\/job-queue\.ts$/,
  ];
  const allowed = new RegExp(mayTellTime.map(({ source }) => source).join('|'));
  assert.deepEqual(offenders(allowed, /\bDate\.now\b|\bMath\.random\b/), []);
});

test('no statement replaces rows of a counted table, which would skip its delete triggers', () => {
  assert.deepEqual(offenders(/^$/, /\bREPLACE INTO (posts|sources|jobs)\b(?!_)/i), []);
});

test('no file names a catch-all', () => {
  const vague = /\/(utils?|helpers?|common|types|index|manager|misc)\.ts$/;
  assert.deepEqual(files.filter(({ name }) => vague.test(name)), []);
});

test('no line of the sources is longer than 120 characters', () => {
  const long = files.filter(({ code }) => code.split('\n').some((line) => [...line].length > 120));
  assert.deepEqual(long.map(({ name }) => name), []);
});
