// Protects the verification of webhook signatures: only the very bytes that the sender signed, within five minutes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createSecret, includesAny, signingKeys, verifySignature as verifyWithKeys, type SignedRequest, type SigningKeys,
  type VerifiedEvent,
} from '../../../src/features/webhooks/verify-signature.ts';
import {
  githubEvent, githubHeaders, standardEvent, standardHeaders, withHeader, type RawHeaders,
} from '../../support/signed-events.ts';

// Published with Standard Webhooks 1.0 and its libraries; the third is the first with an empty body.
const FIRST = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: '1614265330',
  body: '{"test": 2432232314}', signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
const STANDARD_VECTORS = [
  FIRST,
  {
    secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', id: 'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk', timestamp: '1649367553',
    body: '{"email":"test@example.com","username":"test_user"}',
    signature: 'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
  },
  { ...FIRST, body: '', signature: 'v1,v48jdbgvh29KJz2Qc+ghw8G6vG3nAKnujWBg8oM/62A=' },
];
const WRONG = 'v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=';

// Published in GitHub's documentation.
const GITHUB_VECTOR = {
  secret: "It's a Secret to Everybody", body: 'Hello, World!',
  signature: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
};

const NOW = 1_800_000_000_000;
const SECOND = 1_000;

function verifySignature(request: SignedRequest, secrets: string[], now: number): VerifiedEvent | undefined {
  return verifyWithKeys(request, secrets.flatMap(keysOf), now);
}

/** None for a malformed secret, with which nothing is signed. */
function keysOf(secret: string): SigningKeys[] {
  try {
    return [signingKeys(secret)];
  } catch {
    return [];
  }
}

function verifyFirst(signature: string, now = Number(FIRST.timestamp) * SECOND, secret = FIRST.secret) {
  const request = { rawHeaders: standardHeaders(FIRST.id, FIRST.timestamp, signature), body: Buffer.from(FIRST.body) };
  return verifySignature(request, [secret], now);
}

for (const { secret, id, timestamp, body, signature } of STANDARD_VECTORS) {
  test(`the published event ${id} with a body of ${body.length} bytes is accepted`, () => {
    const request = { rawHeaders: standardHeaders(id, timestamp, signature), body: Buffer.from(body) };
    const verified = verifySignature(request, [secret], Number(timestamp) * SECOND);
    assert.deepEqual(verified, { id, bodyId: null });
  });
}

test("GitHub's published signature is accepted, with an id for the body, which is all that is signed", () => {
  const body = Buffer.from(GITHUB_VECTOR.body);
  const verify = (id: string) =>
    verifySignature({ rawHeaders: githubHeaders(id, GITHUB_VECTOR.signature), body }, [GITHUB_VECTOR.secret], NOW);
  const verified = verify('72d3162e-cc78-11e3-81ab-4c9367dc0958');

  assert.equal(verified?.id, '72d3162e-cc78-11e3-81ab-4c9367dc0958');
  assert.match(verified?.bodyId ?? '', /^sha256:[\w-]{43}$/);
  assert.equal(verify('another')?.bodyId, verified?.bodyId);
  const another = verifySignature(githubEvent(GITHUB_VECTOR.secret), [GITHUB_VECTOR.secret], NOW);
  assert.notEqual(another?.bodyId, verified?.bodyId);
});

