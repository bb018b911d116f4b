// Usage: node test/house/figures.ts
// Prints the size of the code.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { auditorsPath } from '../support/file-marks.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { SOURCES, type SourceFile } from '../support/source-tree.ts';
import { isAboutSql, SQL } from '../support/sql-subjects.ts';

const MIN_LINES = 40; // a file shorter than this is probably read together with another one

/** Texts of all files below a folder whose path fits, by path. */
function texts(folder: string, wanted: RegExp): Map<string, string> {
  const names = readdirSync(join(PROJECT_ROOT, folder), { recursive: true }).map((name) => join(folder, String(name)));
  const found = names.filter((name) => wanted.test(name) && !name.includes('node_modules')).sort();
  return new Map(found.map((name) => [name, readFileSync(join(PROJECT_ROOT, name), 'utf8')]));
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}

/** Lines of each function that has a name of its own; it ends at the brace with its indentation. */
function functionLines({ text }: SourceFile): number[] {
  const found = [...text.matchAll(/^( *)(?:export )?(?:async )?function[^]*?^\1\}/gm)];
  return found.map(([whole]) => linesIn(whole) + 1);
}

/** Names of functions, types and constants that are declared at the top of more than one file, and how often. */
function repeatedNames(): string[] {
  const named = SOURCES.flatMap(({ code }) =>
    [...code.matchAll(/^(?:export )?(?:async )?(?:function\*?|type|interface|class|const) (\w+)/gm)].map(([, name = '']) => name));
  const repeated = [...Map.groupBy(named, (name) => name)].filter(([, found]) => found.length > 1);
  return repeated.sort((a, b) => b[1].length - a[1].length).map(([name, found]) => `${name} ${found.length}`);
}

function quantile(sorted: number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

function printFigures(): void {
  const path = auditorsPath();
  const source = sum(SOURCES.map(({ text }) => linesIn(text)));
  const tests = texts('test', /^test\/(?!bench\/|mutations\/).*\.ts$/);
  const testLines = sum([...tests.values()].map(linesIn));
  const shell = texts('scripts', /\.sh$|\/hubctl$/);
  const functions = SOURCES.flatMap(functionLines).sort((a, b) => a - b);
  const handbook = readFileSync(join(PROJECT_ROOT, 'scripts/README.md'), 'utf8');
  const repeated = repeatedNames();
  const withSql = [...tests].filter(([name, text]) => name.endsWith('.test.ts') && SQL.test(text));
  const about = withSql.filter(([name]) => isAboutSql(name.slice('test/'.length)));
  console.log([
    `src: ${source} lines in ${SOURCES.length} files, ${SOURCES.filter(({ text }) => linesIn(text) < MIN_LINES).length} of them under ${MIN_LINES} lines`,
    `auditor's path: ${sum(SOURCES.filter(({ name }) => path.includes(name)).map(({ text }) => linesIn(text)))} lines`,
    `functions: ${functions.length}; lines: median ${quantile(functions, 0.5)}, nine of ten up to ${quantile(functions, 0.9)}, longest ${functions.at(-1)}`,
    `shell: ${sum([...shell.values()].map(linesIn))} lines in ${shell.size} files`,
    `tests: ${testLines} lines in ${tests.size} files, ${(testLines / source).toFixed(2)} for one of src; SQL in ${withSql.length} files, the subject of ${about.length}`,
    `handbook: ${linesIn(handbook)} lines, ${handbook.split(/\s+/).length} words`,
    `names declared in several files: ${repeated.length}${repeated.length > 0 ? ` (${repeated.slice(0, 12).join(', ')} …)` : ''}`,
  ].join('\n'));
}

printFigures();
