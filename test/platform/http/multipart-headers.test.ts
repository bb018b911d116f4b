// Protects the reading of a part's headers: as browsers write them, and nothing that has two meanings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BOUNDARY, fieldHeaders, readOnlyPart, refusalOf, writeForm } from '../../support/multipart.ts';

const OK = fieldHeaders('ok');

test('names are read as browsers write them', () => {
  const disposition = (parameters: string): Buffer =>
    writeForm([{ headers: [`Content-Disposition: form-data; ${parameters}`] }]);
  const cases: [string, string, string | null][] = [
    ['name="a"', 'a', null],
    ['name=a; filename=b.txt', 'a', 'b.txt'],
    ['filename="b.txt"; name="a"', 'a', 'b.txt'],
    ['name="a";filename="b.txt"', 'a', 'b.txt'],
    ['NAME="a"; FileName="b.txt"', 'a', 'b.txt'],
    ['name=""; filename=""', '', ''],
    ['name="grüße[]"; filename="漢字 \u{1f600}.txt"', 'grüße[]', '漢字 \u{1f600}.txt'],
    ['name="a %22b%22"; filename="%22%0D%0A.txt"', 'a "b"', '"\r\n.txt'],
    ['name="100%25"; filename="a%20b%2"', '100%25', 'a%20b%2'],
    ['name="a"; filename="C:\\dir\\a.txt"', 'a', 'C:\\dir\\a.txt'],
    ['name="a"; filename="ends\\"', 'a', 'ends\\'],
    ['name="a; filename=b"; filename="c; name=d"', 'a; filename=b', 'c; name=d'],
    ['name="a"; size=3; filename="b"', 'a', 'b'],
    ["name=\"a\"; filename*=UTF-8''na%C3%AFve%20b.txt", 'a', 'naïve b.txt'],
    ["name=a; filename=\"na_ve b.txt\"; filename*=utf-8''na%C3%AFve%20b.txt", 'a', 'naïve b.txt'],
    ["name=\"a\"; filename*=utf-8'de'b%22.txt; filename=c; name*=UTF-8''d", 'a', 'b".txt'],
    ['name="a"; filename="a.txt";', 'a', 'a.txt'],
    ['name="a" ; ', 'a', null],
  ];
  for (const [parameters, name, filename] of cases) {
    const part = readOnlyPart(disposition(parameters));
    assert.deepEqual([part.name, part.filename], [name, filename], parameters);
  }
});

test('a part with two meanings, or none, is refused', () => {
  const heads: (string | Buffer)[] = [
    '', 'Content-Type: text/plain', 'Content-Disposition: attachment; name="a"', 'Content-Disposition: form-data',
    'Content-Disposition: form-data; filename="a"', 'Content-Disposition: form-data; name',
    'Content-Disposition: form-data; name=', 'Content-Disposition: form-data; name="a";;',
    'Content-Disposition: form-data; name="a"; ;', "Content-Disposition: form-data; name*=UTF-8''a",
    ...[
      "UTF-8''%ff", "UTF-8''%c3%28", "UTF-8''100%", "UTF-8''%zz", "iso-8859-1''a", 'plain.txt', "''a", "UTF-8''a;b",
      '""', "UTF-8''a'b", "UTF-8''%00", "UTF-8''a%0Db",
    ].map((name) => `Content-Disposition: form-data; name="a"; filename*=${name}`),
    ...['filename*0="a."; filename*1="txt"', "filename*0*=UTF-8''a.txt", 'filename="a.txt"; FileName*0="b.txt"']
      .map((pieces) => `Content-Disposition: form-data; name="a"; ${pieces}`),
    'Content-Disposition: form-data; name="a"; name="b"', 'Content-Disposition: form-data; name="a"; Name="a"',
    'Content-Disposition: form-data; name="a"; filename="a"; filename="b"',
    'Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="a"',
    'Content-Disposition: form-data; name="a"\r\ncontent-disposition: form-data; name="b"',
    'Content-Disposition: form-data; name="a"; filename="payload.jpg".html',
    'Content-Disposition: form-data; name="a"; filename="quoted \\" pair.txt"',
    'Content-Disposition: form-data; name="a"; filename="b', 'Content-Disposition: form-data; name="a" filename="b"',
    'Content-Disposition: form-data; name = "a"', 'Content-Disposition form-data; name="a"',
    `${OK}\r\nContent-Type: text/plain\r\nContent-Type: image/png`, `${OK}\r\nX-A: 1\r\nx-a: 1`,
    `${OK}\r\nContent-Transfer-Encoding: base64`, `${OK}\r\nContent-Transfer-Encoding: quoted-printable`,
    `${OK}\r\nContent-Transfer-Encoding: nonsense`,
    ` ${OK}`, `\t${OK}`, ` \r\n${OK}`, `${OK}\r\n folded: x`, 'Content-Disposition: form-data;\r\n name="a"',
    'Content-Disposition : form-data; name="a"', `${OK}\r\nX A: 1`, `${OK}\r\n: 1`, `${OK}\r\nno colon`,
    `${OK}\nX-A: 1`, `${OK}\rX-A: 1`, `${OK}\r\nX-A: 1\n`, `${OK}\r\nX-A: \0`, `${OK}\r\nX-A: \x1b`,
    `${OK}\r\nX-A: \x7f`,
    'Content-Disposition: form-data; name="\r"', 'Content-Disposition: form-data; name="\n"',
    Buffer.from('Content-Disposition: form-data; name="caf\xe9"', 'latin1'),
  ];
  for (const head of heads) {
    const pieces = [`--${BOUNDARY}\r\n`, head, `\r\n\r\ndata\r\n--${BOUNDARY}--`];
    const body = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
    assert.equal(refusalOf(body), 400, String(head));
  }
});

test('lines that end in LF alone are refused', () => {
  const body = writeForm([{ headers: OK, data: 'x' }]).toString();
  assert.equal(refusalOf(Buffer.from(body.replaceAll('\r\n', '\n'))), 400);
});

test('a first header line that begins with a space ends the reading and not the process', () => {
  const body = `--${BOUNDARY}\r\n Content-Disposition: form-data; name="bildbeschreibung"\r\n\r\n\r\n--${BOUNDARY}--`;
  assert.equal(refusalOf(Buffer.from(body)), 400);
});

test('encodings that change nothing are admitted', () => {
  for (const encoding of ['7bit', '8BIT', 'binary']) {
    const headers = [...OK, `Content-Transfer-Encoding: ${encoding}`];
    assert.equal(readOnlyPart(writeForm([{ headers, data: 'YQ==' }])).data.toString(), 'YQ==');
  }
});

test('names that objects have of their own are names like any other', () => {
  const headers = ['__proto__: a', 'constructor: b', 'toString: c', 'Content-Disposition: form-data; name="__proto__"'];
  const part = readOnlyPart(writeForm([{ headers, data: 'x' }]));
  assert.deepEqual([part.name, part.type, Object.hasOwn(Object.prototype, 'a')], ['__proto__', 'text/plain', false]);

  const parameters = 'form-data; __proto__=a; constructor=b; name="hasOwnProperty"';
  assert.equal(readOnlyPart(writeForm([{ headers: [`Content-Disposition: ${parameters}`] }])).name, 'hasOwnProperty');
});
