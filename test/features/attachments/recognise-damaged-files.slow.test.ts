// Protects readers from damaged or disguised files: what is not whole or not what it claims is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRecognition } from '../../../src/features/attachments/recognise-file.ts';
import { MAX_PIXELS } from '../../../src/features/attachments/recognise-images.ts';
import { stepsOf } from '../../support/steps.ts';
import { assertRefused, outcome, patched } from '../../support/recognition.ts';
import {
  animatedWebp, avif, avifMeta, box, gif, gifSubBlocks, ispe, jpeg, jpegFrame, jpegSegment, longBox, losslessChunk, pdf,
  png, pngChunk, pngHeader, riff, riffChunk, webp, webpCanvas, zip,
} from '../../support/sample-files.ts';

const SIZE = { width: 20, height: 10 };
const SMALL = { width: 5, height: 5 };
const HUGE = { width: 60_000, height: 60_000 };
const PHP = Buffer.from('<?php system($_GET["c"]); ?>');

const join = (...parts: Buffer[]): Buffer => Buffer.concat(parts);

test('an image that claims more pixels than anybody should draw is refused, although it holds one', () => {
  const frame = Buffer.from(jpeg({ width: 1, height: 1 }).toString('latin1')
    .replace('\x08\0\x01\0\x01\x01', '\x08\xea\x60\xea\x60\x01'), 'latin1');
  const dot = png({ width: 1, height: 1 });
  const tooMany = /^dimensions: The image has 60000 × 60000 pixels; at most 67 million are allowed\.$/;
  assertRefused('a.png', join(dot.subarray(0, 8), pngHeader(HUGE), dot.subarray(33)), tooMany);
  assertRefused('a.jpg', frame, tooMany);
  assertRefused('a.gif', gif(HUGE, [SMALL]), tooMany);
  assertRefused('a.avif', avif({ size: HUGE }), tooMany);
  assertRefused('a.avif', avif({ properties: [ispe(HUGE)] }), tooMany);
  assertRefused('a.webp', webp({ width: 16_383, height: 16_383 }), /^dimensions: /);
  assertRefused('a.webp', riff(webpCanvas(HUGE), losslessChunk(SMALL)), tooMany);
  const [still, moving] = [webpCanvas(SMALL), animatedWebp(SMALL, [{ width: 16_383, height: 16_383 }])];
  assertRefused('a.webp', riff(still, losslessChunk({ width: 16_383, height: 16_383 })), /^dimensions: /);
  assertRefused('a.webp', moving, /^dimensions: /);
});

test('the largest picture of a telephone is admitted, the limit itself, and not one pixel row more', () => {
  assert.equal(outcome('a.gif', gif({ width: 8192, height: 6144 }, [SMALL])), 'image/gif gif 8192×6144');
  assert.equal(outcome('a.gif', gif({ width: 8192, height: MAX_PIXELS / 8192 }, [SMALL])), 'image/gif gif 8192×8192');
  assertRefused('a.gif', gif({ width: 8192, height: MAX_PIXELS / 8192 + 1 }, [SMALL]), /^dimensions: /);
});

test('a picture without width or height is refused', () => {
  const dot = png({ width: 1, height: 1 });
  for (const size of [{ width: 0, height: 1 }, { width: 1, height: 0 }]) {
    assertRefused('a.png', join(dot.subarray(0, 8), pngHeader(size), dot.subarray(33)), /^damaged: .* is zero/);
    assertRefused('a.jpg', jpeg(size), /^damaged: .* is zero/);
    assertRefused('a.gif', gif(size), /^damaged: .* is zero/);
    assertRefused('a.avif', avif({ size }), /^damaged: .* is zero/);
  }
});

test('a PNG is refused when its header, data or end is missing, misplaced or wrong', () => {
  const good = png(SIZE);
  const [start, rest, end] = [good.subarray(0, 8), good.subarray(33), pngChunk('IEND')];
  assertRefused('a.png', join(start, pngChunk('tEXt'), good.subarray(8)), /the PNG header is missing/);
  assertRefused('a.png', join(start, pngChunk('IHDR', Buffer.alloc(14)), rest), /the PNG header is missing/);
  assertRefused('a.png', patched(good, 29, '00000000'), /checksum of the PNG header/);
  const coloured = join(start, pngHeader(SIZE, [8, 3, 0, 0, 1]), pngChunk('PLTE', Buffer.alloc(3)), rest);
  assert.equal(outcome('a.png', coloured), 'image/png png 20×10');
  assertRefused('a.png', png(SIZE, pngHeader(SIZE)), /a chunk has a bad type or length/);
  assertRefused('a.png', png(SIZE, pngChunk('ABCD')), /a chunk has a bad type or length/);
  assertRefused('a.png', png(SIZE, pngChunk('a\0bc')), /a chunk has a bad type or length/);
  assertRefused('a.png', png(SIZE, Buffer.from('ffffffff74455874', 'hex')), /a chunk has a bad type or length/);
  assertRefused('a.png', png(SIZE, Buffer.from('7fffffff74455874', 'hex')), /ends too early/);
  assertRefused('a.png', join(start, pngHeader(SIZE), end), /no image data/);
  assertRefused('a.png', join(good.subarray(0, -12), pngChunk('IEND', PHP)), /last chunk of the PNG is not empty/);
});

