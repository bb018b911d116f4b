import { createHash } from 'node:crypto';

const KEY_BYTES = 16;

/** A path that leads to the front page of a site. */
const FRONT_PAGE = /^(?:\/(?:index|default|home)\.[a-z]{3,5})?$/i;

/**
 * The key of a post's link: the hash of the address without scheme, `www.`, fragment and slashes at the end. Posts with
 * the same key link to the same page. Null for a link to a front page, and for addresses that are not of the web. The
 * address has no tracking parameters (`safeLink`).
 */
export function linkKey(address: string | null): Buffer | null {
  const url = address === null ? null : URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const path = url.pathname.replace(/(?<!\/)\/+$/, '');
  if (FRONT_PAGE.test(path)) return null;
  const link = url.host.replace(/^www\./, '') + path + url.search;
  return createHash('sha256').update(link).digest().subarray(0, KEY_BYTES);
}
