import type { IncomingHttpHeaders } from 'node:http';

/** Cookies (RFC 6265) of one fetch. Some sites set a cookie at a redirect, and redirect until the cookie comes back. */
export type Cookies = {
  /** Takes the Set-Cookie headers of the answer from `url`. */
  take(url: URL, headers: IncomingHttpHeaders): void;
  /** The Cookie header for `url`; undefined without cookies. */
  headerFor(url: URL): string | undefined;
};

type Cookie = { host: string; name: string; value: string; path: string; isSecure: boolean };

/** The most cookies of a fetch, and the most characters of a cookie, so that a request stays small. */
const MOST = 20;
const LONGEST = 1_000;

/** Without a Date header, an Expires before this takes a cookie back; servers write 1970. */
const LONG_AGO = Date.UTC(2000, 0); // unix ms

/** A cookie goes only to the host and port that set it, whatever its Domain attribute says, and ends with the fetch. */
export function createCookies(): Cookies {
  const kept = new Map<string, Cookie>();

  return {
    take(url, { 'set-cookie': written = [], date }) {
      for (const text of written) {
        const attributes = new Map(text.split(';').slice(1).map(nameAndValue));
        const cookie = readCookie(text, url, attributes);
        const key = JSON.stringify([cookie.host, cookie.path, cookie.name]);
        if (isOver(attributes, date)) kept.delete(key);
        else if (isSmall(cookie) && (kept.has(key) || kept.size < MOST)) kept.set(key, cookie);
      }
    },
    headerFor(url) {
      const sent = [...kept.values()].filter((cookie) => isFor(cookie, url));
      return sent.map(({ name, value }) => `${name}=${value}`).join('; ') || undefined;
    },
  };
}

function readCookie(text: string, url: URL, attributes: Map<string, string>): Cookie {
  const pair = text.split(';', 1)[0] ?? '';
  const equals = Math.max(0, pair.indexOf('='));
  const path = attributes.get('path') ?? '';
  return {
    host: hostOf(url), name: pair.slice(0, equals).trim(), value: pair.slice(equals + 1).trim(),
    path: path.startsWith('/') ? path : folderOf(url.pathname), isSecure: attributes.has('secure'),
  };
}

function nameAndValue(attribute: string): [name: string, value: string] {
  const [name = '', value = ''] = attribute.split('=', 2);
  return [name.trim().toLowerCase(), value.trim()];
}

/** Whether the cookie has expired, by the server's clock if it says a time: a fetch is too short for a later end. */
function isOver(attributes: Map<string, string>, date: string | undefined): boolean {
  const maxAge = attributes.get('max-age') ?? '';
  if (/^-?\d+$/.test(maxAge)) return Number(maxAge) <= 0;
  const now = Date.parse(date ?? '') || LONG_AGO;
  return Date.parse(attributes.get('expires') ?? '') <= now;
}

function isSmall({ name, value }: Cookie): boolean {
  return name !== '' && name.length + value.length <= LONGEST && !/\p{Cc}/u.test(name + value);
}

function isFor({ host, path, isSecure }: Cookie, url: URL): boolean {
  if (hostOf(url) !== host || (isSecure && url.protocol !== 'https:')) return false;
  return url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}

/** The host and port; at the default port the scheme, so that what https set there does not go out by http. */
function hostOf({ hostname, protocol, port }: URL): string {
  return `${hostname}:${port || protocol}`;
}

/** The path of a cookie that names none: that of the address, up to its last slash (RFC 6265, 5.1.4). */
function folderOf(pathname: string): string {
  return pathname.slice(0, pathname.lastIndexOf('/')) || '/';
}
