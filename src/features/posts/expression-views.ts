import { html, type Html } from '../../platform/http/html.ts';
import { titledPage } from '../../platform/http/page-parts.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import { hintOfSearch, type FaultPlace } from './expression.ts';

export const HELP_PATH = '/help/search';

/** What is wrong with an expression, and the expression with a mark at the fault. */
export function faultShown(typed: string, { at, detail }: FaultPlace): Html {
  return html`<div class="problem" role="alert"><p>${detail} <a href="${HELP_PATH}">How to search</a></p>${
    placeShown(typed, at)}</div>`;
}

/** The hint about the first fault of a search, such as an unknown `titel:`; undefined without a fault. */
export function hintShown(typed: string): Html | undefined {
  const hint = hintOfSearch(typed);
  return hint && html`<p class="hint" role="status">${hint.detail}</p>`;
}

/** Says how far back a search has looked; `isEnd`: at all that is indexed, while older posts are not yet. */
export function searchedLine(
  times: Times, searchedTo: number, { isEmpty, isEnd }: { isEmpty: boolean; isEnd: boolean },
): Html {
  const after = isEnd && ' The hub is indexing older posts anew; they can be found again later.';
  return html`<p class="hint" role="status">${isEmpty && 'Nothing found so far. '}Searched back to ${
    showTime(times, searchedTo, 'exact')}.${after}</p>`;
}

/** The HTML of an expression with a mark at the Unicode character `at`. */
export function placeShown(typed: string, at: number): Html {
  const signs = [...typed];
  return html`
<p dir="auto"><code>${signs.slice(0, at).join('')}<mark>${signs[at] ?? ' '}</mark>${signs.slice(at + 1).join('')
}</code></p>`;
}

const WORDS: Explained = [
  ['low water', 'Posts that have both words, in any order, in the title or the text.'],
  ['"low water"', 'Posts that have the quoted words side by side.'],
  ['low -ferry', 'Posts that have “low” but not “ferry”. It works before quoted words and names, too: ' +
    '-"high wind", -author:jane.'],
  ['harb*', 'Posts with a word that begins with “harb”, such as “harbour”. A star needs at least three letters ' +
    'before it. The last word of a search finds longer words even without one; in a rule it does not.'],
  ['storm OR gale OR "high wind" coast', 'Posts that have “storm”, “gale” or “high wind”, and also “coast”. ' +
    'OR stands between two words, in capitals.'],
];

const FIELDS: Explained = [
  ['title:storm', 'Posts that have the word in the title.'],
  ['author:"jane doe"', 'Posts whose author has this name.'],
  ['source:gazette', 'Posts of sources that have this word in their name.'],
  ['in:"Local news"', 'Posts in your folder with this name.'],
  ['after:2026-01-31', 'Posts of this day or later. Days begin at midnight UTC.'],
  ['before:2026-01-31', 'Posts from before this day.'],
  ['is:unread', 'Unread posts. There are is:starred and is:muted, too. Rules cannot use “is:”.'],
];

type Explained = [expression: string, meaning: string][];

/** GET /help/search: the page that explains the expressions of searches and rules. */
export function showHelp(_hub: Hub, _req: HubRequest): Reply {
  const main = html`<p>Searches and rules are written in the same way. With several parts, they find the posts that all
parts fit.</p>
<h2>Words</h2>${table(WORDS)}
<h2>Names, times and states</h2>${table(FIELDS)}
<p>Capitals and accents make no difference: <kbd>strasse</kbd> finds Straße. An emoji counts as a word. In Chinese,
Japanese, Korean and Thai, any part of a text can be found. There may be 20 words. Other signs, such as + and ~, mean
nothing. Among very many posts, a search stops after a while, says how far back it has looked, and can go on from there.
“Best first” ranks the newest 200 posts found.</p>`;
  return page(titledPage('How to write searches and rules', main));
}

function table(rows: Explained): Html {
  return html`<dl class="facts">${rows.map(([expression, meaning]) =>
    html`<dt><kbd>${expression}</kbd></dt><dd>${meaning}</dd>`)}</dl>`;
}
