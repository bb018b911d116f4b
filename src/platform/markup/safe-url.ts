const MAX_URL_LENGTH = 4_096;

const WEB_SCHEMES = new Set(['http:', 'https:']);
/** Most addresses in feeds: the URL parser would return them unchanged, ten times as slowly. */
const PLAIN_ADDRESS = /^https?:\/\/(?:[a-z0-9]+[.-])+[a-z]{2,}(?:\/[\w~-][\w.~*-]*)+\/?(?:\?\d+)?$/;
const PRINTABLE_ADDRESS = /^(?:mailto|tel):[!-~]+$/;

/**
 * Query parameters that the hub removes from every link. A post without an id of its publisher is known by its link
 * without tracking parameters, so a change of these would make the hub store known posts a second time.
 */
const FIXED_PREFIX = /^(?:utm|pk|mtm|matomo|piwik|hsa|vero|oly)_/i;
const FIXED_NAMES = new Set([
  'fbclid', 'gclid', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'msclkid', 'yclid', 'ymclid', 'twclid', 'ttclid',
  'igshid', 'igsh', 'li_fat_id', 'epik', 'srsltid', 'mc_cid', 'mc_eid', '_hsenc', '_hsmi', '__hstc', '__hssc',
  '__hsfp', 'hsctatracking', 'mkt_tok', '_openstat', 'wickedid', 'rb_clickid', 's_kwcid', 'ef_id', 'ml_subscriber',
  'ml_subscriber_hash', '_ga', '_gl', '_branch_match_id', 'at_medium', 'at_campaign', 'xtor',
]);

/** Further query parameters that the hub removes from the links that readers see; LINK_NAMES may grow. */
const LINK_NAMES = new Set([
  'fb_action_ids', 'fb_action_types', 'fb_ref', 'fb_source', 'fbc', 'campaign_medium', 'campaign_name',
  'campaign_source', 'campaign_term', 'campaign_content', 'ysclid', 'mc_tc', 'sc_cid', '_bhlid', '_branch_referrer',
  '__readwiselocation', 'guccounter', 'guce_referrer', 'guce_referrer_sig', 'ref_src', 'ref_url', 'trkcampaign',
  'cmpid', 'ncid', 'icid', 'smid', 'at_link_id', 'at_link_origin', 'at_link_type', 'at_ptr_name', 'at_bbc_team',
  'gad_source', 'gad_campaignid', 'irclickid', 'cjevent', 'sfmc_id', 'dm_i', '_kx', 'ck_subscriber_id',
]);

/** An absolute http, https, mailto or tel link without tracking parameters. `baseUrl`: the page with the link. */
export function safeLink(address: string, baseUrl: string): string | undefined {
  const web = webUrl(address, baseUrl);
  if (web !== undefined && web.search !== '') removeLinkTracking(web, baseUrl);
  if (web !== undefined) return web.href;
  const href = parseUrl(address, baseUrl)?.href ?? '';
  return PRINTABLE_ADDRESS.test(href) ? href : undefined;
}

/** An http or https address as an absolute URL, without credentials and tracking parameters; otherwise undefined. */
export function webAddress(address: string, baseUrl: string): string | undefined {
  const isPlain = address.length <= MAX_URL_LENGTH && PLAIN_ADDRESS.test(address);
  return isPlain ? address : webUrl(address, baseUrl)?.href;
}

/** Parses an http or https address of at most 4,096 characters, and removes credentials and tracking parameters. */
export function webUrl(address: string, baseUrl: string): URL | undefined {
  const url = parseUrl(address, baseUrl);
  if (url === undefined || !WEB_SCHEMES.has(url.protocol)) return undefined;
  if (url.username !== '') url.username = '';
  if (url.password !== '') url.password = '';
  const isKept = (name: string): boolean => !FIXED_PREFIX.test(name) && !FIXED_NAMES.has(name.toLowerCase());
  if (url.search !== '') keepParameters(url, isKept);
  return url;
}

/** Parses a URL. The URL parser itself strips the white space and controls that browsers strip (URL Standard, 4.4). */
function parseUrl(address: string, baseUrl: string): URL | undefined {
  if (address.length > MAX_URL_LENGTH) return undefined;
  const url = URL.parse(address, baseUrl) ?? URL.parse(address);
  return url !== null && url.href.length <= MAX_URL_LENGTH ? url : undefined;
}

function removeLinkTracking(url: URL, pageUrl: string): void {
  keepParameters(url, (name, value = '') => !LINK_NAMES.has(name.toLowerCase())
    && !(name.toLowerCase() === 'ref' && withoutWww(value) === withoutWww(URL.parse(pageUrl)?.hostname ?? '/')));
}

function keepParameters(url: URL, isKept: (name: string, value?: string) => boolean): void {
  const parameters = url.search.slice(1).split('&');
  const kept = parameters.filter((parameter) => isKept(...parameter.split('=', 2) as [name: string, value?: string]));
  if (kept.length < parameters.length) url.search = kept.join('&');
}

function withoutWww(host: string): string {
  return host.toLowerCase().replace(/^www\./, '');
}
