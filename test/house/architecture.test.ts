// Protects the house: arrows that point one way, no circles, SQL with its owner, one list of each thing.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { ARROWS, circles, folderArrows, folderOf, IMPORTS, SOURCES } from '../support/source-tree.ts';

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
  'full-text', 'reading', 'rules', 'feeds', 'webhooks', 'manage-sources', 'writing', 'reader-api', 'leaving', 'retention', 'backups', 'history', 'health',
  'admin',
];

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

/** Names of the files, but those that `allowed` fits, whose code has the pattern. */
function offenders(allowed: RegExp, pattern: RegExp): string[] {
  return SOURCES.filter(({ name, code }) => !allowed.test(name) && pattern.test(code)).map(({ name }) => name);
}

test('folders import only downwards, and features only those before them in the declared order', () => {
  assert.deepEqual(ARROWS.filter(({ file, target }) => !mayImport(file, target)), []);
  const folders = SOURCES.map(({ name }) => place(name)).filter(({ layer }) => layer === 'features');
  assert.deepEqual([...new Set(folders.map(({ feature }) => feature))].filter((name) => !FEATURES.includes(name)), []);
});

test('no files import one another in a circle, and no folders do', () => {
  assert.deepEqual(circles(ARROWS), []);
  assert.deepEqual(circles(folderArrows()), []);
});

test('only Node and better-sqlite3 are imported, the latter in one file', () => {
  const foreign = IMPORTS.filter(({ target }) => !target.startsWith('src/') && !target.startsWith('node:'));
  assert.deepEqual(foreign, [{ file: 'src/platform/db/open-database.ts', target: 'better-sqlite3' }]);
});

/** posts → features/posts: a migration's name begins with the folder that owns its tables; platform has several. */
function tableOwners(): Map<string, string> {
  const owners = new Map<string, string>();
  for (const file of readdirSync(join(PROJECT_ROOT, 'migrations'))) {
    const name = /^\d{4}_([a-z_]+)\.sql$/.exec(file)?.[1]?.replaceAll('_', '-');
    const owner = [...FEATURES, 'platform'].find((folder) => `${name}-`.startsWith(`${folder}-`)) ?? name;
    if (owner === undefined) continue;
    const sql = readFileSync(join(PROJECT_ROOT, 'migrations', file), 'utf8');
    for (const [, table = ''] of sql.matchAll(/^CREATE (?:VIRTUAL )?TABLE (\w+)/gm)) {
      owners.set(table, owner === 'platform' ? 'platform' : `features/${owner}`);
    }
  }
  return owners;
}

test("a table's SQL stands only in the folder that owns it", () => {
  const owners = tableOwners();
  const strangers = SOURCES.flatMap(({ name, code }) =>
    [...code.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE)\s+"?([a-z_]+)\b/g)]
      .map(([, table = '']) => ({ name, table, owner: owners.get(table) }))
      .filter(({ owner }) => owner !== undefined && !folderOf(name).startsWith(owner)));
  assert.ok(owners.size > 20);
  assert.deepEqual(strangers, []);
});

