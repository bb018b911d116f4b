/** Elements apart from the text around them; their start tags end an open `p` (HTML Standard, 13.2.6.4.7, and more). */
export const BLOCK_ELEMENTS = words(
  'address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form',
  'h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main menu nav ol p pre search section summary table ul',
  'caption tbody td tfoot th thead tr',
);
export const HEADINGS = words('h1 h2 h3 h4 h5 h6');

export const FORMATTING_ELEMENTS = words('a b big code em font form i nobr s small strike strong tt u');

/** Boundaries: most end tags inside one of these close no element around it (HTML Standard, 13.2.4.2). */
export const SCOPE_BOUNDS = words('applet caption td th table object template button');
const TABLE_BOUND = words('table template');
const LIST_BOUNDS = new Set([...SCOPE_BOUNDS, ...words('ul ol menu dl')]);
const INLINE_BOUNDS = new Set([...SCOPE_BOUNDS, ...BLOCK_ELEMENTS]);
/** Elements whose end tags work across block elements that are still open inside. */
const PASSING = new Set([...BLOCK_ELEMENTS, ...FORMATTING_ELEMENTS, ...SCOPE_BOUNDS]);
const TABLE_PARTS = words('caption colgroup tbody td tfoot th thead tr');
const SECTIONS = 'thead tbody tfoot caption colgroup';

export type EndRule = { ended: ReadonlySet<string>; bounds: ReadonlySet<string> };

/** The start tag of a block element ends an open `p`, unless an element in SCOPE_BOUNDS is open inside it. */
export const PARAGRAPH_END: EndRule = { ended: words('p'), bounds: SCOPE_BOUNDS };

/** By start tag: the tag closes the innermost open element that `ended` names, unless a `bounds` element is nearer. */
export const END_RULES = new Map<string, EndRule>([
  ...rule('li', 'li', LIST_BOUNDS),
  ...rule('dt dd', 'dt dd', LIST_BOUNDS),
  ...rule('td th', 'td th', words('table template tr')),
  ...rule('tr', 'tr caption colgroup', TABLE_BOUND),
  ...rule(SECTIONS, SECTIONS, TABLE_BOUND),
  ...rule('option', 'option', words('select datalist')),
  ...rule('optgroup', 'option optgroup', words('select')),
  ...rule('a', 'a', SCOPE_BOUNDS),
  ...rule('rt rp', 'rt rp', words('ruby')),
]);

/** The names of elements across which an end tag does not work: inside them, the tag closes no element around them. */
export function scopeOf(name: string): ReadonlySet<string> {
  if (name === 'table' || TABLE_PARTS.has(name)) return TABLE_BOUND;
  if (name === 'li') return LIST_BOUNDS;
  return PASSING.has(name) ? SCOPE_BOUNDS : INLINE_BOUNDS;
}

function rule(names: string, ended: string, bounds: ReadonlySet<string>): [string, EndRule][] {
  return names.split(' ').map((name) => [name, { ended: words(ended), bounds }]);
}

function words(...lines: string[]): Set<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}
