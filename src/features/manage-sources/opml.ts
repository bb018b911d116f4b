import { escapeHtml } from '../../platform/markup/escape-html.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { XmlLimitError } from '../../platform/markup/xml-tokenizer.ts';
import { attributeOf, childOf, parseXmlTree, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { FOLDER_MAX } from '../follows/follow-store.ts';

/** A feed as a document names it; `folder` is "A / B" for one that lies in others. */
export type Outline = { url: string; title: string | null; folder: string | null };

/** The feeds of an OPML document. Undefined when it is no OPML, or one beyond all reason. */
export function parseOpml(document: string): Outline[] | undefined {
  try {
    const from = Math.max(0, document.indexOf('<'));
    const root = parseXmlTree(document, { namespaces: new Map(), siblings: new Set(), from });
    const body = root?.name === 'opml' ? childOf(root, 'body') : undefined;
    return body && outlinesOf(body, '');
  } catch (error) {
    if (error instanceof XmlLimitError) return undefined;
    throw error;
  }
}

function outlinesOf(parent: XmlElement, folder: string): Outline[] {
  return parent.children.flatMap((element) => {
    if (element.name !== 'outline') return [];
    const url = attribute(element, 'xmlurl');
    const title = attribute(element, 'title') ?? attribute(element, 'text') ?? null;
    if (url) return [{ url, title, folder: folder || null }, ...outlinesOf(element, folder)];
    return outlinesOf(element, title ? excerpt(folder ? `${folder} / ${title}` : title, FOLDER_MAX) : folder);
  });
}

function attribute(element: XmlElement, name: string): string | undefined {
  return singleLine(attributeOf(element, name) ?? '') || undefined;
}

/** A feed to be written into a document. */
export type ExportedFeed = { title: string; url: string; siteUrl: string | null; folder: string | null };

/** The feeds as OPML 2.0, by folder; those without one come first. */
export function writeOpml(feeds: ExportedFeed[], createdAt: number): string {
  const byFolder = Map.groupBy(feeds, ({ folder }) => folder);
  const folders = [...byFolder.keys()].filter((name) => name !== null).sort();
  const loose = (byFolder.get(null) ?? []).map((feed) => outline(feed, '    '));
  return `<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0">
  <head>
    <title>Content Hub</title>
    <dateCreated>${new Date(createdAt).toUTCString()}</dateCreated>
  </head>
  <body>
${loose.join('')}${folders.map((name) => group(name, byFolder.get(name) ?? [])).join('')}  </body>
</opml>
`;
}

function group(name: string, feeds: ExportedFeed[]): string {
  const text = escapeHtml(name);
  const inside = feeds.map((feed) => outline(feed, '      ')).join('');
  return `    <outline text="${text}" title="${text}">\n${inside}    </outline>\n`;
}

function outline({ title, url, siteUrl }: ExportedFeed, indent: string): string {
  const site = siteUrl ? ` htmlUrl="${escapeHtml(siteUrl)}"` : '';
  const name = escapeHtml(title);
  return `${indent}<outline type="rss" text="${name}" title="${name}" xmlUrl="${escapeHtml(url)}"${site}/>\n`;
}
