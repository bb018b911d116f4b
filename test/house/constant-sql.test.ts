// Protects the promise that SQL is constant text: no value, and nothing from outside, ever becomes part of a statement.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXEC } from '../support/file-marks.ts';
import { SOURCES, type SourceFile } from '../support/source-tree.ts';

/** What else may stand in a statement. Whoever adds a line says why nothing from outside can be in it. */
const EXCEPTIONS: Record<string, string> = {
  'platform/db/open-database.ts: sql': 'the door to SQLite, through which all statements go',
  'platform/db/open-database.ts: source': 'the same, for pragmas',
  'platform/db/migrate.ts: sql': 'a file of migrations/',
  'platform/db/migrate.ts: quoted': "the name of one of the schema's tables, quoted",
  'platform/db/migrate.ts: Number(before)': 'a number',
  'platform/db/migrate.ts: Number(store)': 'a number',
  'platform/db/salvage.ts: quoted(name)': "the name of one of the schema's tables or triggers, quoted",
  'platform/db/salvage.ts: sql': 'the schema itself, made by files of migrations/',
  'platform/db/salvage.ts: table': "the name of one of the schema's tables, quoted",
  'platform/db/salvage.ts: name': "the name of one of the schema's tables",
  'platform/db/salvage.ts: order': "the names of a table's key columns, quoted",
  'features/hub/data-locks.ts: patienceMs': 'a number of the same file',
  'platform/jobs/scheduler.ts: table': 'constants of stores: StoredTime',
  'platform/jobs/scheduler.ts: column': 'constants of stores: StoredTime',
  'platform/jobs/scheduler.ts: also': 'constants of stores: StoredTime',
  'platform/jobs/scheduler.ts: where': 'constants of stores: StoredTime',
  'platform/jobs/job-records.ts: condition': 'given by constants of the same file: prepareList',
  'features/audit/audit-store.ts: where': 'joined from CONDITIONS, constants of the same file',
  'features/reading/arrival-store.ts: order': 'constants of the same file: prepareArrived',
  'features/reading/list-store.ts: onwards': 'constants of the same file: prepareLists',
  'features/reading/list-store.ts: back': 'the same',
  'features/reading/list-store.ts: order': 'the same',
  'features/reading/list-store.ts: key': 'constants of list-orders.ts: KEYS',
  'features/reading/list-store.ts: ofPost': 'the same',
  'features/reading/list-store.ts: place': 'the same',
  'features/reading/list-store.ts: orderBy': 'the same',
  'features/reading/list-search-store.ts: order': 'constants of the same file: prepareFound',
  "features/reading/list-search-store.ts: matchesIn(INDEXES, '<', '>')": 'names of tables, and constants of the same file',
  'features/reading/list-search-store.ts: matchesIn(INDEXES, onwards, back)': 'the same',
  "features/posts/find-posts-store.ts: matchesIn(indexes, '<', '>')": 'the same',
  'features/posts/index-words-store.ts: index': 'the name of a search index, a constant of a store',
  'features/posts/search-index-store.ts: index': 'the same',
  'features/posts/search-index-store.ts: table': 'the same: indexOfPosts',
  'features/posts/saved-posts-store.ts: rows': 'the same',
  'features/posts/stretches-store.ts: matches': 'the same, and constants of the same file: prepareLook',
};

type Call = { file: SourceFile; sql: string };

/** The text between the parenthesis that opens before `start` and the one that closes it, cut at top-level commas. */
function argumentsFrom(code: string, start: number): string[] {
  const found: string[] = [];
  const open: string[] = [];
  let begin = start;
  for (let at = start; at < code.length; at++) {
    const sign = code[at] ?? '';
    const inText = open.at(-1) === '`' || open.at(-1) === "'" || open.at(-1) === '"';
    if (inText && sign === '\\') at++;
    else if (inText && sign === open.at(-1)) open.pop();
    else if (open.at(-1) === '`' && sign === '$' && code[at + 1] === '{') open.push('{') && at++;
    else if (inText) continue;
    else if ("'\"`([{".includes(sign)) open.push(sign);
    else if (sign === ')' && open.length === 0) return [...found, code.slice(begin, at)];
    else if (')]}'.includes(sign)) open.pop();
    else if (sign === ',' && open.length === 0) {
      found.push(code.slice(begin, at));
      begin = at + 1;
    }
  }
  return found;
}

