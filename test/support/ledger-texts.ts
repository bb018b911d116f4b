import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bridgeCommand, confinedCommand } from '../../src/app/processes/confined-command.ts';
import { type TableName, TABLES } from '../../src/features/hub/tables.ts';
import { CONNECTIONS } from './connections.ts';
import { rowsIn, writeTables, type Table } from './document-tables.ts';
import { auditorsPath, loads, RIGHT_NAMES, uses } from './file-marks.ts';
import { PROJECT_ROOT } from './run-program.ts';
import { SCRIPT_PROGRAMS } from './script-programs.ts';
import { SOURCES } from './source-tree.ts';
import { STORED_DATA } from './stored-data.ts';

/**
 * node test/support/ledger-texts.ts
 * Writes the tables of src/LEDGER.md anew, out of the lists that they come from.
 */
const LEDGER = 'src/LEDGER.md';

function tableOf(columns: string, rows: string[][]): Table {
  const count = columns.split('|').length;
  const head = `| ${columns.replaceAll('|', ' | ')} |\n|${'---|'.repeat(count)}\n`;
  return { head, rows: rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('') };
}

/** Names of files as code, without the folder src. */
function filesOf(files: readonly string[]): string {
  return files.map((file) => `\`${file}\``).join(', ');
}

/** Every connection that a process or script opens. */
const CONNECTION_TABLE = tableOf('program|when|to|whose machine|what it sends|if nothing is configured|switched off by|decided in',
  Object.values(CONNECTIONS).map(({ programs, trigger, to, owner, data, off, unconfigured, files }) =>
    [programs, trigger, to, owner, data, unconfigured, off, filesOf(files)]));

const PLACES = { projectRoot: '/project', dataDir: '/DATA_DIR', backupDir: '/BACKUP_DIR', secretFiles: ['/files of secrets'] };
const NODE = { execPath: '/node', cwd: '/', hasNetFlag: true, hasRootLink: true, hasSqliteFlag: true };

/** Flags of the newest Node, which denies most. Settings that decide nothing here are left out. */
function flagsOf(program: string, args: string[]): string[] {
  const config = PLACES as unknown as Parameters<typeof confinedCommand>[0];
  return program === 'clamd-bridge' ? bridgeCommand('/project', args, NODE).args : confinedCommand(config, program, args, NODE).args;
}

function programRow(words: string): string[] {
  const [program = '', ...args] = words.split(' ');
  const flags = flagsOf(program, args);
  const paths = (flag: string): string => [...new Set(flags.filter((one) => one.startsWith(`--allow-fs-${flag}=`))
    .map((one) => one.slice(one.indexOf('=') + 1).replace(/^\/project\/|^\/(?!proc)|\/\*$/g, '')))].sort().map((path) => `\`${path}\``).join(', ');
  const has = (flag: string): string => (flags.includes(flag) ? 'yes' : 'no');
  const sql = loads(`src/bin/${program}.ts`, 'src/platform/db/open-database.ts') ? 'yes' : 'no';
  const memory = flags.find((one) => one.startsWith('--max-old-space-size='))?.split('=')[1];
  return [`\`${words}\``, paths('read'), paths('write') || 'nothing', has('--allow-net'), has('--allow-child-process'),
    has('--allow-addons'), sql, memory === undefined ? 'V8’s own limit' : `${memory} MiB`];
}

/** The confined programs, with a command of hubctl for each set of rights. */
const PROGRAM_TABLE = tableOf('program|reads|writes|network|starts processes|loads native addons|SQL|JavaScript memory',
  ['web', 'worker', 'hubctl backup', 'hubctl alerts', 'clamd-bridge'].map(programRow));

/** What files of the auditor's path do. */
const MARK_TABLE = tableOf('what|the files of the path that do it', RIGHT_NAMES.map((right) => {
  const doing = auditorsPath().filter((path) => SOURCES.some((file) => file.name === path && uses(file, right)));
  return [right, filesOf(doing.map((path) => path.slice('src/'.length)))];
}));