test('data behind the end of a PNG, GIF, WebP or AVIF is refused', () => {
  for (const tail of [PHP, zip(), Buffer.from([0])]) {
    assertRefused('a.png', join(png(SIZE), tail), /^damaged: The file continues/);
    assertRefused('a.gif', join(gif(SIZE), tail), /^damaged: The file continues/);
    assertRefused('a.webp', join(webp(SIZE), tail), /^damaged: The file continues/);
    assertRefused('a.webp', join(animatedWebp(SIZE), tail), /^damaged: The file continues/);
    assertRefused('a.avif', join(avif(), tail), /^damaged: /);
  }
});

test('a foreign text where a format has room for one does not change what the file is', () => {
  const html = Buffer.from('<script>alert(1)</script>');
  const gifComment = join(Buffer.from('!\xfe', 'latin1'), gifSubBlocks(PHP));
  assert.equal(outcome('a.png', png(SIZE, pngChunk('tEXt', PHP))), 'image/png png 20×10');
  assert.equal(outcome('a.jpg', jpeg(SIZE, jpegSegment(0xfe, html))), 'image/jpeg jpg 20×10');
  assert.equal(outcome('a.gif', gif(SIZE, [SIZE], gifComment)), 'image/gif gif 20×10');
  assert.equal(outcome('a.pdf', pdf(zip())), 'application/pdf pdf');
});

test('a script that begins like a GIF is refused; a GIF that could be run as a script is still a GIF', () => {
  const comment = join(Buffer.from('!\xfe', 'latin1'), gifSubBlocks(Buffer.from('*/=1;alert(1)//')));
  const both = gif({ width: Buffer.from('/*').readUInt16LE(), height: 1 }, [{ width: 5, height: 1 }], comment);
  assertRefused('a.gif', Buffer.from('GIF89a=1;/*\0\0\0*/alert(1);'), /^damaged: /);
  assertRefused('a.gif', Buffer.from('GIF89a/*\x01\0\0\0*/=1;alert(1)//;'), /^damaged: /);
  assert.equal(outcome('a.gif', both), 'image/gif gif 10799×1');
});

test('the first frame enlarges a GIF as in browsers, later frames do not; one without frames is refused', () => {
  for (const [frame, size] of [[SIZE, '20×10'], [{ width: 6, height: 5 }, '6×5'], [{ width: 1, height: 9 }, '5×9']] as const) {
    assert.equal(outcome('a.gif', gif(SMALL, [frame])), `image/gif gif ${size}`);
    assert.equal(outcome('a.gif', gif(SMALL, [SMALL, frame])), 'image/gif gif 5×5');
  }
  assert.equal(outcome('a.gif', gif({ width: 0, height: 0 }, [SMALL])), 'image/gif gif 5×5', 'a screen without a size');
  assert.equal(outcome('a.gif', patched(gif(SIZE), 20, '01000000')), 'image/gif gif 21×10', 'a frame to the right');
  assertRefused('a.gif', patched(gif(SMALL), 24, 'ffffffff'), /^dimensions: /);
  assert.equal(outcome('a.gif', gif(SMALL, [{ width: 0, height: 0 }])), 'image/gif gif 5×5', 'an empty frame');
  assertRefused('a.gif', gif(SMALL, []), /no image data/);
  assertRefused('a.gif', gif(SIZE, [SIZE], Buffer.from([0])), /stray bytes between blocks/);
});

