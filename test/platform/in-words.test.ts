// Protects how people read sizes, times and numbers: in the unit that suits the number as it is shown.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteSize, duration, measuredTime, playingTime, plural, utcTime } from '../../src/platform/in-words.ts';

test('a size has the unit that suits it, also where it is rounded up to the next one', () => {
  const sizes = [0, 1, 1_023, 1_024, 1_536, 10_240, 2 ** 20 - 1, 2 ** 30 - 15_000, 2 ** 30, 5 * 2 ** 50];
  assert.deepEqual(sizes.map((bytes) => byteSize(bytes)),
    ['0 bytes', '1 byte', '1023 bytes', '1.0 KiB', '1.5 KiB', '10 KiB', '1.0 MiB', '1.0 GiB', '1.0 GiB', '5120 TiB']);
});

test('a duration is rounded down and has the largest unit that fits; a measured one has a decimal', () => {
  const times = [-5, 999, 59_999, 60_000, 3_599_999, 3_600_000, 172_799_999, 172_800_000];
  assert.deepEqual(times.map(duration), ['0 s', '0 s', '59 s', '1 min', '59 min', '1 h', '47 h', '2 days']);
  assert.deepEqual([0, 13.54, 1_000, 1_250, 90_000, 3_600_000].map(measuredTime),
    ['0 ms', '13.5 ms', '1 s', '1.3 s', '1.5 min', '1 h']);
  assert.deepEqual([5, 65, 3_723].map(playingTime), ['0:05', '1:05', '1:02:03']);
});

test('a noun follows its number, and a time says that it is in UTC', () => {
  assert.deepEqual([plural(1, 'post'), plural(1_200, 'post'), plural(2, 'try', 'tries')],
    ['1 post', '1,200 posts', '2 tries']);
  assert.equal(utcTime(Date.UTC(2026, 10, 22, 13, 5, 59)), '2026-11-22 13:05 UTC');
});
