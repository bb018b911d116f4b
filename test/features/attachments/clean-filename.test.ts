// Protects names of files: safe to show, send and save on any system, whatever a client sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cleanFilename } from '../../../src/features/attachments/recognise-file.ts';
import { growthOf, repeated } from '../../support/growth.ts';
import { randomBelow as numbers } from '../../support/random.ts';

const assertCleaned = (cases: Record<string, string>) => {
  for (const [name, expected] of Object.entries(cases)) {
    assert.equal(cleanFilename(name, 'file'), expected, JSON.stringify(name));
  }
};

test('an ordinary name stays as it is, in any script', () => {
  const names = [
    'a.txt', 'Ärger & Söhne (2).pdf', '報告書.md', 'می\u200cخواهم.txt', '👩\u200d👧 ❤\ufe0f.png', 'a.tar.gz',
    '"100%" it\'s.txt', '-rf', '~$x', 'a:b?.txt', 'nullable.txt', 'console.md', 'com10.txt', 'a.b',
  ];
  for (const name of names) assert.equal(cleanFilename(name, 'file'), name);
});

test('only the last part of a path is kept, of either kind', () => {
  assertCleaned({
    '../../etc/passwd': 'passwd', 'C:\\Users\\x\\a.txt': 'a.txt', 'a\\../b.txt': 'b.txt', '/a/b/': 'file', '\\': 'file',
    '..': 'file', '../..': 'file', 'a/..': 'file', '\\\\host\\share\\a.png': 'a.png',
  });
});

test('what hides, turns or ends a name is taken out', () => {
  assertCleaned({
    'a\u202egnp.exe': 'agnp.exe', '\u2066a\u2069\u200e\u200f\u061c.txt': 'a.txt', 'a\0.png\r\n': 'a.png',
    'a\x7f\x85.b': 'a.b', 'a\u00ad\u200b\ufeff.md': 'a.md', 'a\ufdd0\uffff.txt': 'a.txt', 'a\u3164.txt': 'a.txt',
    '.htaccess': 'htaccess', '...a': 'a', '. .a': 'a', 'a.txt. . .': 'a.txt', '  a  .txt ': 'a .txt', 'a\t\n b': 'a b',
    'photo.png                        .exe': 'photo.png .exe', 'a\u2028b\u3000c': 'a b c',
    '\u202e.': 'file', '.\u200b.\u200b/a': 'a',
  });
});

test('a name of which nothing visible is left becomes the fallback', () => {
  for (const name of ['', ' ', '...', '\0', '\u200d', '\u200b\u3164', '\ufe0f ']) assertCleaned({ [name]: 'file' });
  assert.equal(cleanFilename('', ''), '');
});

test('names of devices are made harmless, with whatever extension', () => {
  assertCleaned({
    con: '_con', 'NUL.txt': '_NUL.txt', 'Com1.tar.gz': '_Com1.tar.gz', 'lpt³': '_lpt³', 'aux .txt': '_aux .txt',
    'CONIN$': '_CONIN$', 'x/prn': '_prn', 'co\0n.md': '_con.md',
  });
});

test('names are in composed form, without halves of characters', () => {
  assertCleaned({
    'u\u0308.txt': '\u00fc.txt', 'u\u200b\u0308.txt': '\u00fc.txt', '\u212bngstrom': '\u00c5ngstrom',
    'a\ud83d.txt': 'a\ufffd.txt',
  });
});

test('a long name is cut between characters to 255 bytes and keeps its extension', () => {
  assertCleaned({
    [`${'a'.repeat(251)}.txt`]: `${'a'.repeat(251)}.txt`,
    [`${'a'.repeat(252)}.txt`]: `${'a'.repeat(251)}.txt`,
    [`${'ü'.repeat(200)}.jpeg`]: `${'ü'.repeat(125)}.jpeg`,
    [`a${'😀'.repeat(100)}.md`]: `a${'😀'.repeat(62)}.md`,
    [`${'a'.repeat(248)} . b${'c'.repeat(20)}.md`]: `${'a'.repeat(248)} . b.md`,
    [`${'a'.repeat(249)} . bcd.md`]: `${'a'.repeat(249)}.md`,
    [`a.${'b'.repeat(400)}`]: `a.${'b'.repeat(253)}`,
    [`${'漢'.repeat(100)}`]: '漢'.repeat(85),
    [`con.${'b'.repeat(400)}`]: `_con.${'b'.repeat(250)}`,
  });
});

test('whatever comes in, the result is safe and stays the same when it is cleaned again', () => {
  const parts = [
    'a', '.', ' ', '/', '\\', '\0', '\u202e', '\u200d', 'con', 'nul', '.txt', '\ud83d', '\ude00', 'ü', 'u', '\u0308',
    '😀', '\r\n', '\u3000', '\ufeff', 'é'.repeat(100), 'x'.repeat(120), '漢'.repeat(70),
  ];
  const below = numbers(77);
  for (let round = 0; round < 20_000; round += 1) {
    const name = Array.from({ length: below(12) }, () => parts[below(parts.length)]).join('');
    const clean = cleanFilename(name, 'file');
    const context = JSON.stringify([name, clean]);
    assert.ok(Buffer.byteLength(clean) <= 255 && clean.isWellFormed() && clean === clean.normalize('NFC'), context);
    assert.doesNotMatch(clean, /[\p{Cc}/\\\u202e\u2028]|^[. ]|[. ]$|^$|^(con|nul) *(\.|$)/u, context);
    assert.equal(cleanFilename(clean, 'file'), clean, context);
  }
});

test('a long name of bad characters takes steps that grow with its length alone', () => {
  for (const part of ['.', ' ', '/', '. ', '\0', 'con ', '.a']) {
    const growth = growthOf((name) => cleanFilename(name, 'file'), (length) => `a${repeated(part, length)}b`);
    assert.ok(growth < 2, `${JSON.stringify(part)}: ${growth.toFixed(1)} times as many steps per character`);
  }
});
