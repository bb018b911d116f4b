// Protects the size of the two scripts, and what they may not do: their words stand in the pages, and they load nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Script } from 'node:vm';
import { SCRIPT, WRITE_SCRIPT } from '../support/script-pages.ts';

for (const [name, script] of Object.entries({ 'hub.js': SCRIPT, 'write.js': WRITE_SCRIPT })) {
  test(`the script ${name} is at most 12,000 bytes, loads nothing and shows no words of its own`, () => {
    assert.ok(Buffer.byteLength(script) <= 12_000, `${Buffer.byteLength(script)} bytes`);
    assert.doesNotMatch(script, /\bimport\b|innerHTML|insertAdjacentHTML|document\.write\(|\beval\b|new Function|https?:/);
    assert.doesNotMatch(script, /\balert\(|\bconfirm\(/);
  });
}

test('the scripts of one page declare no name twice, which would keep the second script from running', () => {
  assert.doesNotThrow(() => new Script(`${SCRIPT}\n${WRITE_SCRIPT}`));
  assert.throws(() => new Script(`${SCRIPT}\nconst postOf = 1;`), SyntaxError);
});
