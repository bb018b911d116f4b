import { html, type Html } from '../../platform/http/html.ts';
import { readFound } from '../posts/mark-found.ts';
import { listPath } from './list-address.ts';
import type { View } from './reading-list.ts';

/** How searches are written. */
export function searchSyntax(isOpen: boolean): Html {
  return html`<details class="syntax" ${isOpen && html`open`}><summary>How to search</summary><ul>
<li><kbd>low water</kbd> finds posts with both words. The last one may be only
the beginning of a word, if it has three letters or more.</li>
<li><kbd>"low water"</kbd> finds the words side by side.</li>
<li><kbd>low -ferry</kbd> leaves out posts with that word.</li>
<li><kbd>harb* map</kbd> finds words that begin so: harbour, harbours.</li>
<li>Capitals and accents make no difference, <kbd>strasse</kbd> finds Straße, and an emoji is a word.</li></ul>
</details>`;
}

/** Says what was searched without a result, and where else there is to look. */
export function nothingFound(view: View, name: string): Html {
  const { kind, folder, sourceId, q = '' } = view;
  if (readFound(q).wanted.length === 0) {
    return html`<p class="empty">There is no word to search for. Type one without a minus sign.</p>`;
  }
  const where = { unread: 'unread post', all: 'post', starred: 'starred post' }[kind];
  const isPart = folder !== undefined || sourceId !== undefined;
  const place = isPart ? html` in <span dir="auto">${name}</span>` : kind === 'all' ? ' of your sources' : '';
  const wider = [
    ...(kind === 'unread' ? [widen({ ...view, kind: 'all' }, isPart ? 'Include read posts' : 'All posts')] : []),
    ...(isPart || kind === 'starred' ? [widen({ kind: 'all', q }, 'All of your sources')] : []),
  ];
  return html`<p class="empty">No ${where}${place} matches “<span dir="auto">${q}</span>”. ${wider.length > 0 && html`
Search elsewhere: ${wider}`}</p>`;
}

function widen(view: View, label: string): Html {
  return html`<a class="button plain" href="${listPath(view)}">${label}</a> `;
}
