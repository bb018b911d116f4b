import { escapeHtml } from './entities.ts';
import type { Attributes } from './html-tokenizer.ts';
import { singleLine } from './tidy-text.ts';
import { safeLink } from './safe-url.ts';

/** Decides how a start tag is read, which open elements it closes, and whether an empty element vanishes. */
export type ElementKind =
  | 'inline' | 'ruby-text' | 'block' | 'heading' | 'item' | 'table-part' | 'column'
  | 'anchor' | 'break' | 'rule' | 'image' | 'picture' | 'source' | 'frame' | 'media' | 'input' | 'dropped';

export type ElementRule = { output: string; kind: ElementKind; needsAttributes: boolean };

/** What becomes of elements. Others are replaced by their content, unless it is raw text, as that of a script. */
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
  ...same('image', 'img image amp-img amp-anim'),
  ...same('picture', 'picture'),
  ...same('source', 'source'),
  ...same('frame', 'iframe embed amp-iframe amp-youtube amp-vimeo amp-dailymotion lite-youtube lite-vimeo'),
  ...same('media', 'audio video object amp-audio amp-video'),
  ...same('input', 'input'),
  ...same('dropped', 'template select applet button canvas datalist dialog'),
  ...renamed('inline', { strike: 's', tt: 'code', acronym: 'abbr' }),
  ...renamed('block', { dir: 'ul', menu: 'ul', listing: 'pre' }),
  ...['section', 'article', 'aside', 'header', 'footer', 'main', 'nav', 'center', 'fieldset', 'hgroup', 'search']
    .flatMap((name) => renamed('block', { [name]: 'div' })),
  ...['span', 'bdo'].map((name): [string, ElementRule] =>
    [name, { output: name, kind: 'inline', needsAttributes: true }]),
]);

/** A start tag inside one of these elements closes no `p` or `a` outside it (HTML Standard, 13.2.4.2). */
export const SCOPE_BOUNDARIES = new Set([
  'table td th caption template select object applet button canvas datalist dialog audio video',
].flatMap((line) => line.split(' ')));

/** An ordinary end tag inside one of these elements closes no open element outside it. */
export const END_TAG_BOUNDARIES = new Set(['table', 'td', 'th', 'caption', 'object', 'applet', 'template']);

/** For each part of an HTML table, its possible parents, and the parent to add if all are missing. */
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

/** Elements that contain only parts of a table; other content gets a row and a cell around it. */
export const TABLE_CONTEXT = new Set(['table', 'thead', 'tbody', 'tfoot', 'tr', 'colgroup']);

function same(kind: ElementKind, names: string): [string, ElementRule][] {
  return names.split(' ').map((name) => [name, { output: name, kind, needsAttributes: false }]);
}

function renamed(kind: ElementKind, outputs: Record<string, string>): [string, ElementRule][] {
  return Object.entries(outputs).map(([name, output]) => [name, { output, kind, needsAttributes: false }]);
}

/** Returns an attribute's new value, or undefined to omit it; gives its own results back unchanged (idempotent). */
type AttributeRule = (value: string, baseUrl: string) => string | undefined;

/** Prefix of the ids in a post, so that no id in a post equals an id of the page. */
export const ID_PREFIX = 'in-post-';

export const MAX_TITLE_LENGTH = 1_000; // characters
const MAX_SPAN = 100;

const address: AttributeRule = (value, baseUrl) => safeLink(value, baseUrl);
const flag: AttributeRule = () => '';
const language = pattern(/^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,5}$/i);
const direction = oneOf('ltr', 'rtl', 'auto');
const imageSize = pattern(/^[1-9]\d{0,3}x[1-9]\d{0,3}$/);
const integer = pattern(/^-?[0-9]{1,6}$/);

const cellAttributes: [name: string, rule: AttributeRule][] = [
  ['colspan', span], ['rowspan', span], ['align', oneOf('left', 'center', 'right')],
];

const ATTRIBUTE_RULES: Record<string, [name: string, rule: AttributeRule][]> = {
  a: [
    ['class', oneOf('remote-image')], ['data-size', imageSize], ['data-alt', noWords], ['title', title],
    ['hreflang', language],
  ],
  abbr: [['title', title]],
  dfn: [['title', title]],
  blockquote: [['cite', address]],
  q: [['cite', address]],
  del: [['cite', address], ['datetime', moment]],
  ins: [['cite', address], ['datetime', moment]],
  time: [['datetime', moment]],
  td: cellAttributes,
  th: [...cellAttributes, ['scope', oneOf('row', 'col', 'rowgroup', 'colgroup')]],
  col: [['span', span]],
  colgroup: [['span', span]],
  ol: [['start', integer], ['reversed', flag], ['type', pattern(/^[1aAiI]$/)]],
  li: [['value', integer]],
  details: [['open', flag]],
  code: [['class', languageClass]],
};

const EVERYWHERE: [name: string, rule: AttributeRule][] = [['id', place], ['lang', language], ['dir', direction]];

/** The allowed attributes of an element as markup, each with a leading space. */
export function allowedAttributes(element: string, attributes: Attributes, baseUrl: string): string {
  if (attributes.size === 0) return '';
  return write(ATTRIBUTE_RULES[element] ?? [], attributes, baseUrl) + write(EVERYWHERE, attributes, baseUrl);
}

/** Whether an element is never shown; what stays hidden until a reader searches for its words is for readers. */
export function isHidden(attributes: Attributes): boolean {
  return attributes.has('hidden') && attributes.get('hidden')?.toLowerCase() !== 'until-found';
}

/** One attribute as markup, with a leading space. */
export function attribute(name: string, value: string): string {
  return ` ${name}="${escapeHtml(value)}"`;
}

function write(rules: [name: string, rule: AttributeRule][], attributes: Attributes, baseUrl: string): string {
  let written = '';
  for (const [name, rule] of rules) {
    const given = attributes.get(name);
    const value = given === undefined ? undefined : rule(given, baseUrl);
    if (value !== undefined) written += attribute(name, value);
  }
  return written;
}

function title(value: string): string | undefined {
  const line = value.length <= MAX_TITLE_LENGTH ? singleLine(value) : '';
  return line === '' ? undefined : line;
}

/** The id of an element in a post, which no element around the post has; undefined for what cannot be an id. */
export function place(value: string): string | undefined {
  const [, id] = /^(?:in-post-)?([^\s\p{Cc}]{1,200})$/u.exec(value.trim()) ?? [];
  return id === undefined ? undefined : ID_PREFIX + id;
}

function noWords(value: string): string | undefined {
  return value === '' ? '' : undefined;
}

function moment(value: string): string | undefined {
  const trimmed = value.trim();
  return /^[\w:.+\- ]{1,64}$/.test(trimmed) ? trimmed : undefined;
}

function span(value: string): string | undefined {
  const cells = /^\s*[0-9]{1,6}/.test(value) ? Math.min(parseInt(value, 10), MAX_SPAN) : 1;
  return cells > 1 ? String(cells) : undefined;
}

function languageClass(value: string): string | undefined {
  return value.split(/\s+/, 20).find((token) => /^language-[\w+#.-]{1,40}$/.test(token));
}

function pattern(allowed: RegExp): AttributeRule {
  return (value) => {
    const trimmed = value.trim();
    return allowed.test(trimmed) ? trimmed : undefined;
  };
}

function oneOf(...allowed: string[]): AttributeRule {
  return (value) => {
    const word = value.trim().toLowerCase();
    return allowed.includes(word) ? word : undefined;
  };
}
