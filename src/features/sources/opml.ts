import { escapeHtml } from '../../platform/markup/entities.ts';
import { singleLine } from '../../platform/markup/plain-text.ts';
import { attributeOf, childOf, parseXmlTree, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { XmlLimitError } from '../../platform/markup/xml-tokenizer.ts';

export type Outline = { url: string; title: string | null };

/** The feeds of an OPML document, groups flattened. Undefined when it is no OPML, or one beyond all reason. */
export function parseOpml(document: string): Outline[] | undefined {
  try {
    const from = Math.max(0, document.indexOf('<'));
    const root = parseXmlTree(document, { namespaces: new Map(), siblings: new Set(), from });
    const body = root?.name === 'opml' ? childOf(root, 'body') : undefined;
    return body && outlinesOf(body);
  } catch (error) {
    if (error instanceof XmlLimitError) return undefined;
    throw error;
  }
}

function outlinesOf(parent: XmlElement): Outline[] {
  return parent.children.flatMap((element) => {
    if (element.name !== 'outline') return [];
    const url = attribute(element, 'xmlurl');
    const here = url ? [{ url, title: attribute(element, 'title') ?? attribute(element, 'text') ?? null }] : [];
    return [...here, ...outlinesOf(element)];
  });
}

function attribute(element: XmlElement, name: string): string | undefined {
  return singleLine(attributeOf(element, name) ?? '') || undefined;
}

type Listed = { title: string; feedUrl: string | null; siteUrl: string | null };

/** OPML 2.0. `createdAt` in unix ms. */
export function writeOpml(sources: Listed[], createdAt: number): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0">
  <head>
    <title>Content Hub</title>
    <dateCreated>${new Date(createdAt).toUTCString()}</dateCreated>
  </head>
  <body>
${sources.map(outline).join('')}  </body>
</opml>
`;
}

function outline({ title, feedUrl, siteUrl }: Listed): string {
  const site = siteUrl ? ` htmlUrl="${escapeHtml(siteUrl)}"` : '';
  const name = escapeHtml(title);
  return `    <outline type="rss" text="${name}" title="${name}" xmlUrl="${escapeHtml(feedUrl ?? '')}"${site}/>\n`;
}
