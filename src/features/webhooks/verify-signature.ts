import { createHash, createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto';
import { MINUTE, SECOND } from '../../platform/clock.ts';

/** HMAC keys of one secret for each form. `standard` is null for a secret that serves GitHub's form only. */
type SecretKeys = { standard: Buffer | null; github: Buffer };

/** The keys of a secret as KeyObjects, with which Node computes an HMAC three times as fast. */
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
  if (keys === null) throw new RangeError('not a valid webhook secret');
  return { standard: keys.standard && createSecretKey(keys.standard), github: createSecretKey(keys.github) };
}

/** The bytes of base64 in its one proper spelling; null for any other, where Node drops what it cannot read. */
function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

function isPlainSecret(text: string, bytes: Buffer): boolean {
  return isWithin(bytes.length, TEXT_BYTES) && text.isWellFormed() && text.trim() === text && !/\p{Cc}/u.test(text);
}

function isWithin(length: number, { min, max }: { min: number; max: number }): boolean {
  return length >= min && length <= max;
}

/** A request as it came: the raw bytes of its body, and its headers as Node's `rawHeaders`. */
export type SignedRequest = { rawHeaders: readonly string[]; body: Buffer };

/**
 * `id` as the sender chose it. GitHub's form signs the body only, so that an event that was overheard could come again
 * under another id: there `bodyId` names the body, to be remembered beside the id. Null where the id is signed.
 */
export type VerifiedEvent = { id: string; bodyId: string | null };

/** What the headers of an event claim, in its form; nothing of it is proven yet. */
type SignatureClaim =
  /** Standard Webhooks 1.0: `signedPrefix` stands before the body in what is signed; `sentAt` in unix ms. */
  | { form: 'standard'; id: string; sentAt: number; signedPrefix: string; signatures: Buffer[] }
  /** GitHub's: the body alone is signed. */
  | { form: 'github'; id: string; signatures: Buffer[] };

type Equal = (a: Buffer, b: Buffer) => boolean;

/** How far the sender's clock and the hub's may be apart, either way (Standard Webhooks' libraries). */
const TOLERANCE = 5 * MINUTE;

const MAX_LIVE_SECRETS = 2;

const STANDARD_NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
const GITHUB_NAMES = ['x-github-delivery', 'x-hub-signature-256'];

const ID = /^[!-\-/-~]{1,256}$/; // visible ASCII without the full stop, which separates what is signed
const TIMESTAMP = /^[1-9]\d{0,11}$/; // unix seconds
const ENTRY = /^[a-z][a-z0-9]{0,7},[A-Za-z0-9+/=]{1,256}$/;
const HEX_SIGNATURE = /^sha256=([0-9a-f]{64})$/;

const VERSION = 'v1,';
const MAX_ENTRIES = 16;
const DIGEST_BYTES = 32;

/**
 * What is proven about an event signed with one of the live secrets (two while rotating) in the form of Standard
 * Webhooks 1.0 or GitHub; undefined for every kind of refusal, so that none can be told from another. `now` in unix ms.
 */
export function verifySignature(
  { rawHeaders, body }: SignedRequest, secrets: readonly SigningKeys[], now: number,
): VerifiedEvent | undefined {
  if (secrets.length > MAX_LIVE_SECRETS) throw new RangeError('a webhook has at most two live secrets');
  const claim = readSignatureHeaders(rawHeaders);
  if (claim === undefined || !isTimely(claim, now)) return undefined;
  const expected = secrets.map((keys) => digestOf(claim, body, keys[claim.form])).filter((digest) => digest !== null);
  if (!includesAny(expected, claim.signatures)) return undefined;
  return { id: claim.id, bodyId: claim.form === 'github' ? bodyIdOf(body) : null };
}

/** Whether the lists share a digest. Every pair is compared, so that time tells neither whether nor where they do. */
export function includesAny(
  expected: readonly Buffer[], received: readonly Buffer[], equal: Equal = timingSafeEqual,
): boolean {
  let matches = 0;
  for (const digest of expected) {
    for (const signature of received) matches += Number(equal(digest, signature));
  }
  return matches > 0;
}

function isTimely(claim: SignatureClaim, now: number): boolean {
  return claim.form === 'github' || Math.abs(now - claim.sentAt) <= TOLERANCE;
}

/** Null for a secret that has no key for this form. */
function digestOf(claim: SignatureClaim, body: Buffer, key: KeyObject | null): Buffer | null {
  if (key === null) return null;
  const hmac = createHmac('sha256', key);
  if (claim.form === 'standard') hmac.update(claim.signedPrefix);
  return hmac.update(body).digest();
}

function bodyIdOf(body: Buffer): string {
  return `sha256:${createHash('sha256').update(body).digest('base64url')}`;
}

/**
 * Reads the signature headers out of `rawHeaders`, as Node has them: names and values in turn, duplicates kept.
 * Undefined unless there is exactly one form, complete, each of its headers once and well-formed.
 */
function readSignatureHeaders(rawHeaders: readonly string[]): SignatureClaim | undefined {
  const standard = valuesOf(rawHeaders, STANDARD_NAMES);
  const github = valuesOf(rawHeaders, GITHUB_NAMES);
  if (standard.length > 0 && github.length > 0) return undefined;
  return standard.length > 0 ? readStandard(standard) : readGithub(github);
}

type Found = { name: string; value: string }[];

function valuesOf(rawHeaders: readonly string[], names: readonly string[]): Found {
  const found: Found = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (names.includes(name)) found.push({ name, value: rawHeaders[index + 1] ?? '' });
  }
  return found;
}

function readStandard(found: Found): SignatureClaim | undefined {
  const [id, timestamp, list] = onceEach(found, STANDARD_NAMES);
  if (id === undefined || timestamp === undefined || list === undefined) return undefined;
  const signatures = readSignatureList(list);
  if (!ID.test(id) || !TIMESTAMP.test(timestamp) || signatures === undefined) return undefined;
  const sentAt = Number(timestamp) * SECOND;
  return { form: 'standard', id, sentAt, signedPrefix: `${id}.${timestamp}.`, signatures };
}

function readGithub(found: Found): SignatureClaim | undefined {
  const [id, signature] = onceEach(found, GITHUB_NAMES);
  const hex = HEX_SIGNATURE.exec(signature ?? '')?.[1];
  if (id === undefined || !ID.test(id) || hex === undefined) return undefined;
  return { form: 'github', id, signatures: [Buffer.from(hex, 'hex')] };
}

/** The values in the order of the names; none at all where one is missing or given twice. */
function onceEach(found: Found, names: readonly string[]): (string | undefined)[] {
  const values = names.map((name) => found.find((one) => one.name === name)?.value);
  return found.length === names.length && !values.includes(undefined) ? values : [];
}

/** `version,base64` entries between single spaces; other versions than v1 are passed over, as the standard says. */
function readSignatureList(list: string): Buffer[] | undefined {
  const entries = list.split(' ', MAX_ENTRIES + 1);
  if (entries.length > MAX_ENTRIES || !entries.every((entry) => ENTRY.test(entry))) return undefined;
  const own = entries.filter((entry) => entry.startsWith(VERSION));
  const signatures = own.map((entry) => decodeBase64(entry.slice(VERSION.length))).filter(isDigest);
  return signatures.length === own.length ? signatures : undefined;
}

function isDigest(bytes: Buffer | null): bytes is Buffer {
  return bytes?.length === DIGEST_BYTES;
}
