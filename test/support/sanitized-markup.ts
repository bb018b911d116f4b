import assert from 'node:assert/strict';
import { atOnce } from '../../src/platform/markup/in-steps.ts';
import { sanitizingHtml } from '../../src/platform/markup/sanitize-html.ts';

/** What every link gets. */
export const TAIL = ' rel="noopener noreferrer nofollow ugc" referrerpolicy="no-referrer"';

/** Sanitised in one go; the hub does it in steps. */
export function sanitizeHtml(markup: string, base: { baseUrl: string }): string {
  return atOnce(sanitizingHtml(markup, base));
}

/** Sanitised as a post of blog.example. */
export const clean = (html: string): string => sanitizeHtml(html, { baseUrl: 'https://blog.example/posts/1' });

/** A link as it comes out. */
export const link = (href: string, text: string): string => `<a href="${href}"${TAIL}>${text}</a>`;

/** Asserts what comes out, that it comes out of itself again, and that it is harmless. */
export function assertCases(cases: [html: string, expected: string][]): void {
  for (const [html, expected] of cases) {
    assert.equal(clean(html), expected, html);
    assert.equal(clean(expected), expected, `again: ${expected}`);
    assertSanitised(expected, html);
  }
}

const ADDRESS = /^(?:https?:\/\/[^\s"'<>@/?#]+(?:[/?#][^\s"<>]*)?|mailto:[!-~]+|tel:[!-~]+)$/;
const WEB_SPAN = /^[1-9][0-9]{0,2}$/;
const ALIGNMENT = /^(?:left|center|right)$/;
const INTEGER = /^-?[0-9]{1,6}$/;
const EMPTY = /^$/;
const TEXT = /^[^\0-\x08\x0b-\x1f\x7f]+$/;
const MOMENT = /^[\w:.+\- ]+$/;
const LANGUAGE = /^[A-Za-z0-9-]+$/;

const EVERYWHERE: Record<string, RegExp> = {
  id: /^in-post-[^\s\p{Cc}]{1,200}$/u, lang: LANGUAGE, dir: /^(?:ltr|rtl|auto)$/,
};

