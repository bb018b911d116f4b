import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { emptyText, details, hiddenInput, postButton, postForm } from '../../platform/http/page-parts.ts';
import { isEmptyExpression, parseExpression, type FaultPlace } from '../posts/expression.ts';
import { faultShown, HELP_PATH, hintShown } from '../posts/expression-views.ts';
import { listPath, withoutSearch } from './list-address.ts';
import { countText } from './reading-counts.ts';
import type { View } from './reading-list.ts';

/** `count`: found posts, up to COUNT_MAX. `toSave`: the search as saved. `savedId`: a saved search with these words. */
export type SearchFacts = { count: number; isAll: boolean; toSave: string; savedId: number | undefined };

/** The head of a page of search results: the form, the number of found posts or a mistake, and how to search. */
export function searchHead(view: View, q: string, found: SearchFacts | undefined, fault: FaultPlace | undefined): Html {
  const isOpen = found === undefined || found.count === 0;
  return html`<div class="search-head">${searchForm(view, 'search')}${found && searchLine(view, found)}${
    fault ? faultShown(q, fault) : hintShown(q)}${searchSyntax(isOpen)}</div>`;
}

export function searchForm(view: View, kind: 'find only-wide' | 'search'): Html {
  const [path, query = ''] = listPath(withoutSearch(view)).split('?');
  const label = `Search ${scopeText(view)}`;
  const kept = [...new URLSearchParams(query)];
  return html`<form class="${kind}" role="search" action="${path}">
${kept.map(([name, value]) => hiddenInput(name, value))}
<input type="search" name="q" value="${view.q}" placeholder="${label}" aria-label="${label}" maxlength="200" ${
  view.q === '' && html`autofocus`}>${kind === 'search' ? html`<button>Search</button>`
    : html`<button class="plain iconic" aria-label="Search">${icon('search')}</button>`}</form>`;
}

function scopeText({ kind, folder, sourceId }: View): string {
  if (folder !== undefined) return kind === 'unread' ? 'unread here' : 'this folder';
  if (sourceId !== undefined) return kind === 'unread' ? 'unread here' : 'this source';
  return { unread: 'unread', all: 'all posts', starred: 'starred', muted: 'muted' }[kind];
}

function searchLine(view: View, { count, isAll, toSave, savedId }: SearchFacts): Html {
  const found = `${isAll ? '' : 'More than '}${countText(count)} ${count === 1 ? 'post' : 'posts'}`;
  const byTime = { ...withoutSearch(view), q: view.q ?? '' };
  const order = (by: View['by'], label: string): Html => html`<a href="${listPath({ ...byTime, ...by && { by } })}" ${
    view.by === by && html`aria-current="page"`}>${label}</a>`;
  return html`<div class="search-line"><span role="status">${found}</span>
<nav class="switch" aria-label="Order">${order(undefined, 'Newest first')}${order('relevance', 'Best first')}</nav>
${savedId !== undefined ? postButton(`/searches/${savedId}/remove`, 'Remove saved search', 'plain')
    : postForm('/searches', hiddenInput('q', toSave), html`<button class="plain">Save search</button>`, '')}</div>`;
}

function searchSyntax(isOpen: boolean): Html {
  return details('How to search', html`<ul>
<li><kbd>low water</kbd> finds posts with both words. The last word may be the
beginning of a longer word, if it has three letters or more.</li>
<li><kbd>"low water"</kbd> finds the words side by side.</li>
<li><kbd>low -ferry</kbd> leaves out posts with “ferry”.</li>
<li><kbd>harb* map</kbd> finds words that begin with “harb”: harbour, harbours.</li>
<li>Capitals and accents make no difference: <kbd>strasse</kbd> finds Straße. An emoji counts as a word.</li></ul>
<p><a href="${HELP_PATH}">Search by title, author, source, folder and time</a></p>
`, { isOpen, look: 'syntax' });
}

/** Says that a search of a list found nothing, and offers larger lists; or that there was no word to look for. */
export function emptySearch(view: View, name: string): Html {
  const { kind, folder, sourceId, q = '' } = view;
  if (isEmptyExpression(parseExpression(q, { isSearch: true }))) {
    return emptyText('There is no word to look for: add one without a minus sign.');
  }
  const post = { unread: 'unread post', all: 'post', starred: 'starred post', muted: 'muted post' }[kind];
  const isPart = folder !== undefined || sourceId !== undefined;
  const place = isPart ? html` in <span dir="auto">${name}</span>` : kind === 'all' ? ' of your sources' : '';
  const wider = [
    ...(kind === 'unread' ? [widen({ ...view, kind: 'all' }, isPart ? 'Include read posts' : 'All posts')] : []),
    ...(isPart || kind === 'starred' || kind === 'muted' ? [widen({ kind: 'all', q }, 'All of your sources')] : []),
  ];
  return emptyText(html`No ${post}${place} matches “<span dir="auto">${q}</span>”. ${wider.length > 0 && html`
Search elsewhere: ${wider}`}`);
}

function widen(view: View, label: string): Html {
  return html`<a class="button plain" href="${listPath(view)}">${label}</a> `;
}
