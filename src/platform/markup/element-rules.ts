/** How an element takes its place: which open elements it closes, and whether it vanishes when nothing is in it. */
export type ElementKind =
  | 'inline' | 'ruby-text' | 'block' | 'heading' | 'item' | 'table-part' | 'column'
  | 'anchor' | 'break' | 'rule' | 'image' | 'picture' | 'source' | 'frame' | 'media' | 'dropped';

export type ElementRule = { output: string; kind: ElementKind; needsAttributes: boolean };

/** Every element that is written, unwrapped or dropped on purpose. Of all others only the content remains. */
export const ELEMENT_RULES = new Map<string, ElementRule>([
  ...same('inline', 'em strong b i u s del ins mark small sub sup code kbd samp var q cite abbr dfn time bdi ruby'),
  ...same('ruby-text', 'rt rp'),
  ...same('block', 'p div pre blockquote address ul ol dl figure figcaption details summary table'),
  ...same('heading', 'h1 h2 h3 h4 h5 h6'),
  ...same('item', 'li dt dd'),
  ...same('table-part', 'caption colgroup thead tbody tfoot tr td th'),
  ...same('column', 'col'),
  ...same('anchor', 'a'),
  ...same('break', 'br'),
  ...same('rule', 'hr'),
  ...same('image', 'img image'),
  ...same('picture', 'picture'),
  ...same('source', 'source'),
  ...same('frame', 'iframe embed'),
  ...same('media', 'audio video object'),
  ...same('dropped', 'svg math template select applet button canvas datalist dialog'),
  ...renamed('inline', { strike: 's', tt: 'code', acronym: 'abbr' }),
  ...renamed('block', { dir: 'ul', menu: 'ul', listing: 'pre' }),
  ...['section', 'article', 'aside', 'header', 'footer', 'main', 'nav', 'center', 'fieldset', 'hgroup', 'search']
    .flatMap((name) => renamed('block', { [name]: 'div' })),
  ...['span', 'bdo'].map((name): [string, ElementRule] =>
    [name, { output: name, kind: 'inline', needsAttributes: true }]),
]);

/** Elements without content and end tag, those of older versions of HTML included. */
export const VOID_ELEMENTS = new Set([
  'area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr',
].flatMap((line) => line.split(' ')));

/** Elements inside which CDATA exists and raw-text elements do not. */
export const FOREIGN_ELEMENTS = new Set(['svg', 'math']);

/** Start tags look for what they close only above these (HTML Standard, 13.2.4.2, and whatever is dropped whole). */
export const SCOPE_BOUNDARIES = new Set([
  'table td th caption svg math template select object applet button canvas datalist dialog audio video',
].flatMap((line) => line.split(' ')));

/** End tags of ordinary elements do not reach beyond these. */
export const END_TAG_BOUNDARIES = new Set(['table', 'td', 'th', 'caption', 'object', 'applet', 'template']);

/** What a part of a table belongs in, nearest first, and the parent that is written where none is open. */
export const TABLE_PARENTS: Record<string, { parents: string[]; implied: string | undefined }> = {
  td: { parents: ['tr'], implied: 'tr' },
  th: { parents: ['tr'], implied: 'tr' },
  tr: { parents: ['table', 'thead', 'tbody', 'tfoot'], implied: undefined },
  col: { parents: ['colgroup'], implied: 'colgroup' },
  thead: { parents: ['table'], implied: undefined },
  tbody: { parents: ['table'], implied: undefined },
  tfoot: { parents: ['table'], implied: undefined },
  caption: { parents: ['table'], implied: undefined },
  colgroup: { parents: ['table'], implied: undefined },
};

/** Inside these only parts of a table may stand; other content gets a row and a cell around it. */
export const TABLE_CONTEXT = new Set(['table', 'thead', 'tbody', 'tfoot', 'tr', 'colgroup']);

function same(kind: ElementKind, names: string): [string, ElementRule][] {
  return names.split(' ').map((name) => [name, { output: name, kind, needsAttributes: false }]);
}

function renamed(kind: ElementKind, outputs: Record<string, string>): [string, ElementRule][] {
  return Object.entries(outputs).map(([name, output]) => [name, { output, kind, needsAttributes: false }]);
}
