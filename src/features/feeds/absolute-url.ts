import { attributeOf, type XmlElement } from '../../platform/markup/xml-tree.ts';

/** Addresses that `new URL` would give back unchanged; most are, and the test is a third of the work. */
const NORMAL = /^https?:\/\/(?:[a-z0-9]+[.-])+[a-z]{2,}\/[\w\-.~:/?#[\]@!$&()*+,;=%]*$/;

/** The absolute http(s) address of a link, as a browser would read it, or null where it is none. */
export function absoluteUrl(link: string | null | undefined, base: string): string | null {
  const trimmed = link?.trim() ?? '';
  if (trimmed === '') return null;
  if (isNormal(trimmed)) return trimmed;
  const url = URL.parse(trimmed, base) ?? URL.parse(trimmed);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url.href : null;
}

/** What relative links inside an element resolve against; `given` where the document says so itself (XML Base). */
export type LinkBase = { url: string; given: boolean };

/** The base inside an element, given what holds around it. */
export function baseInside(element: XmlElement | null, base: LinkBase): LinkBase {
  const url = element === null ? null : absoluteUrl(attributeOf(element, 'xml:base'), base.url);
  return url === null ? base : { url, given: true };
}

/** Dots at the start of a path segment may be steps in the path, also when they are encoded. */
function isNormal(link: string): boolean {
  return NORMAL.test(link) && !link.includes('/.') && !/%2e/i.test(link);
}
