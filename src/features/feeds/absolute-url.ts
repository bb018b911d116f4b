import { webAddress } from '../../platform/markup/safe-url.ts';
import { attributeOf, type XmlElement } from '../../platform/markup/xml-tree.ts';

/** As the sanitiser writes links: absolute http(s) without credentials; null where a link is none or too long. */
export function absoluteUrl(link: string | null | undefined, base: string): string | null {
  const trimmed = link?.trim() ?? '';
  return trimmed === '' ? null : webAddress(trimmed, base) ?? null;
}

/** What relative links inside an element resolve against; `given` where the document says so itself (XML Base). */
export type LinkBase = { url: string; given: boolean };

/** The base inside an element, given what holds around it. */
export function baseInside(element: XmlElement | null, base: LinkBase): LinkBase {
  const url = element === null ? null : absoluteUrl(attributeOf(element, 'xml:base'), base.url);
  return url === null ? base : { url, given: true };
}
