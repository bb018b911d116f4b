import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

/** HMAC keys of one secret for each form. `standard` is null for a secret that serves GitHub's form only. */
type SecretKeys = { standard: Buffer | null; github: Buffer };

/** The same, as Node takes them three times as fast. */
export type SigningKeys = { standard: KeyObject | null; github: KeyObject };

const PREFIX = 'whsec_';

/** Bytes; a multiple of three, so that base64 ends without a `=` that gets lost when the secret is copied. */
const NEW_SECRET_BYTES = 33;

const STANDARD_BYTES = { min: 24, max: 64 }; // Standard Webhooks 1.0
const TEXT_BYTES = { min: 16, max: 256 };

/** A new secret, `whsec_` and base64 of random bytes; it serves both forms. */
export function createSecret(): string {
  return PREFIX + randomBytes(NEW_SECRET_BYTES).toString('base64');
}

/**
 * The keys of a secret; null for a text that cannot be one. `whsec_…` serves both forms: Standard Webhooks takes the
 * 24 to 64 bytes that its base64 stands for, GitHub's form the text as it is shown, prefix included. A text without
 * the prefix (16 to 256 bytes in UTF-8), as other services hand them out, serves GitHub's form only.
 */
export function secretKeys(text: string): SecretKeys | null {
  const github = Buffer.from(text);
  if (!text.startsWith(PREFIX)) return isPlainSecret(text, github) ? { standard: null, github } : null;
  const standard = decodeBase64(text.slice(PREFIX.length));
  return standard !== null && isWithin(standard.length, STANDARD_BYTES) ? { standard, github } : null;
}

/** What events signed with a secret are checked with; throws RangeError for a text that cannot be one. */
export function signingKeys(secret: string): SigningKeys {
  const keys = secretKeys(secret);
  if (keys === null) throw new RangeError('this cannot be the secret of a webhook');
  return { standard: keys.standard && createSecretKey(keys.standard), github: createSecretKey(keys.github) };
}

/** The bytes of base64 in its one proper spelling; null for any other, where Node drops what it cannot read. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

function isPlainSecret(text: string, bytes: Buffer): boolean {
  return isWithin(bytes.length, TEXT_BYTES) && text.isWellFormed() && text.trim() === text && !/\p{Cc}/u.test(text);
}

function isWithin(length: number, { min, max }: { min: number; max: number }): boolean {
  return length >= min && length <= max;
}
