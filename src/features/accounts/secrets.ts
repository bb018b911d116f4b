import { createHash, randomBytes } from 'node:crypto';

/** A new secret for a link, cookie or token: 256 random bits. Only its hash is stored. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** SHA-256, hex: enough for secrets that are random themselves. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