for (const [title, signature] of [
  ['with one character changed', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OA='],
  ['with unused bits set', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OF='],
  ['of another event', WRONG],
  ['of an unknown version alone', FIRST.signature.replace('v1', 'v2')],
  ['of the asymmetric version', FIRST.signature.replace('v1', 'v1a')],
  ['without a value', 'v1,'],
  ['cut after eight characters', FIRST.signature.slice(0, 11)],
  ['without its padding', FIRST.signature.slice(0, -1)],
  ['with more behind it', `${FIRST.signature}AAAA`],
  ['in the alphabet of base64url', FIRST.signature.replace('+', '-').replace('/', '_')],
  ['without a version', FIRST.signature.slice(3)],
  ['with a version in capitals', FIRST.signature.replace('v1', 'V1')],
  ['in hexadecimal', `v1,${Buffer.from(FIRST.signature.slice(3), 'base64').toString('hex')}`],
  ['beside a broken one', `${FIRST.signature} v1,x`],
  ['after a comma', `${WRONG},${FIRST.signature}`],
  ['after two spaces', `${WRONG}  ${FIRST.signature}`],
  ['after a tab', `${WRONG}\t${FIRST.signature}`],
  ['with a space behind it', `${FIRST.signature} `],
  ['as the seventeenth', `${`${WRONG} `.repeat(16)}${FIRST.signature}`],
  ['after a hundred thousand', `${`${WRONG} `.repeat(100_000)}${FIRST.signature}`],
  ['that is empty', ''],
] as const) {
  test(`a signature ${title} is refused`, () => assert.equal(verifyFirst(signature), undefined));
}

test('one right signature among several, and among other versions, is enough', () => {
  const [another, valid] = [WRONG.replace('v1', 'v2'), FIRST.signature];
  const asymmetric = `v1a,${'A'.repeat(86)}==`;
  for (const list of [`${WRONG} ${another} ${valid} ${WRONG}`, `${valid} ${WRONG}`, `${asymmetric} ${valid}`,
    `${`${WRONG} `.repeat(15)}${valid}`]) {
    assert.equal(verifyFirst(list)?.id, FIRST.id, list);
  }
});

test('the clocks may be 300 s apart either way, and not a millisecond more', () => {
  const sentAt = Number(FIRST.timestamp) * SECOND;
  for (const [late, isAccepted] of [
    [0, true], [300_000, true], [-300_000, true],
    [300_001, false], [-300_001, false], [301_000, false], [-301_000, false], [86_400_000, false],
  ] as const) {
    assert.equal(verifyFirst(FIRST.signature, sentAt + late) !== undefined, isAccepted, `${late} ms late`);
  }
});

test('a time that is not plain seconds is refused, though it was signed', () => {
  const secret = createSecret();
  for (const timestamp of [
    'hello', '', '0', '-1800000000', '+1800000000', '01800000000', '1800000000.0', '1.8e9', '0x6b49d200', ' 1800000000',
    '1800000000 ', '1800000000000', '18000000000000000', '１８００００００００', '1_800_000_000', 'NaN', 'Infinity',
  ]) {
    assert.equal(verifySignature(standardEvent(secret, { timestamp }), [secret], NOW), undefined, timestamp);
  }
  assert.ok(verifySignature(standardEvent(secret, { timestamp: '1800000000' }), [secret], NOW));
});

test('ids are 1 to 256 visible ASCII characters without a full stop, in both forms', () => {
  const secret = createSecret();
  const verify = (id: string) => [
    verifySignature(standardEvent(secret, { id }), [secret], NOW)?.id,
    verifySignature(githubEvent(secret, '{}', id), [secret], NOW)?.id,
  ];
  for (const id of ['x', 'msg_1-2:3/4', '!~', 'i'.repeat(256)]) assert.deepEqual(verify(id), [id, id]);
  const wrong = ['', 'a.b', 'a b', 'é', 'msg_\u{1f989}', 'a\tb', 'a\0', '\x7f', 'i'.repeat(257), 'i'.repeat(60_000)];
  for (const id of wrong) {
    assert.deepEqual(verify(id), [undefined, undefined], JSON.stringify(id.slice(0, 20)));
  }
});

for (const [form, sign] of [['Standard Webhooks', standardEvent], ["GitHub's form", githubEvent]] as const) {
  test(`each header of ${form} is needed once, in any case of letters`, () => {
    const secret = createSecret();
    const { rawHeaders, body } = sign(secret);
    const verify = (headers: RawHeaders) => verifySignature({ rawHeaders: headers, body }, [secret], NOW);
    assert.ok(verify(rawHeaders.map((text, index) => (index % 2 === 0 ? text.toUpperCase() : text))));
    assert.ok(verify(['Host', 'hub', 'X-Hub-Signature', 'sha1=x', 'Svix-Id', 'y', ...rawHeaders]));

    for (let index = 0; index < rawHeaders.length; index += 2) {
      const pair = rawHeaders.slice(index, index + 2);
      assert.equal(verify(rawHeaders.toSpliced(index, 2)), undefined, `without ${pair[0]}`);
      assert.equal(verify([...rawHeaders, ...pair]), undefined, `${pair[0]} twice`);
      assert.equal(verify([pair[0]?.toLowerCase() ?? '', '', ...rawHeaders]), undefined, `${pair[0]} empty at first`);
    }
  });
}

test('an event with headers of both forms is refused, complete or not, even when both are right', () => {
  const secret = createSecret();
  const [standard, github] = [standardEvent(secret), githubEvent(secret)];
  const both = [...standard.rawHeaders, ...github.rawHeaders];
  assert.equal(verifySignature({ rawHeaders: both, body: standard.body }, [secret], NOW), undefined);
  for (let index = 0; index < github.rawHeaders.length; index += 2) {
    const rawHeaders = [...standard.rawHeaders, ...github.rawHeaders.slice(index, index + 2)];
    assert.equal(verifySignature({ rawHeaders, body: standard.body }, [secret], NOW), undefined);
  }
});

test("GitHub's signature has one spelling", () => {
  const secret = createSecret();
  const { rawHeaders, body } = githubEvent(secret);
  const changes: ((value: string) => string)[] = [
    (value) => value.toUpperCase(), (value) => `sha256=${value.slice(7).toUpperCase()}`,
    (value) => value.slice(7), (value) => value.replace('256', '1'), (value) => value.slice(0, -1),
    (value) => `${value}0`,
    (value) => `${value}, ${value}`, (value) => value.replace('=', ':'), (value) => `${value}\n`,
    (value) => `sha256=${Buffer.from(value.slice(7), 'hex').toString('base64')}`, () => '', () => 'sha256=',
  ];
  for (const change of changes) {
    const changed = withHeader(rawHeaders, 'x-hub-signature-256', change);
    assert.equal(verifySignature({ rawHeaders: changed, body }, [secret], NOW), undefined, String(change));
  }
});

test('one stored secret serves both forms, with a key of its own for each', () => {
  const secret = createSecret();
  const asText = Buffer.from(secret).toString('base64');
  assert.ok(verifySignature(standardEvent(secret), [secret], NOW));
  assert.ok(verifySignature(githubEvent(secret), [secret], NOW));
  assert.equal(verifySignature(standardEvent(asText), [secret], NOW), undefined, 'the text as key');
  assert.equal(verifySignature(githubEvent(secret.replace('whsec_', '')), [secret], NOW), undefined, 'no prefix');
});

test('bodies are taken as bytes: not UTF-8, empty, or a mebibyte', () => {
  const secret = createSecret();
  for (const body of [Buffer.from([0xff, 0xfe, 0, 0xc3, 0x28]), Buffer.alloc(0), Buffer.alloc(1024 * 1024, 'é')]) {
    assert.ok(verifySignature(standardEvent(secret, { body }), [secret], NOW));
    assert.ok(verifySignature(githubEvent(secret, body), [secret], NOW));
  }
  const { rawHeaders } = standardEvent(secret, { body: Buffer.from([0xff]) });
  const decoded = Buffer.from(Buffer.from([0xff]).toString('utf8'));
  assert.equal(verifySignature({ rawHeaders, body: decoded }, [secret], NOW), undefined, 'as text');
});

test('each received signature is compared with each expected signature, also after two signatures matched', () => {
  const digests = Array.from({ length: 6 }, (_, index) => Buffer.alloc(32, index));
  const comparesFor = (expected: Buffer[], received: Buffer[]) => {
    let compares = 0;
    const found = includesAny(expected, received, (a, b) => {
      compares += 1;
      return a.equals(b);
    });
    return { found, compares };
  };
  const [first = Buffer.alloc(0), second = Buffer.alloc(0), ...others] = digests;
  const live = [first, second];

  assert.deepEqual(comparesFor(live, others), { found: false, compares: 8 });
  for (let place = 0; place < others.length; place += 1) {
    for (const right of live) {
      assert.deepEqual(comparesFor(live, others.with(place, right)), { found: true, compares: 8 });
    }
  }
});
