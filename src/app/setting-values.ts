import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { parseCidrs, type Cidr } from '../platform/net/address-guard.ts';
import { TOKEN_PREFIX } from '../platform/token-prefix.ts';
import type { Parse } from './settings-reader.ts';

const HOST_NAME = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.(?!$)|$))+$/i;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** A whole number between the two, both included. */
export function integer(min: number, max: number): Parse<number> {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    throw new Error(`must be a whole number from ${min} to ${max}`);
  };
}

/** One of a few words. */
export function oneOf<Word extends string>(...words: Word[]): Parse<Word> {
  return (text) => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new Error(`must be one of ${words.join(', ')}`);
    return word;
  };
}

/** A host name or an address, IPv6 without brackets. */
export function host(text: string): string {
  if ((isIP(text) !== 0 && !text.includes('%')) || HOST_NAME.test(text)) return text;
  throw new Error('must be a host name or an IP address (IPv6 without brackets), for example 127.0.0.1');
}

/** Scheme, host and port of a public address; kept without a trailing slash. */
export function origin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url?.pathname === '/' && !/[?#@\s\\]/.test(text);
  if (url && plain && /^https?:\/\//i.test(text)) return url.origin;
  throw new Error(
    'must be an http or https address with nothing after the host and port, for example https://hub.example.org',
  );
}

/** A folder; a relative one is taken from the project's. */
export function folder(projectRoot: string): Parse<string> {
  return (text) => {
    if (text !== '' && !text.startsWith('~')) return resolve(projectRoot, text);
    throw new Error('must be a folder, absolute or relative to the project (~ is not expanded)');
  };
}

/** Comma-separated address ranges; none at all is fine. */
export function cidrs(text: string): Cidr[] {
  try {
    return parseCidrs(text);
  } catch (error) {
    const reason = error instanceof Error ? ` (${error.message})` : '';
    throw new Error(`must be comma-separated address ranges such as 10.0.0.0/8, fd00::/8${reason}`);
  }
}

/** What can stand after "Bearer " in a header and is not taken for an API token. */
export function bearerToken(text: string): string {
  if (!VISIBLE_ASCII.test(text)) throw new Error('must be one or more visible ASCII characters without spaces');
  if (!text.startsWith(TOKEN_PREFIX)) return text;
  throw new Error(`must be a token of its own; those that begin with ${TOKEN_PREFIX} are the hub's API tokens`);
}
