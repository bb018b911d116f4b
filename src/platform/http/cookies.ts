/** The value of one cookie of a Cookie header (RFC 6265 §5.4), or undefined. Of several the first counts. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** The `__Host-` prefix binds a cookie to its origin, but browsers accept it over https only. */
export function cookieName(name: string, secure: boolean): string {
  return secure ? `__Host-${name}` : name;
}

type CookieOptions = { secure: boolean; maxAge: number };

/** A Set-Cookie value: HttpOnly, for the whole site, sent with same-site requests and links. `maxAge` in seconds. */
export function setCookie(name: string, value: string, { secure, maxAge }: CookieOptions): string {
  const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure ? '; Secure' : ''}`;
  return `${cookieName(name, secure)}=${value}; ${attributes}`;
}
