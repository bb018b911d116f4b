// Protects the recognition of files by their content: every admitted type, and nothing else under its name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRecognition } from '../../../src/features/attachments/recognise-file.ts';
import { randomBelow as numbers } from '../../support/random.ts';
import { assertRefused, outcome, patched } from '../../support/recognition.ts';
import { animatedWebp, avif, avifMeta, box, gif, ispe, jpeg, lossyWebp, pdf, png, webp, zip } from '../../support/sample-files.ts';

const SIZE = { width: 20, height: 10 };

const join = (...parts: Buffer[]): Buffer => Buffer.concat(parts);

const SAMPLES: [name: string, content: Buffer, outcome: string][] = [
  ['a.png', png(SIZE), 'image/png png 20×10'],
  ['a.jpg', jpeg(SIZE), 'image/jpeg jpg 20×10'],
  ['a.gif', gif(SIZE, [SIZE, { width: 5, height: 5 }]), 'image/gif gif 20×10'],
  ['a.webp', webp(SIZE), 'image/webp webp 20×10'],
  ['lossy.webp', lossyWebp(), 'image/webp webp 16×8'],
  ['animated.webp', animatedWebp(SIZE), 'image/webp webp 20×10'],
  ['a.avif', avif(), 'image/avif avif 16×8'],
  ['a.pdf', pdf(), 'application/pdf pdf'],
  ['a.txt', Buffer.from('Grüße, 漢字 und 😀\r\n\t\x1b[1m\f'), 'text/plain txt'],
  ['marked.txt', Buffer.from('\ufeffGrüße'), 'text/plain txt'],
  ['little.txt', Buffer.from('\ufeffGrüße 😀', 'utf16le'), 'text/plain txt'],
  ['big.txt', Buffer.from('\ufeffGrüße 😀', 'utf16le').swap16(), 'text/plain txt'],
  ['a.md', Buffer.from('# Title\n\n- item\n'), 'text/markdown md'],
];

const sampleOf = (name: string): Buffer => SAMPLES.find(([each]) => each === name)?.[1] ?? assert.fail(name);

test('every admitted type is recognised, whole, byte by byte and cut in two anywhere', () => {
  for (const [name, content, expected] of SAMPLES) {
    assert.equal(outcome(name, content), expected);
    const bytes = Array.from(content, (byte) => Buffer.from([byte]));
    assert.equal(outcome(name, ...bytes), expected, `${name} byte by byte`);
    for (let at = 0; at <= content.length; at += 1) {
      assert.equal(outcome(name, content.subarray(0, at), content.subarray(at)), expected, `${name} cut at ${at}`);
    }
  }
});

test('an image or document that ends before its structure does is refused wherever it was cut', () => {
  for (const [name, content] of SAMPLES.filter(([each]) => !/\.(txt|md)$/.test(each))) {
    const whole = name === 'a.pdf' ? content.length - 1 : content.length; // the line end after %%EOF is no part of it
    for (let length = 0; length < whole; length += 1) {
      assert.match(outcome(name, content.subarray(0, length)), /^(damaged|type): /, `${name} cut to ${length} bytes`);
    }
  }
});

test('an AVIF is read as encoders write it: data in its idat, a last box without length, a larger map beside it', () => {
  const [size, map] = [ispe({ width: 8, height: 8 }), ispe({ width: 40, height: 40 })];
  const type = avif().subarray(0, 28);
  const within = avifMeta(0, [size], [box('idat', Buffer.alloc(9))]);
  const openEnd = patched(within, 0, '00000000');
  const late = join(type, box('mdat', Buffer.alloc(9)), patched(avifMeta(0, [size]), 0, '00000000'));
  for (const file of [join(type, within), join(type, openEnd), late]) {
    assert.equal(outcome('a.avif', file), 'image/avif avif 8×8');
    assert.equal(outcome('a.avif', file.subarray(0, 40), file.subarray(40)), 'image/avif avif 8×8');
  }
  assert.equal(outcome('a.avif', avif({ properties: [map] })), 'image/avif avif 16×8');
  assertRefused('a.avif', join(type, avifMeta(0, [size])), /no image data/);
  const [wide, second] = ['00000001' + '00000001' + '0001' + '02' + '8002' + '8001', '00000000' + '00000002' + '0002' + '01' + '04' + '0001' + '01' + '81'];
  for (const places of [wide, second]) {
    const listed = join(type, avifMeta(0, [size, map], [box('idat')], Buffer.from(places, 'hex')));
    assert.equal(outcome('a.avif', listed), 'image/avif avif 8×8', places);
  }
});

test('a text may end anywhere but within a character', () => {
  assert.equal(outcome('a.txt', Buffer.from('漢字').subarray(0, 3)), 'text/plain txt');
  for (const length of [1, 2, 4, 5]) {
    assertRefused('a.txt', Buffer.from('漢字').subarray(0, length), /^type: .*not plain text/);
  }
  assertRefused('a.txt', sampleOf('little.txt').subarray(0, -1), /^type: .*not plain text/);
  assertRefused('a.txt', sampleOf('little.txt').subarray(0, -2), /^type: .*not plain text/); // half of a surrogate pair
});

