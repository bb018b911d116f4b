import { absoluteUrl } from './feed-values.ts';
import { headTags } from './parse-feed.ts';

/** CSS pixels, for screens of two dots each: smaller icons look coarse, and larger ones take longer. */
const WANTED_SIDE = 36;

/** Where nothing is said, most are 16 or 32 wide. */
const USUAL_SIDE = 24;

/** Of one page. */
const MAX_LINKS = 4;

const DATA = /^data:image\//i;
const SVG = /\.svg(?:[?#]|$)|^data:image\/svg/i;

type IconLink = { url: string; cost: number };

/**
 * The icons that a web page names, those first that suit a list best: large enough, meant for pages rather than home
 * screens, for light ground. SVG is left out: the hub shows none. May hold `data:` URLs.
 */
export function findIconLinks(html: string, pageUrl: string): string[] {
  const tags = headTags(html);
  const base = tags.map(({ name, attributes }) => name === 'base' ? absoluteUrl(attributes.get('href'), pageUrl) : null)
    .find((url) => url !== null) ?? pageUrl;
  const links = tags.flatMap(({ name, attributes }) => name === 'link' ? iconLink(attributes, base) : []);
  const urls = new Set(links.toSorted((a, b) => a.cost - b.cost).map(({ url }) => url));
  return [...urls].slice(0, MAX_LINKS);
}

function iconLink(attributes: ReadonlyMap<string, string>, base: string): IconLink[] {
  const rel = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/);
  const isPlain = rel.includes('icon');
  if (!isPlain && !rel.some((name) => name.startsWith('apple-touch-icon'))) return [];
  const href = attributes.get('href')?.trim() ?? '';
  const url = DATA.test(href) ? href : absoluteUrl(href, base);
  if (url === null || /svg/i.test(attributes.get('type') ?? '') || SVG.test(url)) return [];
  const isDark = /dark/i.test(attributes.get('media') ?? '');
  return [{ url, cost: sizeCost(attributes.get('sizes')) + (isPlain ? 0 : 1_000) + (isDark ? 10_000 : 0) }];
}

/** How far the best of the sizes (`16x16 32x32`) is from the one that is wanted. */
function sizeCost(sizes: string | undefined): number {
  const sides = (sizes ?? '').split(/\s+/).map((size) => parseInt(size, 10)).filter((side) => side > 0);
  const costs = (sides.length > 0 ? sides : [USUAL_SIDE])
    .map((side) => side >= WANTED_SIDE ? side - WANTED_SIDE : 2 * (WANTED_SIDE - side));
  return Math.min(...costs, 900);
}
