// Protects the multipart parser from bytes that nobody thought of: one result however they are cut, in linear time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BOUNDARY, cutRandomly, fieldHeaders, fileHeaders, LIMITS, readForm, writeForm,
} from '../../support/multipart.ts';
import { randomBelow } from '../../support/random.ts';
import { stepsOf } from '../../support/steps.ts';

const OK = fieldHeaders('ok');

/** Bytes that a parser may stumble over more often than chance would have them. */
function randomData(below: (limit: number) => number): Buffer {
  const tokens = [
    '\r', '\n', '\r\n', '--', '-', BOUNDARY, BOUNDARY.slice(0, 7), `\r\n--${BOUNDARY}`, ' ', '\0', 'a', '\xff',
  ];
  const pieces = Array.from({ length: below(30) }, () => tokens[below(tokens.length)] ?? '');
  return Buffer.from(`|${pieces.join('')}`, 'latin1');
}

test('random forms come out as they went in, however they are cut', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const below = randomBelow(seed);
    const endsBoundary = /\r\n--[^\r\n]*8f3a(--)?[ \t]*\r\n/; // what may not be in data
    const sent = Array.from({ length: below(5) }, (_, index) => ({ name: `n${index}`, data: randomData(below) }))
      .filter(({ data }) => !endsBoundary.test(`${data.toString('latin1')}\r\n`));
    const body = writeForm(sent.map(({ name, data }) => ({ headers: fieldHeaders(name), data })));
    for (const pieces of [[body], cutRandomly(body, below, 3), cutRandomly(body, below, 50)]) {
      const { parts, error } = readForm(pieces);
      assert.equal(error, null, `seed ${seed}`);
      assert.deepEqual(parts.map(({ name, data }) => ({ name, data })), sent, `seed ${seed}`);
    }
  }
});

test('damaged forms give the same parts and the same refusal however they are cut', () => {
  let refused = 0;
  for (let seed = 1; seed <= 600; seed++) {
    const below = randomBelow(seed);
    const body = writeForm([{ headers: fileHeaders('a', 'b'), data: randomData(below) }, { headers: OK, data: 'x' }]);
    const at = below(body.length);
    const damaged = Buffer.concat([body.subarray(0, at), randomData(below).subarray(1), body.subarray(at + below(4))]);
    const whole = readForm([damaged]);
    if (whole.error) refused++;
    for (const longest of [1, 7, 60]) {
      assert.deepEqual(readForm(cutRandomly(damaged, below, longest)), whole, `seed ${seed}`);
    }
  }
  assert.ok(refused > 100 && refused < 500, `${refused} of 600 refused`);
});

/** Steps for a body in pieces of 64 KiB. */
function stepsFor(body: Buffer): number {
  const limits = { ...LIMITS, headerBytes: body.length, headers: 1e6 };
  const count = Math.ceil(body.length / 65_536);
  const pieces = Array.from({ length: count }, (_, i) => body.subarray(i * 65_536, (i + 1) * 65_536));
  return stepsOf(() => readForm(pieces, BOUNDARY, limits));
}

test('four times the bytes take four times the steps, whatever they are', () => {
  const form = writeForm([{ headers: OK, data: 'x' }]);
  const [first, last] = [form.subarray(0, form.indexOf('x')), form.subarray(form.indexOf('x') + 1)];
  const between = (data: Buffer): Buffer => Buffer.concat([first, data, last]);
  const headed = (header: string): Buffer => Buffer.from(`--${BOUNDARY}\r\n${header}\r\n\r\n`);
  const amounts: Record<string, (units: number) => Buffer> = {
    'empty lines before the form': (units) => Buffer.concat([Buffer.alloc(units * 400_000, '\r\n'), form]),
    'empty lines after the form': (units) => Buffer.concat([form, Buffer.alloc(units * 400_000, '\r\n')]),
    'almost boundaries': (units) => between(Buffer.alloc(units * 400_000, `\r\n--${BOUNDARY}-`)),
    'half boundaries': (units) => between(Buffer.alloc(units * 400_000, `\r\n--${BOUNDARY.slice(0, 9)}`)),
    'spaces in a header': (units) => headed(`X:${' '.repeat(units * 10_000)}\x01`),
    'semicolons in a header': (units) => headed(`${OK}${' ;'.repeat(units * 10_000)}`),
    'a long token in a header': (units) => headed(`${OK}; ${'a'.repeat(units * 10_000)}`),
  };
  for (const [name, make] of Object.entries(amounts)) {
    const ratio = stepsFor(make(4)) / stepsFor(make(1));
    assert.ok(ratio < 6, `${name}: ${ratio.toFixed(1)} times the steps`); // 16 times if each byte looked at all others
  }
});
