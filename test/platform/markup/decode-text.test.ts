// Protects the text of feeds in any encoding: neither lost nor garbled, and no bytes make the decoder fail.
import assert from 'node:assert/strict';
import test from 'node:test';
import { decodeText, decodingText } from '../../../src/platform/markup/decode-text.ts';

const TEXT = '<?xml version="1.0"?><a>Grüße “世界” 🌍</a>';

function swapped(bytes: Buffer): Buffer {
  return Buffer.from(bytes).swap16();
}

function utf32(text: string, littleEndian: boolean): Buffer {
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const bytes = Buffer.alloc(codes.length * 4);
  codes.forEach((code, index) => {
    if (littleEndian) bytes.writeUInt32LE(code, index * 4);
    else bytes.writeUInt32BE(code, index * 4);
  });
  return bytes;
}

test('UTF-8, UTF-16 and UTF-32 are recognised with and without a byte order mark', () => {
  for (const mark of ['', '\ufeff']) {
    const text = mark + TEXT;
    for (const bytes of [
      Buffer.from(text, 'utf8'), Buffer.from(text, 'utf16le'), swapped(Buffer.from(text, 'utf16le')),
      utf32(text, true), utf32(text, false),
    ]) {
      assert.equal(decodeText(bytes, null), TEXT);
      assert.equal(decodeText(bytes, 'text/xml; charset=iso-8859-1'), TEXT);
    }
  }
});

test('JSON in UTF-16 without a byte order mark is recognised', () => {
  assert.equal(decodeText(Buffer.from('{"title":"é"}', 'utf16le'), null), '{"title":"é"}');
  assert.equal(decodeText(swapped(Buffer.from('{"title":"é"}', 'utf16le')), null), '{"title":"é"}');
});

test('valid UTF-8 wins over every declaration', () => {
  const bytes = Buffer.from('<?xml version="1.0" encoding="windows-1251"?><a>é</a>');
  assert.match(decodeText(bytes, 'text/xml; charset=iso-8859-1'), /<a>é<\/a>/);
  assert.match(decodeText(bytes, 'text/xml; charset=utf-16'), /<a>é<\/a>/);
});

test('bytes 0x80 to 0x9F of windows-1252 become typographic characters, also when latin1 is declared', () => {
  const bytes = Buffer.from([0x93, 0x48, 0x69, 0x94, 0x20, 0x80, 0xe9]);
  for (const charset of ['windows-1252', 'iso-8859-1', 'latin1', 'ISO_8859-1']) {
    assert.equal(decodeText(bytes, `text/xml; charset=${charset}`), '“Hi” €é');
  }
  assert.equal(decodeText(bytes, null), '“Hi” €é');
});

test('every byte of windows-1252 becomes the character that the Encoding Standard gives it', () => {
  const high = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';
  const bytes = Buffer.from(Array.from({ length: 128 }, (_, index) => index + 128));
  const expected = high + bytes.subarray(32).toString('latin1');
  assert.equal(decodeText(bytes, 'text/xml; charset=windows-1252'), expected);
});

/** Bytes in hex, made by another program. */
const IN_ENCODINGS = `
  ibm866 8fe0a8a2a5e2 Привет · iso-8859-2 ae6c75bb6f75e86bfd Žluťoučký · iso-8859-5 bfe0d8d2d5e2 Привет
  iso-8859-7 c5ebebdce4e120a4 Ελλάδα € · iso-8859-15 a475726f20bd €uro œ · koi8-r f0d2c9d7c5d4 Привет
  koi8-u f0d2c9d7a6d4 Привіт · macintosh d24869d320b7 “Hi” ∑ · windows-874 e4b7c22093a194 ไทย “ก”
  windows-1250 8e6c759d20937894 Žluť “x” · windows-1251 abcff0e8e2e5f2bb «Привет» · windows-1252 934869942080e9 “Hi” €é
  windows-1253 c5ebebdce4e12092 Ελλάδα ’ · windows-1254 93fdfefd6b94 “ışık” · windows-1255 f9ece5ed2092 שלום ’
  windows-1256 d3e1c7e32094 سلام ” · windows-1257 93c0fe756f6c617394 “Ąžuolas” · gbk d6d0cec4a1b0d7d6a1b1 中文“字”
  gb18030 d6d0cec4a2e39439fc36 中文€😀 · big5 a4a4a4e5a672 中文字 · euc-jp c6fccbdcb8eca5aba5ca 日本語カナ
  iso-2022-jp 1b2442467c4b5c386c1b2842 日本語 · shift_jis 93fa967b8ceab6c5 日本語ｶﾅ · euc-kr c7d1b1b9beee 한국어
  shift_jis 93fa93 日\ufffd · big5 a4a4a4 中\ufffd · gb18030 d6d094 中\ufffd · euc-kr c7d1c7 한\ufffd
`.trim().split(/ · |\n/).map((one) => /^\s*(\S+) (\S+) (.+)$/.exec(one)?.slice(1) ?? []);

