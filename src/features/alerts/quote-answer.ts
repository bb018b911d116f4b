import { excerpt, singleLine } from '../../platform/markup/plain-text.ts';

const MAX_QUOTED = 160;

/** Parts of longer secrets are looked for too, in windows of this many characters. */
const WINDOW = 6;

// Path segments that every address of a kind has.
const COMMON_WORDS = new Set([
  'api', 'hooks', 'incoming', 'invoke', 'manual', 'message', 'messages', 'paths', 'rest', 'services', 'spaces', 'token',
  'triggers', 'v1', 'webhook', 'webhooks', 'workflows',
]);

/**
 * A receiver's words, fit for a log line: one short line; empty where they repeat anything of the address beyond its
 * host, as servers do that answer "cannot POST /services/…".
 */
export function quoteAnswer(body: string, address: string): string {
  const visible = body.slice(0, 4 * MAX_QUOTED).toWellFormed().replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
  const quoted = excerpt(singleLine(visible), MAX_QUOTED);
  const url = URL.parse(address);
  return url !== null && !repeats(quoted, url) ? quoted : '';
}

function repeats(quoted: string, url: URL): boolean {
  const folded = quoted.toLowerCase();
  return secretsOf(url).some((secret) => windowsOf(secret.toLowerCase()).some((part) => folded.includes(part)));
}

/** What in an address may be secret: segments of its path, values, credentials; as written and decoded. */
function secretsOf(url: URL): string[] {
  const pair = Buffer.from(`${url.username}:${url.password}`).toString('base64');
  const query = url.search.slice(1).split('&').map((parameter) => parameter.slice(parameter.indexOf('=') + 1));
  const written = [...url.pathname.split('/'), ...query, url.username, url.password, url.hash.slice(1), pair];
  const both = written.flatMap((part) => [part, decode(part)]);
  return both.filter((part) => part.length > 1 && !COMMON_WORDS.has(part.toLowerCase()));
}

function windowsOf(secret: string): string[] {
  if (secret.length <= WINDOW) return [secret];
  return Array.from({ length: secret.length - WINDOW + 1 }, (_, start) => secret.slice(start, start + WINDOW));
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
