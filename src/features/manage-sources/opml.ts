import type { Readable } from 'node:stream';
import { inBatches } from '../../platform/db/batched-writes.ts';
import { inChunks } from '../../platform/http/reply.ts';
import { escapeHtml } from '../../platform/markup/entities.ts';
import { inSteps, STEP } from '../../platform/markup/in-steps.ts';
import { excerpt, singleLine, withoutControls } from '../../platform/markup/tidy-text.ts';
import { XmlLimitError } from '../../platform/markup/xml-tokenizer.ts';
import { attributeOf, childOf, readXmlTree, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { nextTurn } from '../../platform/turns.ts';
import { ownFeedUrl } from '../feeds/own-feeds.ts';
import { FOLDER_MAX, follows, type Follow } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { sources, type Source } from '../sources/source-store.ts';

/** A feed in an OPML document; `folder` is "A / B" for nested folders. */
export type Outline = { url: string; title: string | null; folder: string | null };

/** Returns the feeds of an OPML document; undefined if the document is not OPML or exceeds the XML parser's limits. */
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

/** Collects the feeds of an OPML document with pauses for other requests, because parsing attributes takes long. */
async function collectOutlines(body: XmlElement): Promise<Outline[]> {
  const outlines: Outline[] = [];
  let pausedAt = body.start;
  for (const [{ attributesEnd }, outline] of outlinesOf(body, '')) {
    if (outline) outlines.push(outline);
    if (attributesEnd - pausedAt < STEP) continue;
    await nextTurn();
    pausedAt = attributesEnd;
  }
  return outlines;
}

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

type ExportedFeed = { title: string; url: string; siteUrl: string | null; folder: string | null };

function* writingOpml(feeds: ExportedFeed[], createdAt: number): Generator<string> {
  const byFolder = Map.groupBy(feeds, ({ folder }) => folder);
  yield `<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0">
  <head>
    <title>Content Hub</title>
    <dateCreated>${new Date(createdAt).toUTCString()}</dateCreated>
  </head>
  <body>
`;
  for (const feed of byFolder.get(null) ?? []) yield outline(feed, '    ');
  for (const name of [...byFolder.keys()].filter((name) => name !== null).sort()) {
    const text = xml(name);
    yield `    <outline text="${text}" title="${text}">\n`;
    for (const feed of byFolder.get(name) ?? []) yield outline(feed, '      ');
    yield '    </outline>\n';
  }
  yield '  </body>\n</opml>\n';
}

function outline({ title, url, siteUrl }: ExportedFeed, indent: string): string {
  const site = siteUrl ? ` htmlUrl="${xml(siteUrl)}"` : '';
  const name = xml(title);
  return `${indent}<outline type="rss" text="${name}" title="${name}" xmlUrl="${xml(url)}"${site}/>\n`;
}

function xml(text: string): string {
  return escapeHtml(withoutControls(text));
}

const BATCH = 1_000;

/**
 * Streams an account's feeds as OPML 2.0, because each address may have 4,096 characters. For another owner's source,
 * the export contains the hub's feed address, because the original address may contain a secret.
 */
export function exportOpml(hub: Hub, accountId: number): Readable {
  const followed = new Map([...inBatches<Follow>((last) => follows(hub).listOf(accountId, last?.sourceId ?? 0, BATCH))]
    .map((follow) => [follow.sourceId, follow]));
  const own = inBatches<Source>((last) => sources(hub).listOwned(accountId, last?.id ?? 0, BATCH));
  const feeds = [...own].flatMap((source) => {
    const follow = followed.get(source.id);
    followed.delete(source.id);
    return source.feedUrl === null ? [] : [exported(source, source.feedUrl, follow)];
  });
  const others = [...followed].flatMap(([id, follow]) => {
    const source = sources(hub).find(id);
    return source?.visibility === 'public' ? [exported(source, ownFeedUrl(hub, id), follow)] : [];
  });
  return inChunks(writingOpml([...feeds, ...others], hub.clock()));
}

function exported({ title, siteUrl }: Source, url: string, follow: Follow | undefined): ExportedFeed {
  return { title: follow?.ownTitle ?? title, url, siteUrl, folder: follow?.folder ?? null };
}