test('a table that its owner names for others, for reading lists and full texts, is only read by them', () => {
  const names = SOURCES.flatMap(({ code }) => [...code.matchAll(/^export const ([A-Z_]+) = '([a-z_]+)';$/gm)])
    .filter(([, , table = '']) => tableOwners().has(table)).map(([, name = '']) => name);
  assert.deepEqual(names.toSorted(), ['FOLLOWS', 'FULL_TEXTS_WORDS', 'LINK_ROWS', 'POSTS', 'POSTS_WORDS']);
  const used = `\\$\\{(?:${names.join('|')})\\}`;
  assert.deepEqual(offenders(/^src\/features\/(?:full-text|reading)\//, new RegExp(used)), []);
  assert.deepEqual(offenders(/^$/, new RegExp(`\\b(?:INTO|UPDATE|DELETE FROM)\\s+${used}`)), []);
});

test('SQL statements stand in stores, jobs, metrics, migrations and the database itself', () => {
  const mayHoldSql = /-store\.ts$|^src\/platform\/(db|jobs|metrics)\/|\/response-cache\.ts$/;
  assert.deepEqual(offenders(mayHoldSql, /\b(db|reader|file)\.prepare[<(]/), []);
});

test('a store holds SQL alone: it reads no markup, but for cutting texts, and makes none', () => {
  const strange = /\/markup\/(?!tidy-text)|\/http\/html\.ts$/;
  const stores = ARROWS.filter(({ file }) => file.endsWith('-store.ts'));
  assert.ok(new Set(stores.map(({ file }) => file)).size > 15);
  assert.deepEqual(stores.filter(({ target }) => strange.test(target)), []);
});

test('every store is opened before a process says that it is up: only commands load files late', () => {
  assert.deepEqual(offenders(/^src\/commands\//, /\bimport\(/), []);
});

test('what supervises the hub for as long as it runs loads few files, and no database', () => {
  const loaded = new Set(['src/bin/start.ts']);
  for (const name of loaded) {
    const code = SOURCES.find((file) => file.name === name)?.code ?? '';
    const types = new Set([...code.matchAll(/^import type [^;]* from '([^']+)'/gm)].map(([, target = '']) => posix.join(posix.dirname(name), target)));
    for (const { file, target } of ARROWS) if (file === name && !types.has(target)) loaded.add(target);
  }
  assert.ok(loaded.has('src/app/processes/supervise.ts') && loaded.size <= 16, [...loaded].join(' '));
});

test('the environment is read in entrypoints only, the clock and chance there and where processes start', () => {
  assert.deepEqual(offenders(/^src\/bin\//, /\bprocess\.env\b/), []);
  const mayTellTime = [
    /^src\/(bin|commands|app\/processes)\//,
    /^src\/platform\/jobs\/worker-queue\.ts$/,
  ];
  const allowed = new RegExp(mayTellTime.map(({ source }) => source).join('|'));
  assert.deepEqual(offenders(allowed, /\bDate\.now\b|\bMath\.random\b/), []);
});

test('whether a time has passed is asked of hasPassed, but for times of senders and backups, which may lie ahead, and for how times are told', () => {
  const mayCompare = /\/(clock|times|verify-signature|receive-event|backup-folder|backup-status)\.ts$/;
  assert.deepEqual(offenders(mayCompare, /(\bnow|\bclock\(\)) - [\w.]+\)? [<>]/), []);
});

test('what features do in steps waits for turns (nextTurn), but for posts, which others wait for, and for the schedule', () => {
  const withoutQueue = /^src\/platform\/|\/(ingest-posts|make-backup|note-deliveries)\.ts$/;
  assert.deepEqual(offenders(withoutQueue, /\bsetImmediate\b/), []);
});

test('no statement replaces rows of a counted table, which would skip its delete triggers', () => {
  assert.deepEqual(offenders(/^$/, /\bREPLACE INTO (posts|sources|jobs)\b(?!_)/i), []);
});

const MAX_LINES = 300;
const MAX_WIDTH = 120;

/** Lists with a row for each thing of the hub: another row is no reason to split them. */
const LISTS = [
  'src/app/job-kinds.ts', 'src/app/routes.ts', 'src/app/schedule.ts', 'src/features/health/conditions.ts', 'src/features/health/metrics.ts',
  'src/features/hub/settings.ts', 'src/platform/markup/named-entities.ts',
];

test(`no file of the sources has more than ${MAX_LINES} lines, but for plain lists, and no line is too wide`, () => {
  const tooLong = SOURCES.map(({ name, text }) => ({ name, lines: text.split('\n').length - 1 }))
    .filter(({ name, lines }) => lines > MAX_LINES && !LISTS.includes(name))
    .map(({ name, lines }) => `${name} has ${lines} lines, ${lines - MAX_LINES} over ${MAX_LINES}: split or shorten it`);
  const tooWide = SOURCES.flatMap(({ name, text }) => text.split('\n').map((line, index) =>
    ({ place: `${name}:${index + 1}`, width: [...line].length })))
    .filter(({ width }) => width > MAX_WIDTH)
    .map(({ place, width }) => `${place} has ${width} characters, ${width - MAX_WIDTH} over ${MAX_WIDTH}: break the line`);

  assert.deepEqual([...tooLong, ...tooWide], []);
  assert.deepEqual(LISTS.filter((list) => !SOURCES.some(({ name }) => name === list)), [], 'lists that are gone');
});

test('each test file says in its first line what it protects', () => {
  const files = readdirSync(join(PROJECT_ROOT, 'test'), { recursive: true }).map((name) => join('test', String(name)))
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'));
  const says = (name: string): boolean =>
    /^\/\/ Protects \S.{20,108}\.\n/.test(readFileSync(join(PROJECT_ROOT, name), 'utf8'));
  assert.deepEqual(files.filter((name) => !says(name)), []);
});