test('a JPEG is refused when its segments break off, repeat or come in the wrong order', () => {
  const [start, end] = [Buffer.from('ffd8', 'hex'), Buffer.from('ffd9', 'hex')];
  const scan = join(jpegSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])), Buffer.from([0]));
  assertRefused('a.jpg', jpeg(SIZE, jpegFrame(0xc0, SIZE)), /two frames/);
  assertRefused('a.jpg', jpeg(SIZE, scan), /data comes before the dimensions/);
  assertRefused('a.jpg', jpeg(SIZE, Buffer.from('ffe00000', 'hex')), /length of a JPEG segment is invalid/);
  assertRefused('a.jpg', jpeg(SIZE, Buffer.from('ffe00001', 'hex')), /length of a JPEG segment is invalid/);
  assertRefused('a.jpg', jpeg(SIZE, start), /unexpected JPEG marker/);
  assertRefused('a.jpg', jpeg(SIZE, Buffer.from('ffd0', 'hex')), /unexpected JPEG marker/);
  assertRefused('a.jpg', join(start, jpegSegment(0xe0, PHP), PHP, end), /stray bytes between the JPEG segments/);
  assertRefused('a.jpg', join(start, jpegFrame(0xc0, SIZE), end), /unexpected JPEG marker/);
  assertRefused('a.jpg', join(start, jpegSegment(0xe0, PHP), end), /unexpected JPEG marker/);
  assertRefused('a.jpg', join(start, jpegSegment(0xc0, Buffer.from('08000a001403', 'hex')), end), /wrong length/);
  const frames = [jpegFrame(0xc3, SIZE), jpegFrame(0xc9, SIZE), patched(jpegFrame(0xc1, SIZE), 4, '0c'),
    jpegSegment(0xc0, Buffer.from('08000a0014' + '02' + '011100021100', 'hex'))];
  for (const frame of frames) assertRefused('a.jpg', join(start, frame, scan, end), /^type: Browsers do not show/);
  for (const marker of [0xc1, 0xc2]) {
    assert.equal(outcome('a.jpg', join(start, jpegFrame(marker, SIZE), scan, end)), 'image/jpeg jpg 20×10');
  }
});

test('the end of a JPEG is looked for in its own segments, not in a preview or behind fill and restarts', () => {
  const preview = jpegSegment(0xe1, jpeg(SMALL));
  const whole = jpeg(SIZE, preview);
  const filled = join(whole.subarray(0, -2), Buffer.from('ff00ffd0ffd7ffffffd9', 'hex'));
  assert.equal(outcome('a.jpg', whole), 'image/jpeg jpg 20×10');
  assert.equal(outcome('a.jpg', filled), 'image/jpeg jpg 20×10');
  assertRefused('a.jpg', whole.subarray(0, -2), /ends too early/);
  assert.equal(outcome('a.jpg', join(whole, jpeg(SMALL), zip())), 'image/jpeg jpg 20×10', 'cameras append pictures');
});

test('a WebP is refused when its lengths do not add up, or it begins with no picture', () => {
  const good = webp(SIZE);
  const extended = riff(webpCanvas(SIZE), losslessChunk(SIZE), riffChunk('EXIF', PHP));
  assert.equal(outcome('a.webp', extended), 'image/webp webp 20×10');
  assertRefused('a.webp', patched(good, 4, 'ff000000'), /ends too early|chunk/);
  assertRefused('a.webp', patched(good, 4, '04000000'), /does not begin with a picture/);
  assertRefused('a.webp', patched(good, 4, '0c000000'), /longer than its container/);
  assertRefused('a.webp', patched(good, 16, 'ffffffff'), /longer than its container/);
  assertRefused('a.webp', riff(riffChunk('VP8L', Buffer.alloc(0))), /too short/);
  assertRefused('a.webp', riff(riffChunk('VP8L', Buffer.from('00000000e0', 'hex'))), /no valid header/);
  assertRefused('a.webp', riff(riffChunk('VP8 ', Buffer.alloc(10))), /no valid header/);
  assertRefused('a.webp', riff(riffChunk('VP8?', PHP)), /does not begin with a picture/);
});

