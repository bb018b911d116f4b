import type { KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { isAbsolute, resolve } from 'node:path';
import type { LogLevel } from '../../platform/log.ts';
import { parseCidrs, type Cidr } from '../../platform/net/address-guard.ts';
import { deriveSealingKey, SealedSecretError } from '../../platform/secrets.ts';

/** Every API token begins with this prefix, by which a leaked token can be found in a text and revoked. */
export const TOKEN_PREFIX = 'hub_';

/** Throws an Error whose message begins with "must"; that of a secret setting does not repeat the text. */
export type Parse<Value> = (text: string, projectRoot: string) => Value;

const HOST_NAME = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.(?!$)|$))+$/i;
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/i; // URLs read a host name as IPv4 if its last part is a number
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const CONTROL = /[\x00-\x1f\x7f]/;
const AGE_RECIPIENT = /^age1[a-z0-9+._-]+$/; // a recipient of age or of an age plugin
const KEY_FINGERPRINT = /^[0-9A-F]{40}$/i; // the fingerprint of an OpenPGP key
const RESTIC_BACKEND = /^(?:rest:https?:\/\/|(?:sftp|s3|swift|b2|azure|gs|rclone):)[\w@/]/;
const KEEP_RULE = /^(?:last|hourly|daily|weekly|monthly|yearly)=[1-9][0-9]{0,3}$/; // `restic forget --keep-…`
const RCLONE_REMOTE = /^[\w.+@](?:[\w.+@ -]*[\w.+@-])?:/; // rclone's rule for names of remotes

export function integer(min: number, max: number): Parse<number> {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    throw new Error(`must be a whole number from ${min} to ${max}`);
  };
}

export function oneOf<Word extends string>(...words: Word[]): Parse<Word> {
  return (text) => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new Error(`must be one of ${words.join(', ')}`);
    return word;
  };
}

export const logLevel: Parse<LogLevel> = oneOf('debug', 'info', 'warn', 'error');

/** Parses a host name or an address (IPv6 without brackets). A host name must not end in a number (RFC 1123). */
export function host(text: string): string {
  if ((isIP(text) !== 0 && !text.includes('%')) || (HOST_NAME.test(text) && !ENDS_IN_NUMBER.test(text))) return text;
  throw new Error('must be a host name or an IP address (IPv6 without brackets), for example 127.0.0.1');
}

