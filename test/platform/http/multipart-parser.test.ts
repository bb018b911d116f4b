// Protects the multipart parser: boundaries, limits and refusals, and data kept to the byte.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBoundary } from '../../../src/platform/http/multipart-headers.ts';
import { HttpError } from '../../../src/platform/http/http-error.ts';
import {
  BOUNDARY, fieldHeaders, fileHeaders, LIMITS, readForm, readHowever, readOnlyPart, refusalOf, writeForm,
} from '../../support/multipart.ts';

const OK = fieldHeaders('ok');

function refusedWith(status: number): (error: unknown) => boolean {
  return (error) => error instanceof HttpError && error.status === status;
}

function withData(data: string | Buffer): Buffer {
  return writeForm([{ headers: OK, data }]);
}

function formOf(parts: number): Buffer {
  return writeForm(Array.from({ length: parts }, () => ({ headers: OK, data: 'x' })));
}

test('the boundary is taken from the Content-Type in one way only', () => {
  const longest = 'b'.repeat(70);
  const cases: [string, string][] = [
    ['multipart/form-data; boundary=abc', 'abc'], ['Multipart/Form-Data;Boundary="a b:c"', 'a b:c'],
    ['multipart/form-data; charset=utf-8; boundary=abc', 'abc'], [`multipart/form-data; boundary=${longest}`, longest],
  ];
  for (const [contentType, boundary] of cases) assert.equal(readBoundary([contentType]), boundary);

  const malformed = [
    'multipart/form-data', 'multipart/form-data; boundary', 'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""', 'multipart/form-data; boundary=a; boundary=b',
    'multipart/form-data; boundary=a; Boundary=a', 'multipart/form-data; boundary="a',
    'multipart/form-data; boundary=a b',
    'multipart/form-data; boundary="a "', 'multipart/form-data; boundary=a;', 'multipart/form-data; boundary="a\\"b"',
    'multipart/form-data; boundary=grün', "multipart/form-data; boundary*=UTF-8''a",
    'multipart/form-data; boundary="a\r\nb"', `multipart/form-data; boundary=${'b'.repeat(71)}`,
    `multipart/form-data; boundary=${'b'.repeat(256)}`,
  ];
  const others = ['application/json', 'multipart/mixed; boundary=a', 'multipart/form-data-x; boundary=a', ''];
  for (const contentType of others) assert.throws(() => readBoundary([contentType]), refusedWith(415), contentType);
  assert.throws(() => readBoundary([]), refusedWith(415));
  for (const contentType of malformed) assert.throws(() => readBoundary([contentType]), refusedWith(400), contentType);
  assert.throws(() => readBoundary([malformed[0] ?? '', 'multipart/form-data; boundary=a']), refusedWith(400));
});

test('a line that only begins with the boundary is data', () => {
  const lines = [
    'X', '-', '-X', '--X', '--\r', '-\r\n', ' X', '\t\rX', '\r', '\rX', '\n', '-- X', ' --', `--${BOUNDARY}`,
  ];
  const data = lines.map((line) => `\r\n--${BOUNDARY}${line}`).join('\r\n') + '|';
  assert.equal(readOnlyPart(withData(data)).data.toString(), data);
});

test('data that looks like much of a boundary is kept to the byte', () => {
  const half = `\r\n--${BOUNDARY.slice(0, -1)}`;
  for (const end of ['\r', '\n', '\r\n', '\r\n-', '\r\n--', half, `--${BOUNDARY}`, '\r\r\r']) {
    for (const data of [`x${end}`, `${end}x${end}`, `x${end}\r\ny${end}`]) {
      assert.equal(readOnlyPart(withData(data)).data.toString(), data);
    }
  }
});

test('spaces and tabs behind a boundary do not count, up to 256', () => {
  const padded = (padding: string) =>
    Buffer.from(`--${BOUNDARY}${padding}\r\n${OK}\r\n\r\nx\r\n--${BOUNDARY}--${padding}`);
  for (const padding of [' ', '\t', ' \t '.repeat(50), ' '.repeat(256)]) {
    assert.equal(readOnlyPart(padded(padding)).data.toString(), 'x');
  }
  assert.equal(refusalOf(padded(' '.repeat(257))), 400);
  assert.equal(refusalOf(Buffer.from(`--${BOUNDARY}\r\n${OK}\r\n\r\nx\r\n--${BOUNDARY}${' '.repeat(300)}X`)), 400);
});

