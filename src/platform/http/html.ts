import { escapeHtml, escapeText } from '../markup/entities.ts';

/** Markup that is safe to put into a page. Only functions of this file create `Html`. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }

  get bytes(): Buffer {
    return Buffer.from(this.markup);
  }
}

type Hole = Html | Html[] | string | number | null | undefined | false;

/** Template tag: inserted texts are escaped, `Html` is not; null, undefined and false insert nothing. */
export function html(strings: TemplateStringsArray, ...holes: Hole[]): Html {
  let markup = strings[0] ?? '';
  for (const [index, hole] of holes.entries()) markup += markupOf(hole) + (strings[index + 1] ?? '');
  return new Html(markup);
}

function markupOf(hole: Hole): string {
  if (Array.isArray(hole)) return hole.map(({ markup }) => markup).join('');
  if (hole instanceof Html) return hole.markup;
  if (typeof hole === 'string') return escapeHtml(hole);
  return typeof hole === 'number' ? String(hole) : '';
}

/** Escapes a text between tags, never in an attribute: quotation marks take one byte instead of six. */
export function contentText(text = ''): Html {
  return new Html(escapeText(text));
}

/** Markup that was sanitised before it was stored. */
export function trusted(markup: string): Html {
  return new Html(markup);
}
