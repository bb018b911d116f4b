import { inBatches } from '../../platform/db/batched-writes.ts';
import { HttpError } from '../../platform/http/reply.ts';
import { escapeHtml } from '../../platform/markup/escape-html.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { XmlLimitError } from '../../platform/markup/xml-tokenizer.ts';
import { attributeOf, childOf, parseXmlTree, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { audit, type By } from '../audit/audit.ts';
import { saysItLeadsHere } from '../feeds/own-address.ts';
import { follows } from '../follows/follow-store.ts';
import { metLimit, throttled, type Hub } from '../hub/hub.ts';
import { sources, TITLE_MAX, type Source } from '../sources/source-store.ts';
import { ADDRESS_MAX, feedAddress, sourcesLeft, tooManySources } from './add-source.ts';

/** Bytes of one document. */
export const OPML_LIMIT = 4 * 1024 * 1024;

/** Of one document. Whoever follows more moves them in parts; none is left out in silence. */
export const MAX_OUTLINES = 5_000;

/** Sources that are read at once for an export. */
const EXPORT_BATCH = 1_000;

/** `leftOut`: feeds for which the account has no room (`SOURCES_MAX`). */
export type ImportResult = {
  added: number;
  alreadyFollowed: number;
  leftOut: number;
  refused: { url: string; reason: string }[];
};

/** A feed that can be added, or the reason why it cannot. */
type Candidate = { url: string; title: string } | { refused: string; reason: string };

type Outline = { url: string; title: string | null };

/**
 * Adds the feeds of an OPML document, some in a transaction, so that others can write meanwhile; importing it again
 * adds what a crash has left out. The worker fetches them. 422 for what cannot be imported.
 */
export async function importOpml(hub: Hub, document: string, by: By): Promise<ImportResult> {
  const outlines = parseOpml(document);
  if (!outlines) throw new HttpError(422, 'This is not an OPML document.');
  if (outlines.length === 0) throw new HttpError(422, 'This OPML document contains no feeds.');
  if (outlines.length > MAX_OUTLINES) {
    const detail = `This OPML document has ${outlines.length} feeds; at most ${MAX_OUTLINES} can be imported at once.`;
    throw metLimit(hub, 'opml-feeds', 0, detail);
  }
  const waiting = outlines.map((outline) => toCandidate(hub, outline));
  const result: ImportResult = { added: 0, alreadyFollowed: 0, leftOut: 0, refused: [] };
  await throttled(hub)('import opml', (limit) => {
    by.recheck();
    const some = waiting.splice(0, limit);
    addCandidates(hub, some, by.viewer.id, result);
    if (some.length < limit) audit(hub, 'sources.imported', by, undefined, { added: result.added });
    return some.length;
  });
  if (result.leftOut > 0 && result.added === 0) throw tooManySources(hub);
  return result;
}

function toCandidate({ config }: Hub, { url: typed, title }: Outline): Candidate {
  const refused = typed.slice(0, 200);
  if (typed.length > ADDRESS_MAX) return { refused, reason: `is longer than ${ADDRESS_MAX} characters` };
  const url = feedAddress(typed);
  if (!url) return { refused, reason: 'is not an http or https address' };
  if (saysItLeadsHere(config, new URL(url))) return { refused, reason: 'is this hub itself' };
  return { url, title: excerpt(title ?? new URL(url).host, TITLE_MAX) };
}

/** In a transaction; counts in `result` what became of them. */
function addCandidates(hub: Hub, candidates: Candidate[], ownerId: number, result: ImportResult): void {
  let left = sourcesLeft(hub, ownerId);
  for (const candidate of candidates) {
    if ('refused' in candidate) {
      result.refused.push({ url: candidate.refused, reason: candidate.reason });
    } else if (sources(hub).idOfFeed(candidate.url, ownerId) !== undefined) {
      result.alreadyFollowed++;
    } else if (left === 0) {
      result.leftOut++;
    } else {
      const { url, title } = candidate;
      const source = { ownerId, kind: 'feed', visibility: 'public', title, titleIsOwn: false } as const;
      follows(hub).follow(ownerId, sources(hub).create(source, { url, nextSyncAt: hub.clock() }), 0);
      result.added++;
      left--;
    }
  }
}

/** The feeds of an OPML document, groups flattened. Undefined when it is no OPML, or one beyond all reason. */
function parseOpml(document: string): Outline[] | undefined {
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

/** All feeds that an account owns, as OPML 2.0. */
export function exportOpml(hub: Hub, ownerId: number): string {
  const owned = inBatches<Source>((last) => sources(hub).listOwned(ownerId, last?.id ?? 0, EXPORT_BATCH));
  return writeOpml([...owned].filter(({ kind }) => kind === 'feed'), hub.clock());
}

function writeOpml(feeds: Source[], createdAt: number): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0">
  <head>
    <title>Content Hub</title>
    <dateCreated>${new Date(createdAt).toUTCString()}</dateCreated>
  </head>
  <body>
${feeds.map(outline).join('')}  </body>
</opml>
`;
}

function outline({ title, feedUrl, siteUrl }: Source): string {
  const site = siteUrl ? ` htmlUrl="${escapeHtml(siteUrl)}"` : '';
  const name = escapeHtml(title);
  return `    <outline type="rss" text="${name}" title="${name}" xmlUrl="${escapeHtml(feedUrl ?? '')}"${site}/>\n`;
}
