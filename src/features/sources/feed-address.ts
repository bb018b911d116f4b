/**
 * A feed's address as people type it: `https://` may be left out, the fragment does not count. Undefined for what
 * cannot be fetched: another scheme, a user name in it, no host.
 */
export function feedAddress(typed: string): string | undefined {
  const trimmed = typed.trim().replace(/^feed:(\/\/)?/i, '');
  const written = /^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !/^[^/?#]*\.[^/?#]*:\d/.test(trimmed) ? trimmed : `https://${trimmed}`;
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const isFetchable = /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.hostname !== '';
  url.hash = '';
  return isFetchable ? url.href : undefined;
}
