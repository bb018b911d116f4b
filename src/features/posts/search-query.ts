import type { Viewer } from '../../platform/http/router.ts';
import { follows } from '../follows/follow-store.ts';
import type { StoreHub } from '../hub/hub.ts';
import { sources } from '../sources/source-store.ts';
import { isEmptyExpression, isNamed, type Clause, type Expression, type Phrase, type State } from './expression.ts';
import { searchKey } from './search-index-store.ts';
import { folded, ownersTerms, phraseTerms, searchTerms } from './search-words.ts';
import { phraseMatcher, tokensOf } from './tokens-store.ts';

export type NamedFacts = { sourceId: number; author: string | null };

/**
 * A search that SQLite's full-text index answers. `match`: an FTS5 expression. `above`, `below`: exclusive bounds of
 * the index's row ids between which posts are searched. `fits`: a check of each post that the index finds, for
 * conditions that the index does not know.
 */
export type SearchQuery = {
  match: string; above: number; below: number; states: ReadonlyMap<State, number>;
  fits: ((post: NamedFacts) => boolean) | undefined;
};

/** `ownerId`: the owner whose private posts the search may find; 0: none. `sourceId`: searches only this source. */
type Searcher = { viewer: Pick<Viewer, 'id' | 'role'> | null; ownerId: number; sourceId?: number | undefined };

/** If `source:` and `in:` select more sources than this, the hub checks the source of each found post instead. */
const INDEXED_SOURCES = 60;

/** An FTS5 expression that matches every post: the index has the id of a post's source as a word. */
const EVERY_POST = `source : (${[...'123456789'].map((digit) => `"${digit}"*`).join(' OR ')})`;

/** Returns the query for an expression; undefined if the expression asks for nothing. */
export function searchQuery(
  hub: StoreHub, expression: Expression, searcher: Searcher,
): SearchQuery | undefined {
  const { clauses, from, until, states } = expression;
  if (isEmptyExpression(expression)) return undefined;
  const named = clauses.filter(({ phrases }) => phrases.some(isNamed))
    .map((clause) => nameCheck(hub, clause, searcher));
  return {
    match: matchOf(clauses, named, searcher),
    above: from > -Infinity ? searchKey(from, 0) - 1 : -Number.MAX_SAFE_INTEGER,
    below: until < Infinity ? searchKey(until, 0) : Number.MAX_SAFE_INTEGER,
    states,
    fits: named.length === 0 ? undefined : (post) => named.every(({ fits }) => fits(post)),
  };
}

/** The check of a clause such as `source:x`. `match`: an FTS5 expression, undefined if the clause needs `fits`. */
type NameCheck = { match: string | undefined; fits(post: NamedFacts): boolean };

function matchOf(clauses: Clause[], named: NameCheck[], { ownerId, sourceId }: Searcher): string {
  const ofText = clauses.filter(({ phrases }) => !phrases.some(isNamed));
  const anyOf = ({ phrases }: Clause): string => phrases.map((phrase) => indexed(phrase, ownerId)).join(' OR ');
  const wanted = [
    ...ofText.filter(({ isExcluded }) => !isExcluded).map((clause) => `(${anyOf(clause)})`),
    ...named.flatMap(({ match }) => match ?? []),
    ...sourceId === undefined ? [] : [ofSources([sourceId])],
  ];
  const all = wanted.length === 0 ? EVERY_POST : wanted.join(' AND ');
  const unwanted = ofText.filter(({ isExcluded }) => isExcluded).map(anyOf).join(' OR ');
  return unwanted === '' ? all : `(${all}) NOT (${unwanted})`;
}

const COLUMNS = { title: 'title', author: 'body' } as const;

/** The FTS5 expression that finds a phrase in public posts and, unless `ownerId` is 0, in the owner's private posts. */
function indexed(phrase: Phrase, ownerId: number): string {
  const { terms, isBeginning } = phraseTerms(phrase);
  const columns = phrase.field === 'title' || phrase.field === 'author' ? COLUMNS[phrase.field] : '{title body}';
  const [star, own] = [isBeginning ? '*' : '', ownersTerms(terms, ownerId)];
  return `${columns} : ("${terms}"${star}${ownerId === 0 ? '' : ` OR "${own}"${star}`})`;
}

function ofSources(ids: number[]): string {
  return `source : (${ids.map((id) => `"${id}"`).join(' OR ') || '"0"'})`;
}

function nameCheck(hub: StoreHub, { isExcluded, phrases }: Clause, searcher: Searcher): NameCheck {
  const authors = phrases.filter(({ field }) => field === 'author');
  const byAuthor = authors.map(phraseMatcher);
  const ids = new Set(phrases.flatMap((phrase) => sourcesNamed(hub, phrase, searcher.viewer)));
  const isIndexed = !isExcluded && ids.size <= INDEXED_SOURCES;
  const found = [
    ...authors.map((phrase) => indexed(phrase, searcher.ownerId)),
    ...authors.length < phrases.length ? [ofSources([...ids])] : [],
  ];
  return {
    match: isIndexed ? `(${found.join(' OR ')})` : undefined,
    fits({ sourceId, author }) {
      const names = author === null || byAuthor.length === 0 ? [] : tokensOf(searchTerms(author));
      return (ids.has(sourceId) || byAuthor.some((isIn) => isIn(names))) !== isExcluded;
    },
  };
}

function sourcesNamed(hub: StoreHub, phrase: Phrase, viewer: Searcher['viewer']): number[] {
  const followed = viewer ? follows(hub).listed(viewer) : [];
  if (phrase.field === 'in') {
    const wanted = sameName(phrase.text);
    return followed.filter(({ folder }) => folder !== null && sameName(folder) === wanted)
      .map(({ sourceId }) => sourceId);
  }
  if (phrase.field !== 'source') return [];
  const isNamedSo = phraseMatcher(phrase);
  const seen = sources(hub).titles(viewer?.id ?? 0);
  return [...seen, ...followed.map(({ sourceId: id, title }) => ({ id, title }))]
    .filter(({ title }) => isNamedSo(tokensOf(searchTerms(title)))).map(({ id }) => id);
}

/** Makes names comparable that differ only in capitals or in forms of a letter. */
export function sameName(name: string): string {
  return folded(name).trim().toLowerCase();
}
