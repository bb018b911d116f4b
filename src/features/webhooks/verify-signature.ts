import { createHash, createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto';
import { MINUTE, SECOND } from '../../platform/clock.ts';

/** The HMAC keys of one secret, by signature scheme. `standard`: null if the secret works only with GitHub's scheme. */
export type SigningKeys = { standard: KeyObject | null; github: KeyObject };

const PREFIX = 'whsec_';

/** Bytes of a new secret: a multiple of three, because other base64 ends with `=`, which can get lost when copied. */
const NEW_SECRET_BYTES = 33;

const STANDARD_BYTES = { min: 24, max: 64 }; // Standard Webhooks 1.0
const TEXT_BYTES = { min: 16, max: 256 };

/** A new secret: `whsec_` and base64 of random bytes; works for Standard Webhooks and for GitHub's signatures. */
export function createSecret(): string {
  return PREFIX + randomBytes(NEW_SECRET_BYTES).toString('base64');
}

/**
 * The keys that check signatures made with the secret. A secret `whsec_…` works with both signature schemes: Standard
 * Webhooks decodes its base64 (24 to 64 bytes), GitHub's scheme uses the whole text. Secrets of other services (16 to
 * 256 bytes of UTF-8) work only with GitHub's scheme. Throws RangeError for a malformed secret.
 */
export function signingKeys(secret: string): SigningKeys {
  const github = Buffer.from(secret);
  const isPlain = !secret.startsWith(PREFIX);
  const standard = isPlain ? null : decodeBase64(secret.slice(PREFIX.length));
  const isValid = isPlain ? isPlainSecret(secret, github) : isWithin(standard?.length ?? 0, STANDARD_BYTES);
  if (!isValid) throw new RangeError('not a valid webhook secret');
  return { standard: standard && createSecretKey(standard), github: createSecretKey(github) };
}

/** Decodes canonical base64; returns null for any other text, in which Node would skip invalid characters. */
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

export type SignedRequest = { rawHeaders: readonly string[]; body: Buffer };

/**
 * `id`: the event's id, chosen by the sender. `bodyId`: the hash of a GitHub event's body, because GitHub does not sign
 * the id: without the hash, an event could be replayed under another id. `bodyId` is null for events of Standard
 * Webhooks, whose ids are signed.
 */
export type VerifiedEvent = { id: string; bodyId: string | null };

type SignatureClaim =
  /** Standard Webhooks 1.0 signs `signedPrefix` followed by the body; `sentAt` in unix ms. */
  | { form: 'standard'; id: string; sentAt: number; signedPrefix: string; signatures: Buffer[] }
  /** GitHub signs only the body of an event. */
  | { form: 'github'; id: string; signatures: Buffer[] };

type Equal = (a: Buffer, b: Buffer) => boolean;

/** Allowed difference between the sender's clock and the hub's, as in the libraries of Standard Webhooks. */
const TOLERANCE = 5 * MINUTE;

const MAX_LIVE_SECRETS = 2;

const STANDARD_NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
const GITHUB_NAMES = ['x-github-delivery', 'x-hub-signature-256'];

const ID = /^[!-\-/-~]{1,256}$/; // visible ASCII without the full stop, which separates the parts of a signed text
const TIMESTAMP = /^[1-9]\d{0,11}$/; // unix seconds
const ENTRY = /^[a-z][a-z0-9]{0,7},[A-Za-z0-9+/=]{1,256}$/;
const HEX_SIGNATURE = /^sha256=([0-9a-f]{64})$/;

const VERSION = 'v1,';
const MAX_ENTRIES = 16;
const DIGEST_BYTES = 32;

/**
 * Verifies an event in the scheme of Standard Webhooks 1.0 or GitHub. Returns undefined for every kind of refusal, so
 * that a sender cannot learn the reason. `now`: the time in unix ms.
 */
export function verifySignature(
  { rawHeaders, body }: SignedRequest, secrets: readonly SigningKeys[], now: number,
): VerifiedEvent | undefined {
  if (secrets.length > MAX_LIVE_SECRETS) throw new RangeError('a webhook has at most two live secrets');
  const claim = readSignatureHeaders(rawHeaders);
  if (claim === undefined) return undefined;
  if (claim.form === 'standard' && Math.abs(now - claim.sentAt) > TOLERANCE) return undefined;
  const expected = secrets.map((keys) => digestOf(claim, body, keys[claim.form])).filter((digest) => digest !== null);
  if (!includesAny(expected, claim.signatures)) return undefined;
  return { id: claim.id, bodyId: claim.form === 'github' ? bodyIdOf(body) : null };
}

/** Whether a received signature is among the expected signatures; takes equally long, whatever the result is. */
export function includesAny(
  expected: readonly Buffer[], received: readonly Buffer[], equal: Equal = timingSafeEqual,
): boolean {
  let matches = 0;
  for (const digest of expected) {
    for (const signature of received) matches += Number(equal(digest, signature));
  }
  return matches > 0;
}

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
 * Parses the signature headers of a request. Returns undefined unless the request has all headers of exactly one
 * signature scheme, each once and well-formed. `rawHeaders` contains names and values in turn, with duplicates.
 */
function readSignatureHeaders(rawHeaders: readonly string[]): SignatureClaim | undefined {
  const standard = valuesOf(rawHeaders, STANDARD_NAMES);
  const github = valuesOf(rawHeaders, GITHUB_NAMES);
  if (standard.length > 0 && github.length > 0) return undefined;
  return standard.length > 0 ? readStandard(standard) : readGithub(github);
}

type HeaderValues = { name: string; value: string }[];

function valuesOf(rawHeaders: readonly string[], names: readonly string[]): HeaderValues {
  const found: HeaderValues = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (names.includes(name)) found.push({ name, value: rawHeaders[index + 1] ?? '' });
  }
  return found;
}

function readStandard(found: HeaderValues): SignatureClaim | undefined {
  const [id, timestamp, list] = onceEach(found, STANDARD_NAMES);
  if (id === undefined || timestamp === undefined || list === undefined) return undefined;
  const signatures = readSignatureList(list);
  if (!ID.test(id) || !TIMESTAMP.test(timestamp) || signatures === undefined) return undefined;
  const sentAt = Number(timestamp) * SECOND;
  return { form: 'standard', id, sentAt, signedPrefix: `${id}.${timestamp}.`, signatures };
}

function readGithub(found: HeaderValues): SignatureClaim | undefined {
  const [id, signature] = onceEach(found, GITHUB_NAMES);
  const hex = HEX_SIGNATURE.exec(signature ?? '')?.[1];
  if (id === undefined || !ID.test(id) || hex === undefined) return undefined;
  return { form: 'github', id, signatures: [Buffer.from(hex, 'hex')] };
}

function onceEach(found: HeaderValues, names: readonly string[]): (string | undefined)[] {
  const values = names.map((name) => found.find((one) => one.name === name)?.value);
  return found.length === names.length && !values.includes(undefined) ? values : [];
}

/** Parses `version,base64` entries separated by single spaces; ignores signature versions other than v1. */
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
