// Protects who reads the source: one exported name has one meaning, and a function takes few parameters in a row.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SOURCES } from '../support/source-tree.ts';

const EXPORT = /^export (?:async )?(?:function\*?|const|let|class|type|interface) (\w+)/gm;

/** Handlers are called through their module (`accountPages.showSettings`); types of fields are words of a document. */
const OWN_VOCABULARY = /-(pages|routes)\.ts$|^src\/platform\/http\/fields\.ts$/;

test('an exported name is declared in one file', () => {
  const declared = SOURCES.filter(({ name }) => !OWN_VOCABULARY.test(name)).flatMap(({ name: file, code }) =>
    [...code.matchAll(EXPORT)].map(([, name = '']) => ({ name, file })));
  assert.ok(declared.length > 500);
  const twice = [...Map.groupBy(declared, ({ name }) => name)]
    .map(([name, all]) => ({ name, files: [...new Set(all.map(({ file }) => file))] }))
    .filter(({ files }) => files.length > 1)
    .map(({ name, files }) => `rename one ${name}, or merge them: ${files.join(', ')}`);
  assert.deepEqual(twice, []);
});

/** `a, b: { c: string }, d = [1, 2]` has three. */
function parametersIn(list: string): number {
  let bare = list;
  for (let last = ''; last !== bare;) {
    [last, bare] = [bare, bare.replace(/\([^()]*\)|\{[^{}]*\}|\[[^[\]]*\]|<[^<>]*>/g, 'x')];
  }
  return bare.split(',').filter((part) => part.trim() !== '').length;
}

test('no function has more than five parameters', () => {
  const many = SOURCES.flatMap(({ name: file, code }) =>
    [...code.matchAll(/\bfunction\*? (\w+)(?:<[^(]*>)?\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g)]
      .map(([, name = '', list = '']) => ({ file, name, count: parametersIn(list.replaceAll('=>', '')) })))
    .filter(({ count }) => count > 5);
  assert.deepEqual(many.map(({ file, name, count }) => `${file}: ${name} takes ${count}; give it an object`), []);
});
