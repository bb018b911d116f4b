import { escapeHtml } from '../markup/entities.ts';

/** Markup that is already safe. Only the `html` tag and `trusted` make one. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type Hole = Html | Html[] | string | number | null | undefined | false;

/** Template tag: every hole is escaped unless it is itself `Html`; null, undefined and false leave nothing. */
export function html(strings: TemplateStringsArray, ...holes: Hole[]): Html {
  let markup = strings[0] ?? '';
  holes.forEach((hole, index) => {
    markup += render(hole) + (strings[index + 1] ?? '');
  });
  return new Html(markup);
}

/** Markup that was sanitised before it was stored. */
export function trusted(markup: string): Html {
  return new Html(markup);
}

function render(hole: Hole): string {
  if (hole === null || hole === undefined || hole === false) return '';
  if (Array.isArray(hole)) return hole.map((part) => part.markup).join('');
  return hole instanceof Html ? hole.markup : escapeHtml(String(hole));
}
