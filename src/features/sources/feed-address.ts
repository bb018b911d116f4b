/** Characters. What is longer is refused before any expression or parser looks at it. */
export const ADDRESS_MAX = 2_000;

/**
 * A feed's address as people type it: `https://` may be left out, the fragment does not count. Undefined for what
 * cannot be fetched: another scheme, a user name in it, no host, more than ADDRESS_MAX characters.
 */
export function feedAddress(typed: string): string | undefined {
  if (typed.length > ADDRESS_MAX) return undefined;
  const trimmed = typed.trim().replace(/^feed:(\/\/)?/i, '');
  const isHostAndPort = /^[^/?#:.]*\.[^/?#:]*:\d/.test(trimmed);
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !isHostAndPort;
  const written = hasScheme ? trimmed : `https://${trimmed}`;
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const isFetchable = isWeb && url.username === '' && url.password === '' && url.hostname !== '';
  url.hash = '';
  return isFetchable ? url.href : undefined;
}
