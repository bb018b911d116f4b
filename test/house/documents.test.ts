// Protects whoever reads the documents: their tables of contents are whole, and every link in them leads somewhere.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { anchorOf, contentsIn, contentsOf, headingsOf, WITH_CONTENTS } from '../support/contents.ts';
import { readHandbook } from '../support/handbook.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';

const FOLDERS = ['scripts', 'src', 'test', 'migrations'];
const FILES = FOLDERS.flatMap((folder) => readdirSync(join(PROJECT_ROOT, folder), { recursive: true })
  .map((name) => `${folder}/${String(name)}`).filter((name) => !name.includes('node_modules')));
const DOCUMENTS = ['README.md', ...FILES.filter((name) => name.endsWith('.md'))];

function read(document: string): string {
  return readFileSync(join(PROJECT_ROOT, document), 'utf8');
}

test('a table of contents names every chapter and section once, in their order, and leads to each', () => {
  for (const document of WITH_CONTENTS) {
    const headings = headingsOf(read(document)).map(({ text }) => anchorOf(text));
    assert.equal(new Set(headings).size, headings.length, `${document}: two headings of the same name`);
    assert.equal(contentsIn(read(document)), contentsOf(read(document)), 'run: node test/support/contents.ts');
  }
});

test('every link within the project leads to a file that is there, and to a heading in it', () => {
  assert.ok(DOCUMENTS.length >= 5, DOCUMENTS.join());
  for (const document of DOCUMENTS) {
    for (const [, link = ''] of read(document).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)) {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? document : join(dirname(document), path);
      assert.ok(existsSync(join(PROJECT_ROOT, target)), `${document}: ${link}`);
      const anchors = anchor === undefined ? [] : headingsOf(read(target)).map(({ text }) => anchorOf(text));
      assert.ok(anchor === undefined || anchors.includes(anchor), `${document}: ${link}`);
    }
  }
});

/**
 * The titles of a file's tests without the numbers of their cases. A word that is put into a title at run time stands for
 * any text, if most of the title is fixed.
 */
function titlesOf(file: string): RegExp[] {
  return [...read(file).matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g)]
    .map(([, , title = '']) => title.replace(/^case [\d, ]+: /, '').replaceAll(/\\(.)/g, '$1').split(/\$\{(?:[^{}]|\{[^}]*\})*\}/))
    .filter((parts) => parts.join('').length > 20)
    .map((parts) => new RegExp(`^${parts.map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')).join('.+')}$`));
}

test('every promise in test/README.md names tests that are there, by their file and title', () => {
  const [, chapter = ''] = read('test/README.md').split('## What this hub promises');
  const promises = chapter.split(/^\d+\. /m).slice(1);
  assert.ok(promises.length >= 10, `${promises.length} promises`);
  for (const promise of promises) {
    const named = [...promise.matchAll(/^ +- \[[\w-]+\]\(([\w/-]+(?:\.slow)?)\.test\.ts\): ([^]*?)(?=\n *- |\n\n|\n?(?![^]))/gm)];
    assert.ok(named.length >= 2 && named.length === promise.match(/^ +- /gm)?.length, promise);
    for (const [, file = '', title = ''] of named) {
      const name = title.replaceAll(/\s+/g, ' ').trim();
      assert.ok(titlesOf(`test/${file}.test.ts`).some((known) => known.test(name)), `${file} has no test: ${name}`);
    }
  }
});

test('src/LEDGER.md says of every package of the lock file what it is for, and which of them run', () => {
  const { packages } = JSON.parse(read('package-lock.json'));
  const [, chapter = ''] = read('src/LEDGER.md').split('### What is installed, and why\n');
  const rows = [...(chapter.split(/^#/m)[0] ?? '').matchAll(/^\| (`[^|]*`) \| ([^|]*) \|/gm)].flatMap(([, names = '', use = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({ name, isDev: use === 'development' })));
  const told = (path: string) => rows.find(({ name }) =>
    name === path || (name.endsWith('*') && path.startsWith(name.slice(0, -1))));

  const installed = Object.keys(packages).filter(Boolean).map((path) => path.replace('node_modules/', ''));
  for (const name of installed) {
    assert.equal(told(name)?.isDev, packages[`node_modules/${name}`].dev ?? false, `${name} in src/LEDGER.md`);
  }
  assert.deepEqual(rows.filter(({ name }) => !installed.some((path) => told(path)?.name === name)), []);
});

test('every file and folder that the map of src names is there, and it names every feature', () => {
  const [map = '', ...rest] = `${read('src/README.md')}${read('src/LEDGER.md')}`.split('\n```\n');
  const named = [...rest.join('\n').matchAll(/`((?:[\w-]+\/)*[\w-]+\.(?:ts|sh)|(?:\w+\/)+[\w-]+)`/g)]
    .map(([, name = '']) => name).filter((name) => !/^(?:bin\/node|build\/Release|node_modules\/better-sqlite3)$/.test(name));
  assert.ok(named.length > 100, `${named.length} names`);
  const bare = (name: string): string => `/${name.replace(/\.ts$/, '')}`;
  assert.deepEqual(named.filter((name) => !FILES.some((file) => bare(file).endsWith(bare(name)))), []);

  const folders = [...map.matchAll(/([\w-]+)\/(?=\s|$)/g)].map(([, name = '']) => name);
  const sources = FILES.filter((name) => /^src\/.*\.ts$/.test(name)).map((name) => name.split('/').at(-2) ?? '');
  assert.deepEqual([...new Set(sources)].filter((folder) => !folders.includes(folder)), []);
});

const COMMAND = /\.\/scripts\/(?:hubctl(?: [a-z][a-z-]*){1,2}|[\w-]+\.sh)/g;

test('the commands of the other documents are among those of the handbook, all of which are run', () => {
  const known = readHandbook().usages.flatMap((usage) => usage.match(COMMAND) ?? []);
  const { scripts } = JSON.parse(read('package.json'));
  const documents = ['README.md', ...FILES.filter((name) => /^(?:migrations|src|test)\/[A-Z]+\.md$/.test(name))];
  assert.ok(documents.length >= 5, documents.join());
  for (const document of documents) {
    const text = read(document).replaceAll(/\s+/g, ' ');
    assert.deepEqual((text.match(COMMAND) ?? []).filter((command) => !known.includes(command)), [], document);
    const run = [...text.matchAll(/`npm run ([\w:]+)/g)].map(([, script = '']) => script);
    assert.deepEqual(run.filter((script) => !(script in scripts)), [], document);
  }
});
