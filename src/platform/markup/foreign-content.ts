import { createFormula, MATH_TOKENS, type Formula, type FormulaDraft } from './formula.ts';
import { VOID_ELEMENTS, type Attributes, type TokenReader } from './html-tokenizer.ts';
import { createSvgWords } from './svg-words.ts';

/** `drawing`, if given, gets the words of each svg element that has some, and is not inside svg or math. */
type HtmlReader = Omit<TokenReader, 'inForeignContent'> & {
  formula: (formula: Formula) => void; drawing?: (words: string) => void;
};

type Namespace = 'svg' | 'math' | 'html';

/** An svg or math element, or one inside. `isPoint`: an integration point, whose content browsers read as HTML. */
type OpenElement = { name: string; namespace: Namespace; isPoint: boolean };

/** Deeper elements inside svg or math are not remembered, so that each tag takes little time. */
const MAX_FOREIGN_DEPTH = 200;

/** Start tags of blocks, which also end a formula that its author left open in a token such as `mi`. */
const ENDING_BLOCKS = new Set(
  'blockquote center dd div dl dt h1 h2 h3 h4 h5 h6 hr li listing menu ol p pre table ul'.split(' '));
/** Start tags at which browsers leave svg and math (HTML Standard, 13.2.6.5). */
const ENDING_TAGS = new Set([...ENDING_BLOCKS,
  ...'b big body br code em embed head i img meta nobr ruby s small span strong strike sub sup tt u var'.split(' ')]);
const SVG_POINTS = new Set(['foreignobject', 'desc', 'title']);
const HTML_ENCODING = /^(?:text\/html|application\/xhtml\+xml)$/i;

/**
 * Passes the tokens of HTML to `reader`, without svg elements and their contents, and with a formula in place of each
 * math element outside svg. As in browsers, certain tags end svg and math whose end tags are missing, so that the text
 * behind them stays. The end tags svg and math end their elements even past open HTML elements. The caller calls `end`
 * after a document's last token.
 */
export function withoutForeignContent(reader: HtmlReader): TokenReader & { end: () => void } {
  const outside = new Map<string, number>(); // the number of open HTML elements around svg or math, by name
  const stack: OpenElement[] = [];
  let formula: FormulaDraft | undefined;
  let drawing: ReturnType<typeof createSvgWords> | undefined;

  function startTag(name: string, attributes: Attributes, selfClosing: boolean): void {
    const top = stack.at(-1);
    if (top !== undefined && !readsAsHtml(top, name)) {
      if (!isEndingTag(name, attributes)) return open(name, top.namespace, attributes, selfClosing);
      leaveForeign();
    } else if (ENDING_BLOCKS.has(name) && isInToken(stack)) {
      leave();
    }
    if (name === 'svg' || name === 'math') return open(name, name, attributes, selfClosing);
    if (stack.length > 0) return open(name, 'html', attributes, VOID_ELEMENTS.has(name));
    if (!VOID_ELEMENTS.has(name)) outside.set(name, (outside.get(name) ?? 0) + 1);
    reader.startTag(name, attributes, selfClosing);
  }

  function endTag(name: string): void {
    const index = stack.findLastIndex((element) => element.name === name);
    if (index !== -1) return closeTo(index);
    if (name === 'p' || name === 'br') leaveForeign();
    const isOpen = (outside.get(name) ?? 0) > 0;
    // As in browsers, the end tag of an element around svg ends svg too, unless HTML or one of SVG_POINTS is open.
    if (isOpen && !stack.some((one) => one.namespace === 'html' || (one.namespace === 'svg' && one.isPoint))) leave();
    if (stack.length > 0) return;
    if (isOpen) outside.set(name, (outside.get(name) ?? 0) - 1);
    reader.endTag(name);
  }

  function text(value: string): void {
    if (stack.length === 0) reader.text(value);
    else if (drawing !== undefined) drawing.text(value, stack);
    else formula?.text(value);
  }

  function open(name: string, namespace: Namespace, attributes: Attributes, isEmpty: boolean): void {
    if (stack.length >= MAX_FOREIGN_DEPTH) return formula?.spoil();
    if (stack.length === 0 && isEmpty) return;
    if (stack.length === 0 && namespace === 'math') formula = createFormula(attributes);
    if (stack.length === 0 && namespace === 'svg' && reader.drawing) drawing = createSvgWords(attributes);
    stack.push({ name, namespace, isPoint: isPoint(name, namespace, attributes) });
    formula?.open(name, namespace === 'math', attributes);
    if (isEmpty) closeTo(stack.length - 1);
  }

  function closeTo(length: number): void {
    for (; stack.length > length; stack.pop()) formula?.close();
    if (stack.length > 0) return;
    const [read, words] = [formula?.end(), drawing?.words()];
    [formula, drawing] = [undefined, undefined];
    if (read !== undefined) reader.formula(read);
    if (words) reader.drawing?.(words);
  }

  function leaveForeign(): void {
    const index = stack.findLastIndex(({ namespace, isPoint }) => isPoint || namespace === 'html');
    if (index === -1) leave();
    else closeTo(index + 1);
  }

  function leave(): void {
    formula?.spoil();
    closeTo(0);
  }

  const inForeignContent = (): boolean => stack.length > 0 && stack.at(-1)?.namespace !== 'html';
  const rawText = (name: string, written: string, attributes: Attributes): void => {
    if (stack.length === 0) reader.rawText?.(name, written, attributes);
  };
  return { startTag, endTag, text, rawText, inForeignContent, end: leave };
}

/** Whether browsers read a start tag inside this element as HTML (HTML Standard, 13.2.6, dispatcher). */
function readsAsHtml({ name, namespace, isPoint }: OpenElement, started: string): boolean {
  if (namespace === 'html') return true;
  if (name === 'annotation-xml' && started === 'svg') return true;
  return isPoint && !(MATH_TOKENS.has(name) && (started === 'mglyph' || started === 'malignmark'));
}

function isEndingTag(name: string, attributes: Attributes): boolean {
  return ENDING_TAGS.has(name) || (name === 'font' && ['color', 'face', 'size'].some((one) => attributes.has(one)));
}

function isPoint(name: string, namespace: Namespace, attributes: Attributes): boolean {
  if (namespace === 'svg') return SVG_POINTS.has(name);
  if (namespace !== 'math') return false;
  return MATH_TOKENS.has(name) || (name === 'annotation-xml' && HTML_ENCODING.test(attributes.get('encoding') ?? ''));
}

function isInToken(stack: OpenElement[]): boolean {
  const inner = stack.findLast(({ namespace }) => namespace !== 'html');
  return inner?.namespace === 'math' && MATH_TOKENS.has(inner.name);
}
