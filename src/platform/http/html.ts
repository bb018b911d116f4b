/** Markup that is already safe. Only the `html` tag and `trusted` make one. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type Hole = Html | Html[] | string | number | null | undefined | false;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

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

/** Text made safe for element content and quoted attributes. */
export function escapeText(text: string): string {
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char) : text;
}

function render(hole: Hole): string {
  if (hole === null || hole === undefined || hole === false) return '';
  if (Array.isArray(hole)) return hole.map((part) => part.markup).join('');
  return hole instanceof Html ? hole.markup : escapeText(String(hole));
}
