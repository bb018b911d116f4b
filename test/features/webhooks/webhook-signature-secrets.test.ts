// Protects webhook secrets: random, sealed for one webhook, and readable with the right key alone.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { test } from 'node:test';
import { deriveSealingKey, openSecret, SealedSecretError, sealSecret } from '../../../src/platform/secrets.ts';
import { createSecret, signingKeys } from '../../../src/features/webhooks/verify-signature.ts';

const KEY_FILE = Buffer.from('0123456789abcdef0123456789abcdef');
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

function withBytes(count: number): string {
  return `whsec_${randomBytes(count).toString('base64')}`;
}

function assertMalformed(secret: string): void {
  assert.throws(() => signingKeys(secret), RangeError, JSON.stringify(secret));
}

test('a new secret has 24 to 64 random bytes, no padding to lose, and never comes twice', () => {
  const secrets = new Set(Array.from({ length: 200 }, createSecret));
  assert.equal(secrets.size, 200);
  for (const secret of secrets) {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{44}$/);
    assert.equal(signingKeys(secret).standard?.symmetricKeySize, 33);
    assert.equal(signingKeys(secret).github.export().toString(), secret);
  }
});

test('a whsec_ secret stands for 24 to 64 bytes in proper base64', () => {
  for (const bytes of [24, 32, 33, 64]) assert.equal(signingKeys(withBytes(bytes)).standard?.symmetricKeySize, bytes);
  for (const bytes of [0, 1, 23, 65, 4_096]) assertMalformed(withBytes(bytes));
  const padded = `whsec_${Buffer.alloc(25).toString('base64')}`;
  for (const secret of [
    '', 'whsec_', 'whsec_!!!not base64!!!not base64!!!not', padded.slice(0, -1), padded.slice(0, -2), `${padded}=`,
    `${SECRET} `, SECRET.replace('M', '-'), `whsec_ ${SECRET.slice(6)}`, `${SECRET}\n`, padded.replace('A==', 'B=='),
  ]) assertMalformed(secret);
});

test('a secret of another service serves as text, in the form of GitHub alone', () => {
  const fine = ["It's a Secret to Everybody", 'Schlüssel für alle Türen', '0123456789abcdef', 'x'.repeat(256)];
  for (const secret of fine) {
    const { standard, github } = signingKeys(secret);
    assert.deepEqual([standard, github.export()], [null, Buffer.from(secret)]);
  }
  for (const secret of [
    'too short a one', 'x'.repeat(257), ' sixteen with a space', 'a\nsecret with a line end', 'a\0b'.repeat(9),
    '\ud800 half a character',
  ]) assertMalformed(secret);
});

test('a sealed secret opens with the key of the same file and for the same webhook', () => {
  const key = deriveSealingKey(KEY_FILE);
  for (const secret of [SECRET, 'Schlüssel für alle Türen', '']) {
    const stored = sealSecret(secret, key, 'source 7');
    assert.match(stored, /^aes-256-gcm-v1:[\w-]+$/);
    assert.ok(secret === '' || !stored.includes(secret.slice(6)));
    assert.equal(openSecret(stored, deriveSealingKey(Buffer.from(KEY_FILE)), 'source 7'), secret);
  }
});

test('what was sealed by an earlier release still opens', () => {
  const stored = 'aes-256-gcm-v1:AAECAwQFBgcICQoLdIPYH5iVdiUjTDTuhm_OFk3r'
    + 'yibVOkidE1ndTNHp_BjJiulIfL08x1afegVJ4I1tBDiLWeUg';
  assert.equal(openSecret(stored, deriveSealingKey(KEY_FILE), 'source 7'), SECRET);
});

test('the same secret is never sealed to the same text', () => {
  const key = deriveSealingKey(KEY_FILE);
  const stored = new Set(Array.from({ length: 100 }, () => sealSecret(SECRET, key, 'source 7')));
  assert.equal(stored.size, 100);
});

test('a sealed secret with any bit flipped does not open, nor one cut or lengthened', () => {
  const key = deriveSealingKey(KEY_FILE);
  const stored = sealSecret(SECRET, key, 'source 7');
  const [, encoded = ''] = stored.split(':');
  const bytes = Buffer.from(encoded, 'base64url');
  const refused = (text: string) => assert.throws(() => openSecret(text, key, 'source 7'), SealedSecretError, text);

  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    refused(`aes-256-gcm-v1:${changed.toString('base64url')}`);
  }
  for (let length = 0; length < stored.length; length += 1) refused(stored.slice(0, length));
  for (const more of ['A', '=', ' ', '\n', 'AAAA']) refused(stored + more);
  for (let at = 0; at < stored.length; at += 1) {
    const code = stored.charCodeAt(at);
    refused(stored.slice(0, at) + String.fromCharCode(code ^ 1) + stored.slice(at + 1));
  }
});

test('a sealed secret does not open for another webhook', () => {
  const key = deriveSealingKey(KEY_FILE);
  const stored = sealSecret(SECRET, key, 'source 7');
  for (const context of ['source 8', 'source 77', 'source', '', 'source 7 ']) {
    assert.throws(() => openSecret(stored, key, context), SealedSecretError, context);
  }
});

test('a missing and a wrong key are told apart, and no message holds a secret', () => {
  const stored = sealSecret(SECRET, deriveSealingKey(KEY_FILE), 'source 7');
  const other = deriveSealingKey(Buffer.concat([KEY_FILE, Buffer.from('\n')]));
  const messageOf = (open: () => unknown): string => {
    try {
      return assert.fail(`opened: ${open()}`);
    } catch (error) {
      assert.ok(error instanceof SealedSecretError, String(error));
      assert.doesNotMatch(inspect(error), new RegExp(`${SECRET.slice(6)}|${stored.slice(20, 40)}`));
      return error.message;
    }
  };
  assert.match(messageOf(() => openSecret(stored, null, 'source 7')), /there is no key.*HUB_SECRET_KEY_FILE/);
  assert.match(messageOf(() => openSecret(stored, other, 'source 7')), /HUB_SECRET_KEY_FILE holds a different key/);
  assert.match(messageOf(() => openSecret('aes-256-gcm-v2:x', other, 'source 7')), /unknown format/);
});

test('a key file has 32 to 4,096 bytes', () => {
  for (const bytes of [32, 33, 45, 4_096]) assert.equal(deriveSealingKey(Buffer.alloc(bytes)).symmetricKeySize, 32);
  for (const bytes of [0, 1, 16, 31, 4_097]) {
    assert.throws(() => deriveSealingKey(Buffer.alloc(bytes)), (error: Error) =>
      error instanceof SealedSecretError && error.message.endsWith(`not ${bytes}`));
  }
});

test('without a key a secret is stored readable and marked so, and still opens once there is a key', () => {
  const stored = sealSecret(SECRET, null, 'source 7');
  assert.equal(stored, `plain:${SECRET}`);
  assert.equal(openSecret(stored, null, 'source 7'), SECRET);
  assert.equal(openSecret(stored, deriveSealingKey(KEY_FILE), 'source 7'), SECRET);
});
