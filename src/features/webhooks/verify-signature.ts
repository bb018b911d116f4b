import { createHash, createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import { MINUTE } from '../../platform/clock.ts';
import { readSignatureHeaders, type SignatureClaim } from './signature-headers.ts';
import type { SigningKeys } from './webhook-secret.ts';

/** A request as it came: the raw bytes of its body, and its headers as Node's `rawHeaders`. */
export type SignedRequest = { rawHeaders: readonly string[]; body: Buffer };

/**
 * `id` as the sender chose it. GitHub's form signs the body only, so that an event that was overheard could come again
 * under another id: there `bodyId` names the body, to be remembered beside the id. Null where the id is signed.
 */
export type VerifiedEvent = { id: string; bodyId: string | null };

type Equal = (a: Buffer, b: Buffer) => boolean;

/** How far the sender's clock and the hub's may be apart, either way (Standard Webhooks' libraries). */
const TOLERANCE = 5 * MINUTE;

const MAX_LIVE_SECRETS = 2;

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