test('a body cut off anywhere before the end of its last boundary is refused', () => {
  const body = writeForm([{ headers: fileHeaders('a', 'b'), data: 'one\r\n\r\n' }, { headers: OK, data: 'two' }]);
  for (let length = 0; length < body.length - 2; length++) {
    const { error } = readForm([body.subarray(0, length)]);
    assert.equal(error?.status, 400, `after ${length} bytes`);
  }
  assert.equal(refusalOf(body.subarray(0, -1)), 400); // a CR without its LF
  assert.equal(refusalOf(Buffer.from(`--${BOUNDARY}\r\n${OK}\r\n\r\nx\r\n--${BOUNDARY.slice(0, -2)}`)), 400);
  assert.equal(readHowever(body.subarray(0, -2)).parts.length, 2);
});

test('what comes after the last boundary is ignored, in later pieces too', () => {
  const body = writeForm([{ headers: OK, data: 'x' }]);
  const more = writeForm([{ headers: fieldHeaders('smuggled') }]);
  assert.equal(readOnlyPart(Buffer.concat([body, more])).name, 'ok');

  const { parts, error } = readForm([body, Buffer.from('Extra'), more, Buffer.from('\0'.repeat(1000))]);
  assert.deepEqual([parts.map(({ name }) => name), error], [['ok'], null]);
});

test('only empty lines may come before the first boundary', () => {
  const body = withData('x');
  const after = (preamble: string) => Buffer.concat([Buffer.from(preamble), body]);
  assert.equal(readOnlyPart(after('\r\n\r\n\r\n')).data.toString(), 'x');
  const others = ['preamble\r\n', '\n', '\r', '\r\n\r', ' \r\n', `--${BOUNDARY}X\r\n`, `--${BOUNDARY}`, '-', '\0'];
  for (const preamble of others) {
    assert.equal(refusalOf(after(preamble)), 400, JSON.stringify(preamble));
  }
});

test('a form without parts is read, an empty body is not', () => {
  assert.deepEqual(readHowever(Buffer.from(`--${BOUNDARY}--`)), { parts: [], error: null });
  assert.equal(refusalOf(Buffer.alloc(0)), 400);
  assert.equal(refusalOf(Buffer.from('\r\n')), 400);
});

test('a part that begins with the boundary is refused, one with the beginning of a boundary is not', () => {
  const partOf = (start: string) => Buffer.from(`--${BOUNDARY}\r\n${OK}\r\n\r\n${start}`);
  assert.equal(refusalOf(partOf(`--${BOUNDARY}--`)), 400);
  assert.equal(refusalOf(partOf(`--${BOUNDARY}\r\n${OK}\r\n\r\nx\r\n--${BOUNDARY}--`)), 400);

  const data = `--${BOUNDARY}X`;
  assert.equal(readOnlyPart(partOf(`${data}\r\n--${BOUNDARY}--`)).data.toString(), data);
});

test('multipart within a part is data', () => {
  const inner = writeForm([{ headers: ['Content-Disposition: file; filename="a"'], data: 'x' }], 'inner').toString();
  const headers = [...OK, 'Content-Type: multipart/mixed; boundary=inner'];
  const part = readOnlyPart(writeForm([{ headers, data: inner }]));
  assert.deepEqual([part.type, part.data.toString()], ['multipart/mixed; boundary=inner', inner]);
});

test('each limit admits what is just within it and refuses one more', () => {
  const header = (bytes: number) => [...OK, `X: ${'a'.repeat(bytes - String(OK).length - '\r\nX: '.length)}`];
  const headed = (headers: string[]): Buffer => writeForm([{ headers }]);
  const limits = { ...LIMITS, parts: 3, headerBytes: 200, headers: 4, nameBytes: 9, filenameBytes: 10 };
  const cases: [string, Buffer, Buffer][] = [
    ['parts', formOf(3), formOf(4)],
    ['headerBytes', headed(header(200)), headed(header(201))],
    ['headers', headed([...OK, 'A: 1', 'B: 1', 'C: 1']), headed([...OK, 'A: 1', 'B: 1', 'C: 1', 'D:'])],
    ['nameBytes', headed(fieldHeaders('漢漢漢')), headed(fieldHeaders('漢漢漢a'))],
    ['filenameBytes', headed(fileHeaders('a', '0123456789')), headed(fileHeaders('a', '0123456789a'))],
  ];
  for (const [name, within, beyond] of cases) {
    assert.equal(refusalOf(within, limits), undefined, name);
    assert.equal(refusalOf(beyond, limits), 413, name);
  }
});

test('a form has at most 100 parts unless it is said otherwise', () => {
  const parts = (count: number) => readForm([formOf(count)]);
  assert.deepEqual([parts(100).error, parts(100).parts.length], [null, 100]);
  assert.deepEqual([parts(101).error?.status, parts(101).parts.length], [413, 100]);
});

test('headers without end are refused before they fill the memory', () => {
  const { error } = readForm([Buffer.from(`--${BOUNDARY}\r\n`), ...[1, 2, 3].map(() => Buffer.alloc(4096, 'a'))]);
  assert.equal(error?.status, 413);
});
