// Usage: node test/house/figures.ts [sentences [SEED]]
// Prints the size of the code. With "sentences" it draws 60 sentences at random instead: 20 from comments, 20 from
// messages and page texts, 20 from documents. The same SEED draws the same sentences.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { auditorsPath } from '../support/file-marks.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { seeded } from '../support/random.ts';
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

/** A comment's sentences, without its marks. */
function commentsIn(text: string): string[] {
  const found = [...text.matchAll(/(?<!\w)\/\*\*?([^]*?)\*\/|((?:^[ \t]*\/\/.*\n)+)|[;{,)] \/\/ (.*)/gm)];
  return found.flatMap(([, block, lines, end]) => sentencesIn((block ?? lines ?? end ?? '').replace(/^\s*(?:\*|\/\/) ?/gm, '')));
}

/** Texts in quotes with at least four words, without SQL and markup. */
function wordsIn({ code }: SourceFile): string[] {
  const literals = [...code.matchAll(/'((?:[^'\\\n]|\\.)+)'|`((?:[^`\\]|\\.)+)`|>([^<>`]+)</g)].map(([, one, two, text]) => one ?? two ?? text ?? '');
  const plain = literals.map((text) => text.replace(/\$\{[^}]*\}/g, '…').replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim());
  return plain.filter((text) => /^[A-Z…a-z][^]*(?: [a-z]{2,}){3}/.test(text) && !/\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|FROM|AND|SET)\b|[{}=;]/.test(text));
}

/** Paragraphs and list items of a document, without code, tables and headings. */
function proseIn(text: string): string[] {
  const prose = text.replace(/^```[^]*?^```$/gm, '').replace(/^(?:\||#|<).*$/gm, '');
  return prose.split(/\n\s*\n|\n\s*(?:-|\d+\.) /).flatMap(sentencesIn);
}

function sentencesIn(text: string): string[] {
  const whole = text.replace(/\s+/g, ' ').trim();
  return whole.split(/(?<=[.!?:])\s+(?=[A-Z`*])/).filter((sentence) => sentence.split(' ').length >= 4);
}

function printSentences(seed: number): void {
  const random = seeded(seed);
  const documents = new Map([...texts('.', /^(?:README|CHANGELOG)\.md$/), ...texts('src', /\.md$/), ...texts('scripts', /\.md$/),
    ...texts('migrations', /\.md$/), ...texts('test', /\.md$/)]);
  const kinds = {
    comments: SOURCES.flatMap(({ name, text }) => commentsIn(text).map((sentence) => ({ name, sentence }))),
    texts: SOURCES.flatMap((file) => wordsIn(file).map((sentence) => ({ name: file.name, sentence }))),
    documents: [...documents].flatMap(([name, text]) => proseIn(text).map((sentence) => ({ name, sentence }))),
  };
  console.log(`seed ${seed}`);
  for (const [kind, found] of Object.entries(kinds)) {
    console.log(`\n${kind} (20 of ${found.length})`);
    for (let drawn = 0; drawn < 20; drawn++) {
      const [{ name, sentence } = { name: '', sentence: '' }] = found.splice(Math.floor(random() * found.length), 1);
      console.log(`${String(drawn + 1).padStart(2)}  ${sentence}  [${basename(name)}]`);
    }
  }
}

const [what, seed] = process.argv.slice(2);
if (what === 'sentences') printSentences(Number(seed ?? Math.floor(Math.random() * 1_000_000)));
else if (what === undefined) printFigures();
else {
  console.error('usage: node test/house/figures.ts [sentences [SEED]]');
  process.exitCode = 2;
}
