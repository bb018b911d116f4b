/** Namespaces whose elements an RSS document may hold, in lower case and without the last slash, by usual prefix. */
const MODULES: [string, string][] = [
  ['http://purl.org/rss/1.0/modules/content', 'content'],
  ['http://purl.org/dc/elements/1.0', 'dc'],
  ['http://purl.org/dc/elements/1.1', 'dc'],
  ['http://purl.org/dc/terms', 'dcterms'],
  ['http://www.itunes.com/dtds/podcast-1.0.dtd', 'itunes'],
  ['http://example.com/dtds/podcast-1.0.dtd', 'itunes'],
  ['http://search.yahoo.com/mrss', 'media'],
  ['http://video.search.yahoo.com/mrss', 'media'],
  ['http://www.google.com/schemas/play-podcasts/1.0', 'googleplay'],
  ['http://rssnamespace.org/feedburner/ext/1.0', 'feedburner'],
  ['http://purl.org/rss/1.0/modules/syndication', 'sy'],
  ['http://purl.oclc.org/net/rss_2.0/enc#', 'enc'],
  ['http://www.w3.org/1999/02/22-rdf-syntax-ns#', 'rdf'],
  ['http://www.w3.org/1999/xhtml', ''],
];

const RSS = [
  'http://purl.org/rss/1.0',
  'http://my.netscape.com/rdf/simple/0.9',
  'http://channel.netscape.com/rdf/simple/0.9',
  'http://my.netscape.com/publish/formats/rss-0.91.dtd',
  'http://backend.userland.com/rss',
  'http://backend.userland.com/rss2',
  'http://backend.userland.com/rss091',
  'http://backend.userland.com/rss092',
  'http://blogs.law.harvard.edu/tech/rss',
  'http://cyber.law.harvard.edu/rss',
];

const ATOM = ['http://www.w3.org/2005/atom', 'http://purl.org/atom/ns#'];

/** In an RSS document Atom's elements are `atom:link` and so on. */
export const NAMESPACES_IN_RSS: ReadonlyMap<string, string> = new Map([
  ...MODULES,
  ...RSS.map((uri): [string, string] => [uri, '']),
  ...ATOM.map((uri): [string, string] => [uri, 'atom']),
]);

/** In an Atom document Atom's elements have no prefix. */
export const NAMESPACES_IN_ATOM: ReadonlyMap<string, string> = new Map([
  ...MODULES,
  ...ATOM.map((uri): [string, string] => [uri, '']),
]);
