import {
  createCipheriv, createDecipheriv, createHash, createHmac, createSecretKey, hkdfSync, randomBytes, type KeyObject,
} from 'node:crypto';

/** A new secret for a link, cookie or token: 256 random bits. The database keeps only its hash. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The characters of secrets that people type: no `l`, `o`, `0` or `1`, which are easily mistaken for each other. */
const TYPED = 'abcdefghijkmnpqrstuvwxyz23456789';
const TYPED_LENGTH = 24;

/** A new secret that people type into apps: 120 random bits as letters and digits. */
export function newTypedSecret(): string {
  return Array.from(randomBytes(TYPED_LENGTH), (byte) => TYPED[byte % TYPED.length]).join('');
}

/** SHA-256 of a secret, in hex. Random secrets need no slow hash. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** HMAC-SHA-256 of a text: proves that the hub wrote the text, as long as `seed` stays secret. */
export function signText(text: string, seed: string): string {
  return createHmac('sha256', seed).update(text).digest('base64url');
}

/** A stored secret that cannot be read, or a key file that cannot be used; the message is for the operator. */
export class SealedSecretError extends Error {}

export const PLAIN = 'plain:';
const SEALED = 'aes-256-gcm-v1:';

const KEY_FILE_BYTES = { min: 32, max: 4_096 };
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PURPOSE = 'content hub: webhook secrets, version 1';

/** The key of all bytes of a key file, its line end included (HKDF, SHA-256, RFC 5869). Throws SealedSecretError. */
export function deriveSealingKey(fileBytes: Buffer): KeyObject {
  const { min, max } = KEY_FILE_BYTES;
  if (fileBytes.length < min || fileBytes.length > max) {
    throw new SealedSecretError(`the key file must hold ${min} to ${max} random bytes, not ${fileBytes.length}`);
  }
  return createSecretKey(Buffer.from(hkdfSync('sha256', fileBytes, '', PURPOSE, KEY_BYTES)));
}

/**
 * Encrypts a secret to `aes-256-gcm-v1:` and base64url of nonce, ciphertext and tag; without a key, returns `plain:`
 * and the secret. `context` names what it belongs to, such as `feed 7`: decryption for anything else fails.
 */
export function sealSecret(secret: string, key: KeyObject | null, context: string): string {
  if (key === null) return PLAIN + secret;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(context));
  const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return SEALED + sealed.toString('base64url');
}

/** Decrypts a stored secret, also one that was stored plain. Throws SealedSecretError. */
export function openSecret(stored: string, key: KeyObject | null, context: string): string {
  if (stored.startsWith(PLAIN)) return stored.slice(PLAIN.length);
  if (!stored.startsWith(SEALED)) throw new SealedSecretError('a stored secret has an unknown format');
  if (key === null) {
    throw new SealedSecretError('secrets are stored encrypted, and there is no key to decrypt them: '
      + 'set HUB_SECRET_KEY_FILE to the file that the secrets were encrypted with');
  }
  return decrypt(sealedBytes(stored.slice(SEALED.length)), key, context);
}

/** Encrypts and decrypts the stored secrets of feeds or of webhooks, each bound to the id of its source. */
export function sealedSecrets(kind: 'feed' | 'webhook') {
  const contextOf = (id: number): string => `${kind} ${id}`;
  const seal = ({ hubSecretKey }: SealingKey, id: number, secret: string): string =>
    sealSecret(secret, hubSecretKey, contextOf(id));
  const open = ({ hubSecretKey }: SealingKey, id: number, stored: string): string =>
    openSecret(stored, hubSecretKey, contextOf(id));
  return {
    seal,
    open,
    /** Encrypts a secret that was stored before the operator set a key. */
    sealAnew: (key: SealingKey, id: number, stored: string): string =>
      stored.startsWith(SEALED) ? stored : seal(key, id, open(key, id, stored)),
  };
}

type SealingKey = { hubSecretKey: KeyObject | null };

function decrypt(sealed: Buffer, key: KeyObject, context: string): string {
  const ciphertextEnd = sealed.length - TAG_BYTES;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(context));
  decipher.setAuthTag(sealed.subarray(ciphertextEnd));
  const opened = decipher.update(sealed.subarray(NONCE_BYTES, ciphertextEnd));
  try {
    decipher.final();
  } catch (cause) {
    throw new SealedSecretError('a stored secret cannot be decrypted: '
      + 'HUB_SECRET_KEY_FILE holds a different key, or the stored secret was changed', { cause });
  }
  return opened.toString('utf8');
}

/** Decodes canonical base64url only, so that no changed character passes. */
function sealedBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') === text && bytes.length >= NONCE_BYTES + TAG_BYTES) return bytes;
  throw new SealedSecretError('a stored secret is damaged');
}

function boundTo(context: string): Buffer {
  return Buffer.from(SEALED + context);
}
