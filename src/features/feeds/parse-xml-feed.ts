import { parseXmlTree } from '../../platform/markup/xml-tree.ts';
import { scanXml, type XmlHandler } from '../../platform/markup/xml-tokenizer.ts';
import { NAMESPACES_IN_ATOM, NAMESPACES_IN_RSS } from './feed-namespaces.ts';
import { parseAtom } from './parse-atom.ts';
import { parseRss } from './parse-rss.ts';
import type { ParsedFeed } from './parsed-feed.ts';

type Root = { kind: 'rss' | 'atom'; start: number };

/** How many start tags may come before the feed's own, such as those of a server's warning. */
const MAX_TAGS_BEFORE_ROOT = 50;
const ROOTS = new Map<string, Root['kind']>([['rss', 'rss'], ['rdf', 'rss'], ['channel', 'rss'], ['feed', 'atom']]);
const SIBLINGS = new Set(['item', 'entry']);

/** The feed in an XML document, or null where there is no root element of a feed. Throws XmlLimitError. */
export function parseXmlFeed(text: string, feedUrl: string): ParsedFeed | null {
  const root = findRoot(text);
  if (root === null) return null;
  const namespaces = root.kind === 'atom' ? NAMESPACES_IN_ATOM : NAMESPACES_IN_RSS;
  const tree = parseXmlTree(text, { namespaces, siblings: SIBLINGS, from: root.start });
  if (tree === null) return null;
  return root.kind === 'atom' ? parseAtom(tree, feedUrl) : parseRss(tree, feedUrl);
}

function findRoot(text: string): Root | null {
  let root: Root | null = null;
  let seen = 0;
  const ignore = (): boolean => true;
  const finder: XmlHandler = {
    startTag(tag) {
      const kind = ROOTS.get(tag.name.slice(tag.name.indexOf(':') + 1).toLowerCase());
      if (kind !== undefined) root = { kind, start: tag.start };
      seen += 1;
      return root === null && seen < MAX_TAGS_BEFORE_ROOT;
    },
    endTag: ignore,
    text: ignore,
    cdata: ignore,
    skipped: ignore,
  };
  scanXml(text, finder);
  return root;
}
