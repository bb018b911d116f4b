// Protects how people are told of sizes: in the unit that suits the number as it is shown.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteSize } from '../src/platform/sizes.ts';

test('a size has the unit that suits it, also where it is rounded up to the next one', () => {
  const sizes = [0, 1, 1_023, 1_024, 1_536, 10_240, 2 ** 20 - 1, 2 ** 30 - 15_000, 2 ** 30, 5 * 2 ** 50];
  assert.deepEqual(sizes.map((bytes) => byteSize(bytes)),
    ['0 bytes', '1 byte', '1023 bytes', '1.0 KiB', '1.5 KiB', '10 KiB', '1.0 MiB', '1.0 GiB', '1.0 GiB', '5120 TiB']);
});
