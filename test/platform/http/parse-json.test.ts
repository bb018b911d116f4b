// Protects the main thread from JSON that is costly to parse: depth and number of values are bounded beforehand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../../src/platform/http/parse-json.ts';
import { HttpError } from '../../../src/platform/http/http-error.ts';

const parse = (text: string): unknown => parseJson(Buffer.from(text));

const refused = (text: string | Buffer, reason: RegExp): void => assert.throws(() => parseJson(Buffer.from(text)),
  (error) => error instanceof HttpError && error.status === 400 && reason.test(error.message));

test('JSON within the bounds is parsed as it is, whatever its strings hold', () => {
  const strings = ['', '"', '\\', '\\"', '\\\\"[[[', '[{,}]'.repeat(30_000), '漢字 \u2028', `${'\\'.repeat(999)}"`];
  const values = { strings, nested: JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`), many: Array(19_000).fill(0) };
  assert.deepEqual(parse(JSON.stringify(values)), values);
  assert.deepEqual(Object.entries(parse('{"__proto__":{"polluted":true}}') as object), [['__proto__', { polluted: true }]]);
});

test('a string is gone through without a search for each quotation mark in it', (t) => {
  const body = Buffer.from(JSON.stringify('"\\'.repeat(10_000)));
  const { mock } = t.mock.method(body, 'indexOf');
  assert.equal(parseJson(body), '"\\'.repeat(10_000));
  assert.ok(mock.callCount() < 10);
});

test('nesting that is too deep and too many values are refused', () => {
  refused(`{"a":${'['.repeat(65)}${']'.repeat(65)}}`, /more than 64 deep/);
  refused('['.repeat(1_000_000), /more than 64 deep/);
  refused(`[${'1,'.repeat(20_000)}1]`, /more than 20000 values/);
  refused(`"${'\\"'.repeat(10)}",${','.repeat(20_001)}`, /more than 20000 values/);
});

test('what is no JSON, or no UTF-8, is refused', () => {
  for (const text of ['', '{', '"', '"\\', '{"a":1}x', ']]', Buffer.from([0x22, 0xff, 0x22])]) refused(text, /not valid JSON/);
});
