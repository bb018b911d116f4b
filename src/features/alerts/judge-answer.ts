import { excerpt, singleLine } from '../../platform/markup/plain-text.ts';
import type { AlertFormat } from '../hub/settings.ts';

/** What a receiver answered; `isWhole` is false where the answer broke off, or was longer than is read. */
export type Answer = { status: number; contentType: string; body: string; isWhole: boolean };

export type Outcome = 'delivered' | 'retry' | 'failed';

const WORTH_RETRYING = new Set([408, 425, 429]);

/**
 * Whether an alert arrived. A 2xx counts if the receiver of that format answers so; tried again are what is temporary
 * by its status (408, 425, 429, 5xx) and a 2xx that broke off before it could be understood. All else is final, since
 * it would go wrong again, or tell people twice.
 */
export function judgeAnswer(format: AlertFormat, answer: Answer): Outcome {
  const { status, isWhole } = answer;
  if (status >= 500 || WORTH_RETRYING.has(status)) return 'retry';
  if (status < 200 || status > 299) return 'failed';
  if (isAccepted(format, answer)) return 'delivered';
  return isWhole ? 'failed' : 'retry';
}

function isAccepted(format: AlertFormat, { contentType, body }: Answer): boolean {
  if (format === 'json') return true;
  if (/^text\/html\b/i.test(contentType)) return false; // somebody's sign-in page
  if (format === 'slack') return body.trim() === 'ok';
  return format !== 'rocketchat' || !/"success"\s*:\s*false/.test(body);
}

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
