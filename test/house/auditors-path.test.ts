// Protects the promise that whoever reads the auditor's path has read everything that decides.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { SOURCES } from '../support/source-tree.ts';

const MAX_LINES = 14_500; // a day's reading: 13,200 lines, with a tenth to spare

/** The paths in the chapter "The auditor's path" of src/README.md: `- `platform/db/migrate.ts`: question`. */
function listed(): string[] {
  const readme = readFileSync(join(PROJECT_ROOT, 'src/README.md'), 'utf8');
  const chapter = /^## The auditor's path\n([^]*?)(?=^## |(?![^]))/m.exec(readme)?.[1] ?? '';
  return [...chapter.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = '']) => `src/${path}`);
}

const path = listed();
const outside = SOURCES.filter(({ name }) => !path.includes(name));

/** Names of the files outside the path whose code has the pattern. */
function outsiders(pattern: RegExp): string[] {
  return outside.filter(({ code }) => pattern.test(code)).map(({ name }) => name);
}

test(`every file of the path is there, named once, and together they have at most ${MAX_LINES} lines`, () => {
  assert.deepEqual(path.filter((name) => !SOURCES.some((file) => file.name === name)), []);
  assert.equal(new Set(path).size, path.length);
  const files = SOURCES.filter(({ name }) => path.includes(name))
    .map(({ name, text }) => ({ name, count: text.split('\n').length - 1 })).sort((a, b) => b.count - a.count);
  const lines = files.reduce((sum, { count }) => sum + count, 0);
  const longest = files.slice(0, 5).map(({ name, count }) => `${name} ${count}`).join(', ');
  const advice = `the path has ${lines} lines, ${lines - MAX_LINES} over ${MAX_LINES}: shorten its files, or move out ` +
    `what decides nothing. The longest are ${longest}; git diff --stat says what grew.`;
  assert.ok(lines > 5_000, `only ${lines} lines were found`);
  assert.ok(lines <= MAX_LINES, advice);
});

test('no file outside the path opens a socket', () => {
  const opened = 'request|get|connect|createServer|createConnection|createSocket';
  assert.deepEqual(outsiders(new RegExp(`\\bfetch\\(|\\b(?:http|https|net|tls|dgram)\\.(?:${opened})\\b`)), []);
  assert.deepEqual(outsiders(new RegExp(`import \\{[^}]*\\b(?:${opened})\\b[^}]*\\} from 'node:(?:https?|http2|net|tls|dgram)'`)), []);
});

test('no file outside the path writes, renames or removes a file', () => {
  const writing = 'write\\w*|append\\w*|rename\\w*|rm|rmSync|unlink\\w*|truncate\\w*|copyFile\\w*|cp|cpSync|link\\w*|' +
    'symlink\\w*|createWriteStream|open|openSync|mkdtemp\\w*|chmod\\w*|chown\\w*|utimes\\w*|fsync\\w*';
  const named = new RegExp(`import \\{[^}]*\\b(?:${writing})\\b[^}]*\\} from 'node:fs(?:/promises)?'`);
  assert.deepEqual(outsiders(named), []);
  assert.deepEqual(outsiders(/import (?:\* as )?\w+ from 'node:fs(?:\/promises)?'/), []);
});

test('no file outside the path runs SQL on credentials', () => {
  const tables = 'sessions|api_tokens|invitations|password_links|sign_in_networks';
  const columns = '\\b(?:password|token)_hash\\b|\\bprevious_secret\\b|\\bSET credentials\\b|\\bcredentials\\s+FROM feeds\\b';
  const credentials = new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE)\\s+(?:${tables})\\b|${columns}`);
  assert.deepEqual(outsiders(credentials), []);
});

test('no file outside the path puts text into HTML past the escaping template', () => {
  assert.deepEqual(outsiders(/\btrusted\(|\bnew Html\(/), []);
});

test('no file outside the path starts a process, makes a key or loosens the confinement', () => {
  assert.deepEqual(outsiders(/from 'node:child_process'|--allow-(?:fs|child|worker|addons|wasi|net)/), []);
  assert.deepEqual(outsiders(/\bcreateHmac\(|\btimingSafeEqual\(|\bcreateCipheriv\(|\bargon2\w*\(/), []);
});
