import { randomBelow } from './random.ts';

const NAMES = [
  'a b i p div span ul li dl dt dd table caption colgroup col thead tbody tr td th h1 h2 pre blockquote ruby rt',
  'rp details summary figure bdo code section form font svg math template select option style script title',
  'textarea xmp iframe noscript input object video audio source picture img image br hr embed button foreignObject',
  'mtext x-y q ins math mi mo mfrac mrow msup semantics annotation annotation-xml mglyph malignmark none desc mtd',
].flatMap((line) => line.split(' '));

const ATTRIBUTES = [
  'href="/x?utm_source=a&b=1"', 'href=javascript:x', "href='#y'", 'title="a&quot;b"', 'title=">"', 'hidden',
  'lang=de', 'dir=rtl', 'colspan=3',
  'src=/i.png', 'src="data:,"', 'srcset="/a 1x, /b 2x"', 'width=1', 'alt="<b>"', 'class="language-x"',
  'class=remote-image', 'onclick=x', 'style="x:y"',
  'encoding=text/html', 'display=block', 'stretchy=false', 'alttext="a<b"', 'xlink:href=javascript:x',
  'id=x', 'name=ü', 'href=#%C3%BC', 'href="#x"', 'class=lazy', 'type=checkbox', 'alt=""', '/', '"', "'", '=', 'cite=https://q.example/', 'data-src=/lazy.jpg', 'open', 'start=5',
];

const TEXTS = [
  'text', ' ', '\n', '&amp;', '&lt;b&gt;', '&', '<', '>', '"', "'", '\0', '&nbsp;', '&#60;', '<!-- c -->', '<!--',
  '-->', '<![CDATA[x]]>', '<?pi?>', '</',
  '</ x>', '\u{1f600}', '\ud83d', '\r\n', '漢字', '<!doctype html>', '&#x', '&notit;',
];

const FORMULA_NAMES = [
  'mi mo mn ms mtext mrow msup mfrac msqrt mstyle mspace mtable mtr mtd none semantics mrow mi mo',
  'annotation annotation-xml mglyph math svg b p style',
].map((line) => line.split(' '));

/** A formula, mostly of allowed elements, with tags that are missing or wrong now and then. */
export function randomFormula(seed: number): string {
  const below = randomBelow(seed);
  const pick = (list: string[]) => list[below(list.length)] ?? '';
  const inside = (depth: number): string => {
    const name = pick(FORMULA_NAMES[below(12) === 0 ? 1 : 0] ?? []);
    const isLeaf = /^m[ions]$|^mtext$/.test(name) || depth > 8;
    const content = isLeaf ? pick(TEXTS) : Array.from({ length: below(4) }, () => inside(depth + 1)).join('');
    return `<${name}${attributes(below, pick)}>${content}${below(25) === 0 ? '' : `</${name}>`}`;
  };
  return `x<math${attributes(below, pick)}>${inside(0)}${inside(0)}${below(8) === 0 ? '' : '</math>'}<b>y</b>`;
}

/** Markup that looks like a page gone wrong, the same for the same seed. */
export function randomMarkup(seed: number): string {
  const below = randomBelow(seed);
  const pick = (list: string[]) => list[below(list.length)] ?? '';
  const pieces = Array.from({ length: 1 + below(40) }, () => {
    const choice = below(10);
    if (choice < 4) return `<${pick(NAMES)}${attributes(below, pick)}${below(12) === 0 ? '/' : ''}>`;
    if (choice < 7) return `</${pick(NAMES)}>`;
    return pick(TEXTS);
  });
  return pieces.join('');
}

function attributes(below: (limit: number) => number, pick: (list: string[]) => string): string {
  const count = Math.max(0, below(5) - 2);
  return Array.from({ length: count }, () => ` ${pick(ATTRIBUTES)}`).join('');
}