/** Every file that runs SQL but the stores, by folder. */
const SQL_TABLE = tableOf('folder|others that run SQL', [...Map.groupBy(
  SOURCES.filter((file) => uses(file, 'runs SQL') && !file.name.endsWith('-store.ts')).map(({ name }) => name.slice('src/'.length)),
  (name) => name.slice(0, name.lastIndexOf('/')))].map(([folder, names]) =>
  [`\`${folder}\``, names.map((name) => `\`${name.slice(folder.length + 1)}\``).join(', ')]));

const LEAVING = {
  'at once': 'at once', steps: 'by a job', cascade: 'with another row', before: '–',
  renamed: 'stays under a pseudonym, without IP address and titles', last: 'pseudonym at once, then by a job', none: 'stays',
};

function keptFor(name: TableName): string {
  const bound = TABLES[name];
  if ('bounded' in bound) return bound.bounded.replaceAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g, '`$&`');
  const most = typeof bound.most === 'number' ? bound.most.toLocaleString('en') : `\`${bound.most}\``;
  const except = 'except' in bound ? `, except ${bound.except}` : '';
  const rows = most.includes('_BYTES') ? '' : ' rows';
  return `${most}${rows} for each ${bound.of}${bound.then === 'refused' ? '' : '; the oldest goes'}${except}`;
}

const isEmpty = (name: string): boolean => keptFor(name as TableName).startsWith('empty since');
const EMPTY_TABLES = Object.keys(STORED_DATA).filter(isEmpty).map((name) => `\`${name}\``).join(', ');

/** Every table of the database. */
const DATA_TABLE = tableOf('table|holds|about|who can read it in the hub|how much at most, and how long|in the account’s export|removed with the account', [
  ...Object.entries(STORED_DATA).filter(([name]) => !isEmpty(name)).map(([name, { holds, about, readers }]) => {
    const { export: part, leaving } = TABLES[name as TableName];
    return [`\`${name}\``, holds, about, readers, keptFor(name as TableName), part === null ? 'no' : `\`${part}\``, LEAVING[leaving]];
  }),
  [EMPTY_TABLES, 'nothing', '–', '–', 'empty since 2.1.0', 'no', '–'],
]);

function textOf(path: string): string {
  return readFileSync(join(PROJECT_ROOT, path), 'utf8');
}

const LOCK = JSON.parse(textOf('package-lock.json')) as {
  packages: Record<string, { version: string; dev?: boolean; engines?: { node: string } }>;
};
const PACKAGES = Object.entries(LOCK.packages).filter(([path, { dev }]) => path !== '' && !dev)
  .map(([path, { version }]) => [`\`${path.replace('node_modules/', '')}\``, version, 'npm’s registry', 'SHA-512 in `package-lock.json`']);
const [, SQLITE = ''] = /SQLITE_VERSION +"([\d.]+)"/.exec(textOf('node_modules/better-sqlite3/deps/sqlite3/sqlite3.h')) ?? [];
const [, NODE_VERSION = ''] = textOf('scripts/node.lock').split(' ');

/** What others have made and a hub runs. */
const TRUST_TABLE = tableOf('what|version|from|checked by', [
  ...PACKAGES,
  ['SQLite', SQLITE, 'within `better-sqlite3`, as a binary and as source', 'the hash of the package'],
  ['Node, if set-up brings Node', NODE_VERSION, 'npm’s registry', 'SHA-512 in `scripts/node.lock`'],
  ['Node of the machine', LOCK.packages['']?.engines?.node.replace('>=', '') + ' or newer', 'the machine', 'the machine'],
]);

/** The programs of the machine. */
const SCRIPT_TABLE = tableOf('made by|programs|what for', Object.entries(SCRIPT_PROGRAMS).map(([maker, { programs, for: use }]) =>
  [maker, programs.map((name) => `\`${name}\``).join(', '), use]));

/** The tables of the ledger, in their order. */
export const LEDGER_TABLES: Table[] = [CONNECTION_TABLE, PROGRAM_TABLE, SQL_TABLE, DATA_TABLE, MARK_TABLE, TRUST_TABLE, SCRIPT_TABLE];

/** The rows that stand in the ledger below that head. */
export function rowsInLedger({ head }: Table): string {
  return rowsIn(LEDGER, head);
}

if (import.meta.main) writeTables(LEDGER, LEDGER_TABLES);
