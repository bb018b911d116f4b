import { removeLinkTracking, removeTracking } from './tracking-parameters.ts';

const MAX_URL_LENGTH = 4_096;

const WEB_SCHEMES = new Set(['http:', 'https:']);
const PRINTABLE_ADDRESS = /^(?:mailto|tel):[!-~]+$/;

/**
 * A link that a reader may follow: absolute http, https, mailto or tel; undefined for any other link. A link without
 * tracking parameters; `baseUrl` is the address of the page that has the link.
 */
export function safeLink(address: string, baseUrl: string): string | undefined {
  const web = webUrl(address, baseUrl);
  if (web !== undefined && web.search !== '') removeLinkTracking(web, baseUrl);
  if (web !== undefined) return web.href;
  const href = parseUrl(address, baseUrl)?.href ?? '';
  return PRINTABLE_ADDRESS.test(href) ? href : undefined;
}

/** An http or https address as an absolute URL, without credentials and tracking parameters; otherwise undefined. */
export function webAddress(address: string, baseUrl: string): string | undefined {
  return webUrl(address, baseUrl)?.href;
}

/**
 * Parses an http or https address to an absolute URL, without credentials and tracking parameters. Returns undefined
 * for other schemes and for an address of more than 4,096 characters.
 */
export function webUrl(address: string, baseUrl: string): URL | undefined {
  const url = parseUrl(address, baseUrl);
  if (url === undefined || !WEB_SCHEMES.has(url.protocol)) return undefined;
  if (url.username !== '') url.username = '';
  if (url.password !== '') url.password = '';
  if (url.search !== '') removeTracking(url);
  return url;
}

/** Parses a URL. The URL parser itself strips the white space and controls that browsers strip (URL Standard, 4.4). */
function parseUrl(address: string, baseUrl: string): URL | undefined {
  if (address.length > MAX_URL_LENGTH) return undefined;
  const url = URL.parse(address, baseUrl) ?? URL.parse(address);
  return url !== null && url.href.length <= MAX_URL_LENGTH ? url : undefined;
}