const ATTRIBUTES: Record<string, Record<string, RegExp>> = {
  a: {
    href: ADDRESS, title: TEXT, hreflang: LANGUAGE, class: /^remote-image$/, 'data-size': /^[1-9]\d{0,3}x[1-9]\d{0,3}$/,
    'data-alt': EMPTY,
    rel: /^noopener noreferrer nofollow ugc$/, referrerpolicy: /^no-referrer$/,
  },
  abbr: { title: TEXT },
  dfn: { title: TEXT },
  blockquote: { cite: ADDRESS },
  q: { cite: ADDRESS },
  del: { cite: ADDRESS, datetime: MOMENT },
  ins: { cite: ADDRESS, datetime: MOMENT },
  time: { datetime: MOMENT },
  td: { colspan: WEB_SPAN, rowspan: WEB_SPAN, align: ALIGNMENT },
  th: { colspan: WEB_SPAN, rowspan: WEB_SPAN, align: ALIGNMENT, scope: /^(?:row|col)(?:group)?$/ },
  col: { span: WEB_SPAN },
  colgroup: { span: WEB_SPAN },
  ol: { start: INTEGER, reversed: EMPTY, type: /^[1aAiI]$/ },
  li: { value: INTEGER },
  details: { open: EMPTY },
  code: { class: /^language-[\w+#.-]+$/ },
};

const MATH_LENGTH = /^(?:0|\d?(?:\.\d{1,5})?(?:em|ex)|0p[xt])$/;
const FLAG = /^(?:true|false)$/;
const ON_MATH: Record<string, RegExp> = {
  display: /^(?:block|inline)$/, displaystyle: FLAG, scriptlevel: /^[+-]?[0-3]$/, mathvariant: /^normal$/,
  form: /^(?:prefix|infix|postfix)$/, stretchy: FLAG, symmetric: FLAG, fence: FLAG, separator: FLAG, largeop: FLAG,
  movablelimits: FLAG, accent: FLAG, accentunder: FLAG, lspace: MATH_LENGTH, rspace: MATH_LENGTH, width: MATH_LENGTH,
  linethickness: MATH_LENGTH, columnspan: WEB_SPAN, rowspan: WEB_SPAN,
};

const VOID = new Set(['br', 'hr', 'col']);

/** Every element that may be in sanitised markup. */
export const ALLOWED_ELEMENTS = new Set([
  'a abbr address b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em',
  'figcaption figure h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p pre q rp rt ruby s samp small span strong sub',
  'summary sup table tbody td tfoot th thead time tr u ul var',
].flatMap((line) => line.split(' ')));

/** The elements of a formula that hold text. */
const MATH_TOKENS = new Set(['mi', 'mo', 'mn', 'ms', 'mtext']);
/** Every element that may be in a formula, and nowhere else. */
export const MATH_ELEMENTS = new Set([
  ...MATH_TOKENS,
  ...'math mrow mspace mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup munder mover'.split(' '),
  ...'munderover mmultiscripts mprescripts mtable mtr mtd'.split(' '),
]);

/** What is wrong with an attribute of sanitised markup, or undefined. */
export function attributeFault(element: string, name: string, value: string): string | undefined {
  const allowed = MATH_ELEMENTS.has(element) ? ON_MATH[name] : ATTRIBUTES[element]?.[name] ?? EVERYWHERE[name];
  if (allowed === undefined) return `<${element}> has the attribute ${name}`;
  return allowed.test(value) ? undefined : `<${element}> has ${name}=${JSON.stringify(value)}`;
}

const ATTRIBUTE = / ([a-z-]+)="((?:[^"<>&']|&(?:amp|lt|gt|quot|#39);)*)"/;
const TOKEN = new RegExp(
  `<([a-z][a-z0-9]*)((?:${ATTRIBUTE.source.replace(/\((?!\?)/g, '(?:')})*)>`
    + "|</([a-z][a-z0-9]*)>|(?:[^<>&\"'\0]|&(?:amp|lt|gt|quot|#39);)+",
  'y',
);

/** Reads sanitised markup by its own narrow grammar, byte by byte, and fails on the first thing outside it. */
export function assertSanitised(markup: string, context: string): void {
  const open: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < markup.length) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(markup);
    assert.ok(token, `${context}\nunreadable at ${at}: ${markup.slice(at, at + 80)}`);
    const [found, start, attributes = '', end] = token;
    if (start === undefined && end === undefined) assertTextPlace(found, open.at(-1) ?? '', context);
    if (start !== undefined) readStart(start, attributes, open, `${context}\nin ${markup.slice(0, 2_000)}`);
    if (end !== undefined) assert.equal(end, open.pop(),
      `${context}\nunbalanced at ${at} of ${markup.slice(0, 2_000)}`);
  }
  assert.deepEqual(open, [], `${context}\nleft open`);
}

/** Text is no child of an element of a formula, except of its tokens. */
function assertTextPlace(text: string, parent: string, context: string): void {
  assert.ok(!MATH_ELEMENTS.has(parent) || MATH_TOKENS.has(parent), `${context}\ntext in <${parent}>: ${text}`);
}

function readStart(name: string, attributes: string, open: string[], context: string): void {
  const parent = open.at(-1) ?? '';
  const isInFormula = MATH_ELEMENTS.has(parent);
  assert.ok((isInFormula ? MATH_ELEMENTS : ALLOWED_ELEMENTS).has(name) || (name === 'math' && !isInFormula),
    `${context}\n<${name}> is not allowed in <${parent}>`);
  assert.ok(!MATH_TOKENS.has(parent) && !(isInFormula && name === 'math'), `${context}\n<${name}> in <${parent}>`);
  assert.ok(name !== 'a' || !open.includes('a'), `${context}\nan anchor in an anchor`);
  const names = readAttributes(name, attributes, context);
  if (name === 'a') assert.ok(names.includes('href') && names.includes('rel') && names.includes('referrerpolicy'),
    context);
  if (!VOID.has(name)) open.push(name);
  assert.ok(open.length < 100, `${context}\ntoo deep`);
}

function readAttributes(element: string, attributes: string, context: string): string[] {
  const names: string[] = [];
  for (const [, name = '', value = ''] of attributes.matchAll(new RegExp(ATTRIBUTE, 'g'))) {
    assert.ok(!names.includes(name), `${context}\n${name} twice`);
    assert.equal(attributeFault(element, name, unescaped(value)), undefined, context);
    names.push(name);
  }
  return names;
}

/** Text or an attribute's value as it was before it became markup. */
export function unescaped(value: string): string {
  const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return value.replace(/&([a-z#0-9]+);/g, (_, name: string) => characters[name] ?? '');
}
