// Protects the promise that whoever reads the auditor's path has read everything that decides.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditorsPath, type RightName, uses } from '../support/file-marks.ts';
import { SOURCES } from '../support/source-tree.ts';

const MAX_LINES = 15_000; // a day's reading: 13,600 lines, with a tenth to spare

const path = auditorsPath();
const outside = SOURCES.filter(({ name }) => !path.includes(name));

/** Names of the files outside the path whose code has the pattern. */
function outsiders(pattern: RegExp): string[] {
  return outside.filter(({ code }) => pattern.test(code)).map(({ name }) => name);
}

/** Names of the files outside the path that use the right. */
function usedOutside(right: RightName): string[] {
  return outside.filter((file) => uses(file, right)).map(({ name }) => name);
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

test('no file outside the path opens a socket, or writes, renames or removes a file', () => {
  assert.deepEqual(usedOutside('opens a socket'), []);
  assert.deepEqual(usedOutside('opens or changes files'), []);
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
  assert.deepEqual(usedOutside('starts a process'), []);
  assert.deepEqual(outsiders(/--allow-(?:fs|child|worker|addons|wasi|net)/), []);
  assert.deepEqual(outsiders(/\bcreateHmac\(|\btimingSafeEqual\(|\bcreateCipheriv\(|\bargon2\w*\(/), []);
});