test('the extension decides together with the content, in any case, and the last one counts', () => {
  for (const name of ['PHOTO.PNG', 'a.php.png', 'a.Png ', 'x/y\\a.png.', 'a.pn\u202eg', 'a.p\0ng']) {
    assert.equal(outcome(name, sampleOf('a.png')), 'image/png png 20×10', name);
  }
  for (const name of ['a.jpeg', 'a.jpe', 'a.jfif']) assert.equal(outcome(name, sampleOf('a.jpg')), 'image/jpeg jpg 20×10');
  assert.equal(outcome('README.markdown', sampleOf('a.md')), 'text/markdown md');
});

test('names without an admitted extension are refused before the first byte', () => {
  const names = ['', 'png', '.png', 'a', 'a.', 'a.png.php', 'a.png/', 'a.png\0.php', 'a.png.exe', 'a.png .exe', 'a.svg',
    'a.html', 'a.heic', 'a.png::$DATA', 'a.png;.php', 'a.txt~', 'a.p ng', 'a..png.zip'];
  const message = /\.png, \.apng, \.jpg, .*\.txt, \.md, \.markdown\.$/;
  for (const name of names) assert.throws(() => startRecognition(name), { kind: 'type', message }, name);
});

test('content of another type than the name says is refused in its first piece, and the message names the real type', () => {
  assertRefused('a.png', sampleOf('a.jpg'), /^type: .* is a PNG image, but its content is a JPEG image\. .* ends in \.jpg\.$/);
  assertRefused('a.jpg', sampleOf('a.avif'), /^type: .* JPEG image, but its content is an AVIF image\./);
  assertRefused('a.pdf', zip(), /^type: .* PDF document, but the file’s content is something else\.$/);
  for (const [name] of SAMPLES.filter(([each]) => !/\.(txt|md)$/.test(each))) {
    for (const [other, content] of SAMPLES.filter(([each]) => each.split('.')[1] !== name.split('.')[1])) {
      const recognition = startRecognition(name);
      const first = Buffer.concat([content, Buffer.alloc(16)]).subarray(0, 16);
      assert.throws(() => recognition.push(first), { kind: 'type' }, `${other} as ${name}`);
      assert.throws(() => recognition.finish(), { kind: 'damaged' }, 'a refused file stays refused');
    }
  }
});

test('images and documents are not plain text, whatever they are called', () => {
  for (const [, content] of SAMPLES.filter(([each]) => !/\.(txt|md|pdf)$/.test(each))) {
    assertRefused('a.txt', content, /^type: /);
  }
});

test('a text that begins like something else is text all the same', () => {
  const starts = ['<!doctype html><script>', '<svg onload="x">', '%PDF-1.4', '%!PS', 'GIF89a=1;', '#!/bin/sh'];
  for (const start of starts) {
    assert.equal(outcome('a.txt', Buffer.from(start)), 'text/plain txt', start);
    assert.equal(outcome('a.md', Buffer.from(start)), 'text/markdown md', start);
  }
});

test('one byte of binary data refuses a text, however late it comes', () => {
  for (let byte = 0; byte < 0x20; byte += 1) {
    if ('\t\n\f\r\x1b'.includes(String.fromCharCode(byte))) continue;
    const text = Buffer.alloc(200_000, 'text ');
    text[199_000] = byte;
    assertRefused('a.txt', text, /^type: .*not plain text/);
  }
  for (const bytes of ['ff', 'c0af', 'eda080', 'f4908080', '80', 'fffe0000', 'feff0000', 'fffe41']) {
    assertRefused('a.txt', Buffer.from(bytes, 'hex'), /^type: .*not plain text/);
  }
});

test('an empty file is refused', () => {
  for (const [name] of SAMPLES) assert.equal(outcome(name, Buffer.alloc(0)), 'damaged: The file is empty.');
});

test('random changes of a file, and random bytes, are recognised or refused, in the same way in pieces', () => {
  const below = numbers(20_261);
  for (let round = 0; round < 12_000; round += 1) {
    const [name, content] = SAMPLES[below(SAMPLES.length)] ?? assert.fail();
    const changed = Buffer.from(content);
    for (let count = below(4); count >= 0; count -= 1) {
      changed[below(changed.length)] = [0, 0xff, 1, below(256)][below(4)] ?? 0;
    }
    const at = below(changed.length);
    const pieces = [changed.subarray(0, at), changed.subarray(at)];
    assert.equal(outcome(name, ...pieces), outcome(name, changed), changed.toString('hex'));

    const random = Buffer.from(Array.from({ length: below(300) }, () => below(256)));
    assert.match(outcome(name, Buffer.concat([content.subarray(0, 16), random])), /^(damaged|type|dimensions|text)\b/);
  }
});
