const MAX_URL_LENGTH = 4_096;

const WEB_SCHEMES = new Set(['http:', 'https:']);
const PRINTABLE_ADDRESS = /^(?:mailto|tel):[!-~]+$/;

const TRACKING_PREFIX = /^(?:utm|pk|mtm|matomo|piwik|hsa|vero|oly)_/i;
const TRACKING_NAMES = new Set([
  'fbclid', 'gclid', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'msclkid', 'yclid', 'ymclid', 'twclid', 'ttclid',
  'igshid', 'igsh', 'li_fat_id', 'epik', 'srsltid', 'mc_cid', 'mc_eid', '_hsenc', '_hsmi', '__hstc', '__hssc',
  '__hsfp', 'hsctatracking', 'mkt_tok', '_openstat', 'wickedid', 'rb_clickid', 's_kwcid', 'ef_id', 'ml_subscriber',
  'ml_subscriber_hash', '_ga', '_gl', '_branch_match_id', 'at_medium', 'at_campaign', 'xtor',
]);

/** A link that a reader may follow: absolute http, https, mailto or tel; undefined for any other link. */
export function safeLink(address: string, baseUrl: string): string | undefined {
  const web = webAddress(address, baseUrl);
  if (web !== undefined) return web;
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

function removeTracking(url: URL): void {
  const parameters = url.search.slice(1).split('&');
  const kept = parameters.filter((parameter) => !isTracking(parameter));
  if (kept.length < parameters.length) url.search = kept.join('&');
}

/** Whether a parameter (`name` or `name=value`) only tracks where the reader came from. */
function isTracking(parameter: string): boolean {
  const name = parameter.split('=', 1)[0] ?? '';
  return TRACKING_PREFIX.test(name) || TRACKING_NAMES.has(name.toLowerCase());
}
