// Protects answers that are packed while they are sent: whole for whoever unpacks them, and silent about secrets in them.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { gzipped } from '../../../src/platform/http/gzip-stream.ts';
import { randomBelow } from '../../support/random.ts';

const KEY = /(?<=key=)\w{22}/g;

async function pack(chunks: string[], secret: RegExp | null): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of gzipped((async function* () { yield* chunks; })(), secret)) parts.push(part);
  return Buffer.concat(parts);
}

test('whatever the chunks, with or without secrets in them, gunzip gives the text back', async () => {
  const below = randomBelow(1);
  const words = ['owl ', '漢字', '\n', '"', 'key=abcdefghijklmnopqrstuv', 'key=', randomBytes(3_000).toString('base64'), ''];
  for (let n = 0; n < 40; n++) {
    const chunks = Array.from({ length: below(6) }, () =>
      Array.from({ length: below(40) }, () => (below(30) === 0 ? words[6] : words[below(6)]) ?? '').join(''));
    for (const secret of [KEY, null]) assert.equal(gunzipSync(await pack(chunks, secret)).toString(), chunks.join(''), `case ${n}`);
  }
});

test('a repeated text shrinks across chunks', async () => {
  const chunks = Array.from({ length: 50 }, () => randomText);
  assert.ok((await pack(chunks, null)).length < randomText.length * 2);
});

const randomText = randomBytes(6_000).toString('base64');

test('the length does not tell whether a text before or after a secret repeats it', async () => {
  const [secret, wrong] = ['Zk3vQ9xT7bLw2RmN8cYd5H', 'H5dYc8NmR2wLb7Tx9Qv3kZ']; // the same letters, the other way round
  const answers = (guess: string): string[][] => [
    [`{"title":"key ${guess}"},{"href":"https://a.test/b?key=${secret}"}`],
    [`{"href":"https://a.test/b?key=${secret}"},{"title":"key ${guess}"}`],
    [`{"href":"https://a.test/b?key=${secret}"}`, `{"title":"${guess}"}`, `{"href":"https://a.test/b?key=${secret}"}`],
  ];
  for (const [n, right] of answers(secret).entries()) {
    const other = answers(wrong)[n] ?? [];
    assert.equal((await pack(right, KEY)).length, (await pack(other, KEY)).length, `answer ${n}`);
    assert.notEqual((await pack(right, null)).length, (await pack(other, null)).length, `answer ${n}, packed without care`);
  }
});

test('while too many are packed at once, the others go out as they are', async () => {
  const packed = await Promise.all(Array.from({ length: 34 }, () => pack(['owl '.repeat(30_000)], null)));
  assert.deepEqual(packed.map(({ length }) => length < 120_000), packed.map((_, n) => n < 32));
  assert.ok(packed.every((bytes) => gunzipSync(bytes).length === 120_000));
});