test('each encoding that the HTTP header or an XML declaration names is used, also if the last character is cut', () => {
  assert.equal(IN_ENCODINGS.length, 28);
  for (const [encoding = '', hex = '', text] of IN_ENCODINGS) {
    const bytes = Buffer.from(hex, 'hex');
    assert.equal(decodeText(bytes, `text/xml; charset="${encoding}"`), text, encoding);
    const head = `<?xml version='1.0' encoding='${encoding.toUpperCase()}'?>`;
    assert.equal(decodeText(Buffer.concat([Buffer.from(head), bytes]), null), head + text, encoding);
  }
});

test('the HTTP charset comes before the XML declaration, unless it is unknown or us-ascii', () => {
  const bytes = Buffer.concat([Buffer.from('<?xml version="1.0" encoding="windows-1251"?>'), Buffer.from([0xcf])]);
  assert.ok(decodeText(bytes, 'text/xml; charset=iso-8859-1').endsWith('Ï'));
  assert.ok(decodeText(bytes, 'text/xml; charset=us-ascii').endsWith('П'));
  assert.ok(decodeText(bytes, 'text/xml; charset=no-such-thing').endsWith('П'));
});

test('a page is decoded as its meta element says, if neither the header nor an XML declaration names an encoding', () => {
  const letters = Buffer.from('\xcd\xee\xe2', 'latin1');
  const read = (meta: string, contentType: string | null): string =>
    decodeText(Buffer.concat([Buffer.from(`<!doctype html><html><head>${meta}<title>`), letters]), contentType).slice(-3);

  assert.equal(read('<meta charset=windows-1251>', 'text/html'), 'Нов');
  assert.equal(read(`<style>${' '.repeat(9_000)}</style><meta charset=windows-1251>`, 'text/html'), 'Нов');
  assert.equal(read('<META http-equiv="Content-Type" content="text/html; charset=windows-1251">', null), 'Нов');
  assert.equal(read('<meta charset="windows-1251">', 'text/html; charset=iso-8859-1'), 'Íîâ');
  assert.equal(read('<meta name=a>', null), 'Íîâ');
});

test('unknown labels everywhere fall back to windows-1252', () => {
  const bytes = Buffer.concat([Buffer.from('<?xml encoding="martian"?>'), Buffer.from([0x92])]);
  assert.ok(decodeText(bytes, 'text/xml; charset=x-unknown').endsWith('’'));
});

test('UTF-8 with a few bad bytes stays UTF-8, and the bad bytes become U+FFFD', () => {
  const bytes = Buffer.concat([Buffer.from('<?xml encoding="utf-8"?>Привет '), Buffer.from([0xff])]);
  assert.ok(decodeText(bytes, null).endsWith('Привет \ufffd'));
});

test('windows-1252 that claims to be UTF-8 is read as windows-1252', () => {
  const bytes = Buffer.concat([Buffer.from('<?xml version="1.0" encoding="utf-8"?>It'), Buffer.from([0x92, 0x73])]);
  assert.ok(decodeText(bytes, 'text/xml; charset=utf-8').endsWith('It’s'));
});

