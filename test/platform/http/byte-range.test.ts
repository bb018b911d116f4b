// Protects the reading of Range and If-Range headers, so that a client never gets bytes of another file or place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ifRangeAllows, parseRange } from '../../../src/platform/http/headers.ts';

const assertRanges = (size: number, cases: Record<string, [number, number] | 'unsatisfiable' | undefined>) => {
  for (const [header, expected] of Object.entries(cases)) {
    const range = Array.isArray(expected) ? { start: expected[0], end: expected[1] } : expected;
    assert.deepEqual(parseRange(header, size), range, `${header} of ${size}`);
  }
};

test('a range from one byte to another, to the end, or of the last bytes is read and kept within the file', () => {
  assertRanges(1000, {
    'bytes=0-499': [0, 499], 'bytes=500-999': [500, 999], 'bytes=-500': [500, 999], 'bytes=500-': [500, 999],
    'bytes=0-0': [0, 0], 'bytes=-1': [999, 999], 'bytes=999-': [999, 999],
    'bytes=0-': [0, 999], 'bytes=0-1000': [0, 999], 'bytes=-2000': [0, 999],
    'Bytes=1-2': [1, 2], 'bytes= 1-2 ': [1, 2], 'bytes=,1-2, ,': [1, 2], 'bytes=001-0000002': [1, 2],
    [`bytes=0-${'9'.repeat(500)}`]: [0, 999], [`bytes=-${'9'.repeat(500)}`]: [0, 999],
  });
});

test('a range that begins behind the end, or of no last bytes, cannot be satisfied', () => {
  assertRanges(1000, {
    'bytes=1000-': 'unsatisfiable', 'bytes=1000-2000': 'unsatisfiable', 'bytes=-0': 'unsatisfiable',
    [`bytes=${'9'.repeat(500)}-`]: 'unsatisfiable',
  });
  assertRanges(0, { 'bytes=0-': 'unsatisfiable', 'bytes=0-0': 'unsatisfiable', 'bytes=-0': 'unsatisfiable' });
});

test('no header, another unit, several ranges and invalid ones mean the whole', () => {
  assert.equal(parseRange(undefined, 1000), undefined);
  const headers = [
    '', 'none', 'bytes', 'bytes=', 'bytes=,', 'bytes=-', 'bytes=2-1', 'bytes=0-1,5-6', 'bytes=0-1,x', 'bytes=a-b',
    'bytes=1', 'bytes=1-2-3', 'bytes=+1-2', 'bytes=1.5-2', 'bytes=0x1-2', 'bytes=--1', 'bytes 0-1',
    'bytes=0 - 1', 'bytes=0-1;', 'bytes=\u0660-\u0661', 'bytes=\n0-1\n2', 'items=0-1', 'xbytes=0-1',
  ];
  assertRanges(1000, Object.fromEntries(headers.map((header) => [header, undefined])));
});

test('the last bytes of an empty file are the whole of it', () => {
  assertRanges(0, { 'bytes=-5': undefined });
});

test('every range that is read lies within the file', () => {
  for (let size = 0; size < 5; size += 1) {
    for (const first of ['', '0', '1', '3', '4', '5']) {
      for (const last of ['', '0', '1', '3', '4', '5']) {
        const range = parseRange(`bytes=${first}-${last}`, size);
        if (typeof range !== 'object') continue;
        assert.ok(0 <= range.start && range.start <= range.end && range.end < size, `${first}-${last} of ${size}`);
      }
    }
  }
});

test('If-Range lets a range count only for exactly the same strong entity tag', () => {
  assert.equal(ifRangeAllows(undefined, '"a"'), true);
  assert.equal(ifRangeAllows('"a"', '"a"'), true);
  for (const header of ['"b"', 'W/"a"', 'a', '', '*', '"a", "b"', 'Wed, 21 Oct 2026 07:28:00 GMT']) {
    assert.equal(ifRangeAllows(header, '"a"'), false, header);
  }
  assert.equal(ifRangeAllows('W/"a"', 'W/"a"'), false);
});