test('an AVIF is refused for boxes of no, too little or too much length, and without brand, size or data', () => {
  const head = avif().subarray(0, 28);
  const data = box('mdat', PHP);
  const meta = avifMeta(0, [ispe(SIZE)]);
  assert.equal(outcome('a.avif', join(head, meta, data)), 'image/avif avif 20×10');
  assert.equal(outcome('a.avif', join(head, longBox('mdat', PHP), meta)), 'image/avif avif 20×10');
  assert.equal(outcome('a.avif', join(head, meta, patched(data, 0, '00000000'))), 'image/avif avif 20×10', 'the last');
  for (const size of ['00000002', '00000007']) {
    assertRefused('a.avif', join(head, meta, patched(data, 0, size)), /length of an AVIF box is invalid/);
  }
  for (const size of ['00000000', '00000002', '00000007']) {
    assertRefused('a.avif', join(head, patched(meta, 12, size), data), /length of an AVIF box is invalid/);
  }
  for (const size of [0, 8, 15]) {
    assertRefused('a.avif', join(head, meta, longBox('mdat', PHP, size)), /length of an AVIF box is invalid/);
  }
  assertRefused('a.avif', join(head, meta, longBox('mdat', PHP, 2 ** 60)), /ends too early/);
  assertRefused('a.avif', join(head, patched(meta, 12, '7fffffff'), data), /ends too early/);
  assertRefused('a.avif', join(head, meta), /no image data/);
  assertRefused('a.avif', join(head, data), /size of the image is missing/);
  assertRefused('a.avif', join(head, meta, meta, data), /two meta boxes/);
  assertRefused('a.avif', join(head, avifMeta(0, [box('ispe')]), data), /size of the image is missing/);
  assertRefused('a.avif', join(head, avifMeta(0, []), data), /size of the image is missing/);
  assert.equal(outcome('a.avif', avif({ brands: 'mif1\0\0\0\0miafavif' })), 'image/avif avif 16×8');
  assert.equal(outcome('a.avif', avif({ brands: 'avif\0\0\0\0' })), 'image/avif avif 16×8');
  assertRefused('a.avif', avif({ brands: 'msf1\0\0\0\0avis' }), /no image data/);
  assertRefused('a.avif', avif({ brands: 'avif\0\0\0' }), /file type box is invalid/);
  assertRefused('a.avif', avif({ brands: 'mif1\0\0\0\0heicmif1' }), /^type: .*not an AVIF/);
  assertRefused('a.avif', avif({ brands: 'heic\0\0\0\0avif' }), /^type: .*something else/);
  assertRefused('a.avif', avif({ brands: 'avis\0\0\0\0avif' }), /no image data/);
  assert.equal(outcome('a.avif', avif({ brands: 'avis\0\0\0\0avif', after: [box('moov')] })), 'image/avif avif 16×8');
  assert.equal(outcome('a.avif', avif({ properties: [ispe(SIZE)] })), 'image/avif avif 16×8', 'the main picture counts');
});

test('a PDF is refused when it begins late, ends with something else or its end points nowhere', () => {
  const good = pdf();
  const text = good.toString('latin1');
  assertRefused('a.pdf', join(Buffer.from('\n'), good), /^type: /);
  assertRefused('a.pdf', Buffer.from(text.replace('%PDF-1.4', '%PDF-x.4')), /does not begin/);
  for (const tail of [zip(), PHP, Buffer.alloc(3000)]) assertRefused('a.pdf', join(good, tail), /no valid end/);
  assert.equal(outcome('a.pdf', join(good, Buffer.from('\r\n \0\0'))), 'application/pdf pdf');
  for (const offset of ['0', '999999', '-1', 'x', '', '9'.repeat(400)]) {
    assertRefused('a.pdf', Buffer.from(text.replace(/startxref\n\d+/, `startxref\n${offset}`)), /no valid end/);
  }
  assertRefused('a.pdf', Buffer.from(text.replace('startxref', 'endxref')), /no valid end/);
  assert.equal(outcome('a.pdf', pdf(Buffer.alloc(5_000_000))), 'application/pdf pdf');
});

test('files of millions of the smallest parts are walked in steps that grow with their length alone', () => {
  const many: [string, Buffer, Buffer][] = [
    ['a.png', png(SIZE).subarray(0, 33), pngChunk('teXt')],
    ['a.jpg', jpeg(SIZE).subarray(0, 2), Buffer.from('ffe00002', 'hex')],
    ['b.jpg', jpeg(SIZE).subarray(0, -2), Buffer.from('ff00', 'hex')],
    ['c.jpg', jpeg(SIZE).subarray(0, 2), Buffer.from('ff', 'hex')],
    ['a.gif', gif(SIZE, [SIZE]).subarray(0, 19), Buffer.from('2101', 'hex')],
    ['b.gif', gif(SIZE, [SIZE]).subarray(0, 30), Buffer.from('0101', 'hex')],
    ['a.webp', join(patched(riff(webpCanvas(SIZE)), 4, 'ffffff7f')), riffChunk('JUNK', Buffer.alloc(0))],
    ['a.avif', avif().subarray(0, 28), box('free')],
    ['a.pdf', pdf(), Buffer.from('startxref ')],
  ];
  for (const [name, start, part] of many) {
    const recognition = startRecognition(name);
    recognition.push(start);
    const piece = Buffer.alloc(60_000, part);
    const steps = stepsOf(() => {
      for (let count = 0; count < 100; count += 1) recognition.push(piece);
    });
    assert.throws(() => recognition.finish(), { kind: 'damaged' }, name);
    assert.ok(steps < 8 * 100 * piece.length, `${name}: ${steps} steps for 6 MB`);
  }
});
