import { setImmediate } from 'node:timers/promises';
import { escapeHtml } from '../../platform/markup/entities.ts';
import { inSteps, STEP } from '../../platform/markup/in-steps.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { XmlLimitError } from '../../platform/markup/xml-tokenizer.ts';
import { attributeOf, childOf, readXmlTree, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { FOLDER_MAX } from '../follows/follow-store.ts';

/** A feed as a document names it; `folder` is "A / B" for one that lies in others. */
export type Outline = { url: string; title: string | null; folder: string | null };

/** The feeds of an OPML document. Undefined when it is no OPML, or one beyond all reason. */
export async function parseOpml(document: string): Promise<Outline[] | undefined> {
  try {
    const from = Math.max(0, document.indexOf('<'));
    const root = await inSteps(readXmlTree(document, { namespaces: new Map(), siblings: new Set(), from }));
    const body = root?.name === 'opml' ? childOf(root, 'body') : undefined;
    return body && await collectOutlines(body);
  } catch (error) {
    if (error instanceof XmlLimitError) return undefined;
    throw error;
  }
}

/** Attributes are read now, which takes as long as reading the document: in steps, too. */
async function collectOutlines(body: XmlElement): Promise<Outline[]> {
  const outlines: Outline[] = [];
  let pausedAt = body.start;
  for (const [{ attributesEnd }, outline] of outlinesOf(body, '')) {
    if (outline) outlines.push(outline);
    if (attributesEnd - pausedAt < STEP) continue;
    await setImmediate();
    pausedAt = attributesEnd;
  }
  return outlines;
}

/** Each element within, with the feed that it names. */
function* outlinesOf(parent: XmlElement, folder: string): Generator<[XmlElement, Outline?]> {
  for (const element of parent.children) {
    const isOutline = element.name === 'outline';
    const url = isOutline && attribute(element, 'xmlurl');
    const title = isOutline && (attribute(element, 'title') ?? attribute(element, 'text')) || null;
    yield url ? [element, { url, title, folder: folder || null }] : [element];
    const within = title && !url ? excerpt(folder ? `${folder} / ${title}` : title, FOLDER_MAX) : folder;
    if (isOutline) yield* outlinesOf(element, within);
  }
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
