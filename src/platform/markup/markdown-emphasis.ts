import { isPauseDue, type Pace } from './in-steps.ts';

/** To look at a run of signs counts as much work as reading this number of characters. */
const PAIR_COST = 10;

/** A piece of a paragraph's HTML: markup, then text to be escaped, then markup. */
export type InlinePiece = { before: string; text: string; after: string };

/** A run of `*`, `_` or `~` that may begin or end emphasis or a strikethrough. */
export type Delimiter = {
  piece: InlinePiece;
  sign: string;
  /** How many signs the author wrote in the run, also after some signs of the run have become emphasis. */
  length: number;
  /** Made of `sign`, `canOpen` and `length % 3`: runs of signs with an equal `kind` can close the same opening runs. */
  kind: number;
  canOpen: boolean;
  canClose: boolean;
  position: number;
  previous: Delimiter | undefined;
  next: Delimiter | undefined;
};

/** The runs of `*`, `_` or `~` without a counterpart yet: `top` is the last run, whose `previous` is the run before. */
export type DelimiterStack = { top: Delimiter | undefined };

const SIGNS = '*_~';
const SPACE = /[\t\n\f\r\p{Zs}]/u;
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}\p{S}]/u;

/** Adds `piece`, a run of `*`, `_` or `~`, if it may begin or end anything; `before` and `after`: what is around it. */
export function addDelimiter(stack: DelimiterStack, piece: InlinePiece, before: string, after: string): void {
  const { text: { length } } = piece;
  const sign = piece.text.charAt(0);
  if (sign === '~' && length > 2) return;
  const [isAfterSpace, isBeforeSpace] = [SPACE.test(before), SPACE.test(after)];
  const [isAfterSign, isBeforeSign] = [PUNCTUATION.test(before), PUNCTUATION.test(after)];
  const opens = !isBeforeSpace && (!isBeforeSign || isAfterSpace || isAfterSign);
  const closes = !isAfterSpace && (!isAfterSign || isBeforeSpace || isBeforeSign);
  const canOpen = opens && (sign !== '_' || !closes || isAfterSign);
  const canClose = closes && (sign !== '_' || !opens || isBeforeSign);
  if (!canOpen && !canClose) return;
  const { top } = stack;
  const kind = SIGNS.indexOf(sign) * 6 + (canOpen ? 3 : 0) + length % 3;
  const position = (top?.position ?? 0) + 1;
  const added = { piece, sign, length, kind, canOpen, canClose, position, previous: top, next: undefined };
  if (top !== undefined) top.next = added;
  stack.top = added;
}

/** Makes emphasis of the delimiters above `bottom` and forgets them (CommonMark 0.31.2, "process emphasis"). */
export function pairDelimiters(stack: DelimiterStack, bottom: Delimiter | undefined): void {
  if (stack.top !== bottom) Array.from(pairingDelimiters(stack, bottom, { unpaused: 0 }));
}

/** Does the same in parts. */
export function* pairingDelimiters(
  stack: DelimiterStack, bottom: Delimiter | undefined, pace: Pace,
): Generator<void> {
  let closer = stack.top;
  while (closer?.previous !== bottom) closer = closer?.previous;
  // For each `kind` of closing run, the position at which a search for an opening run may stop: no earlier run fits.
  const floors: number[] = [];
  while (closer !== undefined) {
    const opener = closer.canClose ? findOpener(closer, bottom, floors) : undefined;
    closer = opener === undefined ? passOver(closer) : pair(opener, closer);
    if (isPauseDue(pace, PAIR_COST)) yield;
  }
  stack.top = bottom;
  if (bottom !== undefined) bottom.next = undefined;
}

function findOpener(
  closer: Delimiter, bottom: Delimiter | undefined, floors: number[],
): Delimiter | undefined {
  const floor = Math.max(bottom?.position ?? 0, floors[closer.kind] ?? 0);
  for (let opener = closer.previous; opener !== undefined && opener.position > floor; opener = opener.previous) {
    if (opener.sign === closer.sign && opener.canOpen && mayPair(opener, closer)) return opener;
  }
  floors[closer.kind] = closer.previous?.position ?? 0;
  return undefined;
}

/** Whether two runs of a sign may pair: runs of `~` if equally long, others by CommonMark's rules 9, 10 of emphasis. */
function mayPair(opener: Delimiter, closer: Delimiter): boolean {
  if (closer.sign === '~') return opener.length === closer.length;
  if (!closer.canOpen && !opener.canClose) return true;
  return closer.length % 3 === 0 || (opener.length + closer.length) % 3 !== 0;
}

function passOver(delimiter: Delimiter): Delimiter | undefined {
  if (delimiter.canClose && !delimiter.canOpen) remove(delimiter);
  return delimiter.next;
}

/** Puts an element between two delimiters; returns the delimiter at which the search for closers goes on. */
function pair(opener: Delimiter, closer: Delimiter): Delimiter | undefined {
  opener.next = closer;
  closer.previous = opener;
  const used = Math.min(2, opener.piece.text.length, closer.piece.text.length);
  if (closer.sign === '~') wrap(opener, closer, used, 'del');
  else wrap(opener, closer, used, used === 2 ? 'strong' : 'em');
  if (opener.piece.text === '') remove(opener);
  if (closer.piece.text !== '') return closer;
  remove(closer);
  return closer.next;
}

function wrap({ piece: start }: Delimiter, { piece: end }: Delimiter, used: number, element: string): void {
  start.text = start.text.slice(used);
  start.after = `<${element}>${start.after}`;
  end.text = end.text.slice(used);
  end.before += `</${element}>`;
}

function remove({ previous, next }: Delimiter): void {
  if (previous !== undefined) previous.next = next;
  if (next !== undefined) next.previous = previous;
}
