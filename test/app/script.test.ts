// Protects the size of the one script, and what it may not do: its words stand in the pages, and it loads nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCRIPT } from '../support/script-pages.ts';

test('the script is at most 12,000 bytes, loads nothing and shows no words of its own', () => {
  assert.ok(Buffer.byteLength(SCRIPT) <= 12_000, `${Buffer.byteLength(SCRIPT)} bytes`);
  assert.doesNotMatch(SCRIPT, /\bimport\b|innerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|https?:/);
  assert.doesNotMatch(SCRIPT, /\balert\(|\bconfirm\(/);
});
