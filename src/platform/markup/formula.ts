import { escapeHtml } from './entities.ts';
import type { Attributes } from './html-tokenizer.ts';
import { ELEMENT_RULES } from './markup-rules.ts';
import { singleLine, withoutControls } from './tidy-text.ts';

/** `markup`: safe MathML; undefined if the formula is cut off, has no words, or has elements or text not allowed. */
export type Formula = {
  markup: string | undefined;
  depth: number;
  /** The visible characters of the formula on one line, such as `E = mc2`. */
  words: string;
  /** What stands for a formula without `markup`: its attribute `alttext`, else its words. */
  alternative: string;
};

export type FormulaDraft = ReturnType<typeof createFormula>;

/** An open MathML element: `isSilent` if left out with its content; `children` counts the children not left out. */
type OpenElement = { name: string; endTag: string; children: number; isSilent: boolean };

/** MathML elements for text, which in browsers may also contain HTML elements. */
export const MATH_TOKENS = new Set(['mi', 'mo', 'mn', 'ms', 'mtext']);

/** The allowed elements of a formula, with their names in the output; `none` is an older name of an empty `mrow`. */
const MATH_ELEMENTS = new Map([...MATH_TOKENS, ...[
  'math mrow mspace mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup munder mover munderover',
  'mmultiscripts mprescripts mtable mtr mtd',
].flatMap((line) => line.split(' '))].map((name) => [name, name])).set('none', 'mrow');

const ANNOTATIONS = new Set(['annotation', 'annotation-xml']);

const FLAG = /^(?:true|false)$/;
/** Matches the allowed widths and spaces in a formula: below 10 em, so that no formula covers other parts of a page. */
const LENGTH = /^\d?(?:\.\d{1,5})?(?<=\d)(?:em|ex)$|^0(?:px|pt)?$/;
const SPAN = /^[1-9]\d?$/;
const MATH_ATTRIBUTES: Record<string, RegExp> = {
  display: /^(?:block|inline)$/, displaystyle: FLAG, scriptlevel: /^[+-]?[0-3]$/, mathvariant: /^normal$/,
  form: /^(?:prefix|infix|postfix)$/, stretchy: FLAG, symmetric: FLAG, fence: FLAG, separator: FLAG, largeop: FLAG,
  movablelimits: FLAG, accent: FLAG, accentunder: FLAG, lspace: LENGTH, rspace: LENGTH, width: LENGTH,
  linethickness: LENGTH, columnspan: SPAN, rowspan: SPAN,
};

/** Operators such as `=` and `+`, which get spaces around them in the words of a formula. */
const SPACED_OPERATOR = /^(?!\|)\p{Sm}$/u;
/** Invisible characters between the factors or arguments of a formula. */
const INVISIBLE_OPERATORS = /[\u2061-\u2064]/g;

/** Collects the elements of a MathML formula, from `math` on. A formula with the attribute `hidden` has no words. */
export function createFormula(attributes: Attributes) {
  const [markup, words]: [string[], string[]] = [[], []];
  const stack: OpenElement[] = [];
  const alttext = singleLine(attributes.get('alttext') ?? '');
  const isHidden = attributes.has('hidden');
  let [isSound, depth] = [true, 0];

  function open(name: string, isMath: boolean, given: Attributes): void {
    const parent = stack.at(-1);
    const isSilent = parent?.isSilent === true || isLeftOut(name, isMath, given)
      || (parent?.name === 'semantics' && parent.children === 1);
    if (parent && !isSilent) parent.children += 1;
    const output = isMath && (name !== 'math' || parent === undefined) ? MATH_ELEMENTS.get(name) : undefined;
    const isWritten = output !== undefined && !isSilent;
    if (!isWritten && !isSilent && name !== 'semantics') isSound = false;
    if (isWritten) markup.push(`<${output}${attributesOf(given)}>`);
    stack.push({ name, endTag: isWritten ? `</${output}>` : '', children: 0, isSilent });
    depth = Math.max(depth, stack.length);
  }

  function close(): void {
    const closed = stack.pop();
    if (closed === undefined || closed.isSilent) return;
    markup.push(closed.endTag);
    if (closed.name === 'semantics' && closed.children === 0) isSound = false;
    const parent = stack.at(-1);
    if (parent?.name === 'mfrac' && parent.children === 1) words.push('/');
    if (closed.name === 'mtd' || closed.name === 'mtr') words.push(' ');
  }

  function text(raw: string): void {
    const parent = stack.at(-1);
    const isBlank = !/[^\t\n\f\r ]/.test(raw);
    const isToken = parent !== undefined && MATH_TOKENS.has(parent.name);
    if (parent?.isSilent === true || (isBlank && !isToken)) return;
    if (!isToken) isSound = false;
    const clean = withoutControls(raw);
    markup.push(escapeHtml(clean));
    words.push(parent?.name === 'mo' && SPACED_OPERATOR.test(clean.trim()) ? ` ${clean} ` : clean);
  }

  function end(): Formula {
    const line = isHidden ? '' : singleLine(words.join('').replace(INVISIBLE_OPERATORS, ''));
    const isShown = isSound && line !== '';
    return {
      markup: isShown ? markup.join('') : undefined, depth, words: line, alternative: isHidden ? '' : alttext || line,
    };
  }

  return { open, close, text, spoil: () => void (isSound = false), end };
}

function isLeftOut(name: string, isMath: boolean, attributes: Attributes): boolean {
  if (isMath) return ANNOTATIONS.has(name);
  const kind = ELEMENT_RULES.get(name)?.kind;
  return kind === 'dropped' || kind === 'media' || name === 'svg' || attributes.has('hidden');
}

function attributesOf(given: Attributes): string {
  return Object.entries(MATH_ATTRIBUTES).map(([name, allowed]) => {
    const value = given.get(name)?.trim().toLowerCase() ?? '';
    return value !== '' && allowed.test(value) ? ` ${name}="${value}"` : '';
  }).join('');
}
