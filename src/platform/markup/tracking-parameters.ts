/**
 * Query parameters that the hub removes from every link. A post without an id of its publisher is known by its link
 * without tracking parameters, so a change of FIXED_NAMES would make the hub store known posts a second time.
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

/** Removes the parameters of the fixed list from a URL. */
export function removeTracking(url: URL): void {
  keepParameters(url, (name) => !FIXED_PREFIX.test(name) && !FIXED_NAMES.has(name.toLowerCase()));
}

/** Removes the parameters of LINK_NAMES from a link, and `ref` if `ref` names the host of the linking page. */
export function removeLinkTracking(url: URL, pageUrl: string): void {
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
