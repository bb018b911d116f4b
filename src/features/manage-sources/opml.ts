import type { Readable } from 'node:stream';
import { inBatches } from '../../platform/db/batched-writes.ts';
import { inChunks } from '../../platform/http/reply.ts';
import { decodeEntities, escapeHtml } from '../../platform/markup/entities.ts';
import { inSteps, STEP } from '../../platform/markup/in-steps.ts';
import { excerpt, singleLine, withoutControls } from '../../platform/markup/tidy-text.ts';
import { XmlLimitError } from '../../platform/markup/xml-tokenizer.ts';
import { attributeOf, readXmlTree, type XmlElement } from '../../platform/markup/xml-tree.ts';
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
    return root && isNamed(root, 'opml') ? await collectOutlines(root) : undefined;
  } catch (error) {
    if (error instanceof XmlLimitError) return undefined;
    throw error;
  }
}

/** Collects the feeds of an OPML document with pauses for other requests, because parsing attributes takes long. */
async function collectOutlines(root: XmlElement): Promise<Outline[]> {
  const outlines: Outline[] = [];
  let pausedAt = root.start;
  for (const [{ attributesEnd }, outline] of outlinesOf(root, '')) {
    if (outline) outlines.push(outline);
    if (attributesEnd - pausedAt < STEP) continue;
    await nextTurn();
    pausedAt = attributesEnd;
  }
  return outlines;
}

function* outlinesOf(parent: XmlElement, folder: string): Generator<[XmlElement, Outline?]> {
  for (const element of parent.children) {
    if (isNamed(element, 'body')) yield* outlinesOf(element, folder);
    if (!isNamed(element, 'outline') || attribute(element, 'iscomment')?.toLowerCase() === 'true') {
      yield [element];
      continue;
    }
    const [url, title] = [feedUrl(element), nameOf(element)];
    yield url ? [element, { url, title, folder: folder || categoryOf(element) }] : [element];
    const isFolder = title !== null && !url && !isOnlyFeed(element, title);
    yield* outlinesOf(element, isFolder ? excerpt(folder ? `${folder} / ${title}` : title, FOLDER_MAX) : folder);
  }
}

/** Documents may write all names with a prefix of their own. */
function isNamed({ name }: XmlElement, local: string): boolean {
  return name.slice(name.indexOf(':') + 1) === local;
}

const FEED_TYPE = /^(?:rss|atom|rdf|feed|json)/i;

/** OPML 2.0 knows `xmlUrl` only; `url` of another type, such as `link`, is a page or another document. */
function feedUrl(element: XmlElement): string | undefined {
  const others = FEED_TYPE.test(attribute(element, 'type') ?? '') ? attribute(element, 'url') : undefined;
  return attribute(element, 'xmlurl') ?? attribute(element, 'feedurl') ?? others;
}

/** Some programs escape names twice. */
function nameOf(element: XmlElement): string | null {
  const name = attribute(element, 'title') ?? attribute(element, 'text');
  return name === undefined ? null : singleLine(decodeEntities(name)) || null;
}

/** The folder in `category` (OPML 2.0): the first of a list, such as `/News/World,/Home`. */
function categoryOf(element: XmlElement): string | null {
  const [first = ''] = attribute(element, 'category')?.split(',') ?? [];
  return excerpt(first.split('/').map((part) => part.trim()).filter(Boolean).join(' / '), FOLDER_MAX) || null;
}

/** Whether the outline holds one feed of the same name: Thunderbird writes each feed into a folder of its own. */
function isOnlyFeed({ children }: XmlElement, title: string): boolean {
  const [only, second] = children;
  if (!only || second || !isNamed(only, 'outline') || !feedUrl(only)) return false;
  return nameOf(only)?.toLowerCase() === title.toLowerCase();
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
 * Streams an account's feeds as OPML 2.0, because addresses may be long. Another owner's public source has the hub's
 * feed address, because the original address may contain a secret; another owner's private source is left out.
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