test('bytes that are not the UTF-8 of the HTTP header are read as the XML declaration says', () => {
  const head = '<?xml version="1.0" encoding="windows-1251"?>';
  const russian = Buffer.concat([Buffer.from(head), Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2])]);
  assert.ok(decodeText(russian, 'text/xml; charset=utf-8').endsWith('Привет'));
  const damaged = Buffer.concat([Buffer.from(`${head}Привет `), Buffer.from([0xff])]);
  assert.ok(decodeText(damaged, 'text/xml; charset=utf-8').endsWith('Привет \ufffd'));
});

test('bad and cut UTF-16 and UTF-32 never throw', () => {
  const cutUtf32 = Buffer.concat([utf32('\ufeff<a>', true), Buffer.from([0xff, 0xff, 0xff, 0xff, 0x41])]);
  assert.equal(decodeText(cutUtf32, null), '<a>\ufffd\ufffd');
  const loneSurrogate = Buffer.from([0xff, 0xfe, 0x3c, 0x00, 0x00, 0xd8, 0x3e, 0x00, 0x41]);
  assert.equal(decodeText(loneSurrogate, null), '<\ufffd>\ufffd');
});

test('every pair of first bytes, with and without company, is decoded without an error', () => {
  for (let first = 0; first < 256; first += 1) {
    for (let second = 0; second < 256; second += 5) {
      assert.equal(typeof decodeText(Buffer.from([first, second]), null), 'string');
      assert.equal(typeof decodeText(Buffer.from([first, second, 0, 0, first]), 'a/b; charset=utf-16be'), 'string');
    }
  }
  assert.equal(decodeText(Buffer.alloc(0), null), '');
});

test('control characters that stand for punctuation of windows-1252 are read as such in every encoding', () => {
  const text = '{"a":"Don\u0092t \u0093x\u0094 \u0080 \u0085 \u0081"}';
  const right = '{"a":"Don’t “x” € … \u0081"}';
  for (const encoding of ['utf8', 'utf16le'] as const) {
    assert.equal(decodeText(Buffer.from(text, encoding), null), right);
  }
  const latin2 = Buffer.from('<?xml version="1.0" encoding="iso-8859-2"?><a>Don\x92t \xb1</a>', 'latin1');
  assert.match(decodeText(latin2, null), /Don’t ą/);
});

test('a long document is decoded in steps, as if it were decoded at once', () => {
  const damaged = Buffer.concat([Buffer.from('é漢🌍'), Buffer.from('8080f0', 'hex')]);
  for (let before = 0; before < damaged.length; before += 1) { // the cut at 512 KiB meets each byte of `damaged`
    const bytes = Buffer.concat([Buffer.alloc(before, 'x'), Buffer.alloc(525_000, damaged)]);
    assert.ok(decodeText(bytes, null) === new TextDecoder().decode(bytes), String(before));
  }
  for (let before = 0; before < 9; before += 1) { // the cut at 2 MiB meets each byte of three characters
    const text = 'x'.repeat(before) + 'é漢🌍'.repeat(235_000);
    assert.ok(decodeText(Buffer.from(text), null) === text, String(before));
  }
  const patterns = {
    'gb18030': ['78', 'baba8139ee39'], 'shift_jis': ['78', '93fa967b'], 'iso-2022-jp': ['78', '1b244234413b7a1b2842'],
    'utf-16be': ['feff', '6f22d83cdf0d'],
  };
  for (const [encoding, [start = '', hex]] of Object.entries(patterns)) {
    const bytes = Buffer.concat([Buffer.from(start, 'hex'), Buffer.alloc(600_000, hex, 'hex')]);
    assert.ok(decodeText(bytes, `text/html; charset=${encoding}`) === new TextDecoder(encoding).decode(bytes), encoding);
  }
  const text = `<${'漢🌍'.repeat(70_000)}`;
  assert.ok(decodeText(utf32(`\ufeff${text}`, false), null) === text);
  const reading = decodingText(Buffer.from('漢'.repeat(4_000_000)), null);
  let steps = 1;
  while (reading.read(1)) steps += 1;
  assert.deepEqual([steps > 5, reading.end().length], [true, 4_000_000]);
});