const CALL = /\.(prepare|exec|pragma)(?:<(?:[^()<>]|<[^<>]*>|\([^()]*\))*>)?\(/g;

const CALLS: Call[] = SOURCES.flatMap((file) => [...file.code.matchAll(CALL)].flatMap((found) => {
  const given = argumentsFrom(file.code, found.index + found[0].length).map((one) => one.trim());
  const isDatabase = found[1] !== 'exec' || new RegExp(`${EXEC}$`).test(file.code.slice(0, found.index + '.exec'.length));
  const sql = found[1] === 'prepare' && !/\bfile$/.test(file.code.slice(0, found.index)) ? given[1] : given[0];
  return isDatabase && sql !== undefined ? [{ file, sql }] : [];
}));

/** The expressions within `${…}` of a template, or the expression itself where it is no literal. */
function holes(sql: string): string[] {
  if (/^'(?:[^'\\]|\\.)*'$/.test(sql)) return [];
  return sql.startsWith('`') ? [...sql.matchAll(/\$\{([^{}]*)\}/g)].map(([, hole = '']) => hole) : [sql];
}

/** Whether what stands there was there before anybody asked for anything: of a module, or text of a store's own. */
function isConstant(hole: string, file: SourceFile): boolean {
  const [, name = '', given] = /^(\w+)(\((?:'[^']*'(?:, )?)*\))?$/.exec(hole) ?? [];
  const ofModule = new RegExp(`^(?:export )?(?:const|function) ${name}\\b`, 'm');
  const isNamedSo = given !== undefined || /^[A-Z][A-Z_\d]*$/.test(name);
  if (name !== '' && isNamedSo && [file, ...SOURCES].some(({ code }) => ofModule.test(code))) return true;
  const text = new RegExp(`^ +const ${name} = (?:\\(([^()]*)\\): string => )?(\`[^\`]*\`|'[^'\\n]*');`, 'm').exec(file.code);
  const parameters = [...(text?.[1] ?? '').matchAll(/(\w+): string/g)].map(([, parameter]) => parameter);
  return text !== null && holes(text[2] ?? '').every((inner) => parameters.includes(inner) || isConstant(inner, file));
}

test('every SQL statement is a literal, or made of constants of the source code', () => {
  const strangers = CALLS.flatMap(({ file, sql }) => holes(sql).filter((hole) => !isConstant(hole, file))
    .map((hole) => `${file.name.slice('src/'.length)}: ${hole}`));
  assert.ok(CALLS.length > 250);
  assert.deepEqual(strangers.filter((one) => !(one in EXCEPTIONS)), []);
});

test('no statement opens another database, but for the snapshot of a backup and the copy of a damaged database', () => {
  const opening = /\b(?:ATTACH|VACUUM|load_extension|writable_schema|loadExtension|unsafeMode)\b|\bATTACH DATABASE\b/;
  const found = SOURCES.flatMap(({ name, code }) => code.split('\n').filter((line) => opening.test(line))
    .map((line) => `${name}: ${line.trim()}`));
  assert.deepEqual(found, [
    "src/features/backups/snapshot-store.ts: db.prepare<[string]>('snapshot', 'VACUUM INTO ?').run(path);",
    'src/platform/db/open-database.ts: file.unsafeMode(true);', 'src/platform/db/open-database.ts: file.unsafeMode(false);',
    "src/platform/db/salvage.ts: from.prepare<[string]>('attach', 'ATTACH ? AS rescue').run(path);",
  ]);
});

test('a value within a statement is found', () => {
  const file = { name: 'src/x.ts', text: '', code: "const ID = 'id';\nconst of = (id: string): string => `x = ${id}`;" };
  for (const [sql, found] of [
    ["'SELECT 1'", []], ['`SELECT ${ID}`', []], ["`SELECT ${of('a')}`", []], ['`SELECT ${name}`', ['name']],
    ['`SELECT ${of(name)}`', ['of(name)']], ["'SELECT ' + name", ["'SELECT ' + name"]], ['sql', ['sql']],
  ] as const) assert.deepEqual(holes(sql).filter((hole) => !isConstant(hole, file)), found, sql);
});