/** Scheme, host and port. A slash at the end, and the scheme's own port, are left out. */
export function origin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url?.pathname === '/' && !/[?#@\s\\]/.test(text);
  if (url && plain && /^https?:\/\//i.test(text)) return url.origin;
  throw new Error(
    'must be an http or https address with nothing after the host and port, for example https://hub.example.org',
  );
}

export function zeroOrOne(text: string): boolean {
  if (text === '1' || text === '0') return text === '1';
  throw new Error('must be 1 or 0');
}

export function shellCommand(text: string): string {
  if (text.trim() !== '' && !text.includes('\n')) return text;
  throw new Error('must be a shell command on a single line');
}

/** The ports that `fetch` refuses (https://fetch.spec.whatwg.org/#port-blocking), but for 0. */
export const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
  110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
  531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
  5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** Parses an address to which the hub sends requests, with path and query, and perhaps user name and password. */
export function httpUrl(text: string): string {
  const url = /^https?:\/\/[^\s\\]+$/i.test(text) ? URL.parse(text) : null;
  if (url === null) throw new Error('must be an http or https address');
  if (!BLOCKED_PORTS.has(Number(url.port))) return url.href;
  throw new Error(`must be an address with another port: fetch never connects to port ${url.port}`);
}

/** A relative path is resolved against the project's folder. */
export function folder(text: string, projectRoot: string): string {
  if (text !== '' && !text.startsWith('~')) return resolve(projectRoot, text);
  throw new Error('must be a folder, absolute or relative to the project (~ is not expanded)');
}

/** Separated by commas; may be empty. */
export function cidrs(text: string): Cidr[] {
  try {
    return parseCidrs(text);
  } catch (error) {
    const reason = error instanceof Error ? ` (${error.message})` : '';
    throw new Error(`must be comma-separated address ranges such as 10.0.0.0/8, fd00::/8${reason}`);
  }
}

/** Parses a token that can follow "Bearer " in a header and that nobody can take for an API token of the hub. */
export function bearerToken(text: string): string {
  if (!VISIBLE_ASCII.test(text)) throw new Error('must be one or more visible ASCII characters without spaces');
  if (!text.startsWith(TOKEN_PREFIX)) return text;
  throw new Error(`must be a token that does not begin with ${TOKEN_PREFIX}, as the hub's API tokens do`);
}

export function days(text: string): number {
  if (/^[1-9][0-9]{0,3}$/.test(text)) return Number(text);
  throw new Error('must be a number of days from 1 to 9999');
}

/** Refuses control characters, because scripts read the paths line by line. */
function absolutePath(what: string): Parse<string> {
  return (text) => {
    if (isAbsolute(text) && !CONTROL.test(text)) return resolve(text);
    throw new Error(`must be the absolute path of ${what}`);
  };
}

export const farFolder = absolutePath('a folder, for example /mnt/backup');
export const scriptsFile = absolutePath('a file');

/** Recipients separated by spaces, or the absolute path of a file that lists them. */
export function ageRecipient(text: string): string {
  if (/AGE-SECRET-KEY/i.test(text)) {
    throw new Error('must be a recipient (age1…): this is a secret key, which must not be on this machine');
  }
  const recipients = text.trim().split(/ +/);
  if (recipients.every((recipient) => AGE_RECIPIENT.test(recipient))) return recipients.join(' ');
  if (isAbsolute(text) && !CONTROL.test(text)) return text;
  throw new Error('must be age recipients (age1…) separated by spaces, or the absolute path of a file that lists them');
}

/** Parses the key that encrypts secrets in the database. `bytes`: the content of the key file, read as latin1. */
export function sealingKey(bytes: string): KeyObject {
  try {
    return deriveSealingKey(Buffer.from(bytes, 'latin1'));
  } catch (error) {
    if (!(error instanceof SealedSecretError)) throw error;
    throw new Error('must name a file of 32 to 4096 random bytes, as made by: head -c 32 /dev/urandom > FILE');
  }
}

/** Parses an rclone destination, `<remote>:<path>`. Without a colon, rclone would read a path on this machine. */
export function rcloneRemote(text: string): string {
  if (RCLONE_REMOTE.test(text) && !CONTROL.test(text)) return text;
  throw new Error('must be a remote of the rclone configuration and a path, for example box:hub');
}

/** An absolute path, or the name of a backend with an address. */
export function resticRepository(text: string): string {
  if (RESTIC_BACKEND.test(text) && !CONTROL.test(text)) return text;
  if (isAbsolute(text) && !CONTROL.test(text)) return resolve(text);
  throw new Error('must be the absolute path of a restic repository, or an address such as rclone:box:hub or ' +
    'sftp:me@host:/hub');
}

/** Parses OpenPGP fingerprints, separated by spaces. Refuses short key ids, because these can be forged. */
export function keyFingerprints(text: string): string {
  const fingerprints = text.trim().split(/ +/);
  const areWhole = fingerprints.every((fingerprint) => KEY_FINGERPRINT.test(fingerprint));
  if (areWhole) return fingerprints.join(' ').toUpperCase();
  throw new Error('must be fingerprints of 40 hexadecimal digits without spaces, separated by spaces');
}

/** Parses the numbers of snapshots that restic keeps, such as `daily=7 weekly=4`; each period may occur only once. */
export function resticKeep(text: string): string {
  const rules = text.trim().split(/ +/);
  const periods = new Set(rules.map((rule) => rule.split('=')[0]));
  if (rules.every((rule) => KEEP_RULE.test(rule)) && periods.size === rules.length) return rules.join(' ');
  throw new Error('must be numbers from 1 to 9999 for any of last, hourly, daily, weekly, monthly and yearly, ' +
    'such as daily=7 weekly=4 monthly=12');
}
