// Protects the reading of multipart bodies as other clients and parsers make them.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readForm, splittings, type ReadForm } from '../../support/multipart.ts';

const CORPUS = join(import.meta.dirname, '../../../../shared/corpora/multipart');
const skip = existsSync(CORPUS) ? false : 'the corpus of multipart bodies is not beside this checkout';

const ENCODED = 'a Content-Transfer-Encoding is refused: RFC 7578 §4.7 deprecates it and no browser sends one';

/** Bodies that this parser refuses on purpose although the corpus expects their parts, and why. */
const REFUSED_ON_PURPOSE: Record<string, string> = {
  base64_encoding: ENCODED,
  quoted_printable_encoding: ENCODED,
  mixed_plain_and_base64_encoding: ENCODED,
  mixed_case_headers: ENCODED,
};

/** Its boundary does not fit its body. */
const NOT_USABLE = 'single_field_blocks';

type ExpectedPart = { name: string; filename: string | null; type: string | null; data: Buffer };
type Case = { name: string; boundary: string; body: Buffer; expected: ExpectedPart[] | 'refused' };

/** The few forms of YAML that the corpus is written in: scalars, a list of maps, binary blocks. */
function readCase(name: string): Case {
  const text = readFileSync(join(CORPUS, `${name}.yaml`), 'utf8');
  const boundary = /^boundary: (.*)$/m.exec(text)?.[1] ?? '';
  const isRefused = /^ +error: \d+$/m.test(text);
  const expected = text.split(/^  - /m).slice(1).map((item): ExpectedPart => {
    return {
      name: scalar(item, 'name') ?? '',
      filename: scalar(item, 'file_name'),
      type: scalar(item, 'content_type'),
      data: Buffer.from(/!!binary \|\n([^]*)/.exec(item)?.[1] ?? '', 'base64'),
    };
  });
  const body = readFileSync(join(CORPUS, `${name}.http`));
  return { name, boundary, body, expected: isRefused ? 'refused' : expected };
}

function scalar(item: string, key: string): string | null {
  const text = new RegExp(`^ *${key}: *(.*)$`, 'm').exec(item)?.[1];
  return text?.replace(/^(['"])(.*)\1$/, '$2') ?? null;
}

function comparable({ parts, error }: ReadForm, expected: ExpectedPart[] | 'refused'): ExpectedPart[] | 'refused' {
  if (error) return error.status === 400 ? 'refused' : assert.fail(error.message);
  // The corpus leaves out the type of most fields.
  return parts.map(({ type, ...part }, index) => {
    const told = expected === 'refused' ? null : expected[index]?.type ?? null;
    return { ...part, type: told === null ? null : type };
  });
}

const names = skip ? [] : readdirSync(CORPUS).filter((file) => file.endsWith('.yaml')).map((file) => file.slice(0, -5));

test('the corpus of multipart bodies has its 29 usable cases', { skip }, () => {
  assert.equal(names.filter((name) => name !== NOT_USABLE).length, 29);
  for (const name of Object.keys(REFUSED_ON_PURPOSE)) assert.ok(names.includes(name), name);
});

for (const name of names.filter((one) => one !== NOT_USABLE)) {
  const reason = REFUSED_ON_PURPOSE[name];
  test(`the corpus body ${name} is ${reason ? 'refused on purpose' : 'read as expected'} however it is cut`, () => {
    const { boundary, body, expected } = readCase(name);
    if (reason !== undefined) assert.notEqual(expected, 'refused', 'no deviation any more');

    for (const pieces of splittings(body)) {
      const found = comparable(readForm(pieces, boundary), expected);
      assert.deepEqual(found, reason === undefined ? expected : 'refused');
    }
  });
}
