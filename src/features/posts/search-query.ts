import type { Viewer } from '../../platform/http/router.ts';
import { follows } from '../follows/follow-store.ts';
import type { StoreHub } from '../hub/hub.ts';
import { sources } from '../sources/source-store.ts';
import { EVERY_POST, privateWord, sourceWord, type Blocks } from './blocks.ts';
import { isEmptyExpression, isNamed, type Clause, type Expression, type Phrase, type State } from './expression.ts';
import { indexedFrom, searchKey } from './search-index-store.ts';
import { folded, ownersTerms, phraseTerms, searchTerms } from './search-words.ts';
import { phraseMatcher, tokensOf } from './tokens-store.ts';

export type NamedFacts = { id: number; sourceId: number; author: string | null };

/**
 * What the index is asked for a phrase or a fact, as FTS5 expressions. `words`: all words of the phrase, wherever they
 * stand; null for a single word. `bound`: words of which every post with the phrase has one.
 */
type Part = { match: string; words: string | null; bound: string };

/**
 * A search that SQLite's full-text index answers: a post has one part of each `wanted` clause, and no `unwanted` part.
 * `above`, `below`: exclusive bounds of the index's row ids between which posts are searched; `typedAbove`: the typed
 * one alone. `fits`: a check of each post that the index finds, for conditions that the index does not know
 * (`isChecked`); false once `isSpent`. `isEverything`: the search asks for no word or name.
 */
export type SearchQuery = {
  wanted: Part[][]; unwanted: Part[]; above: number; typedAbove: number; below: number;
  states: ReadonlyMap<State, number>;
  fits(post: NamedFacts): boolean; isSpent(): boolean; isChecked: boolean; isEverything: boolean;
};

/** The words of an index that begin with `beginning`, in its form; null if there are more than `most`. */
export type WordsFrom = (beginning: string, most: number) => string[] | null;

/** The tokens of a post's title and texts, each a list. */
export type TextsOf = (postId: number) => string[][];

/** What a search looks into: the index of posts and, for members, the index of full texts. */
export type Searched = { wordsFrom: WordsFrom; textsOf: TextsOf };

/** `ownerId`: the owner whose private posts the search may find; 0: none. `sourceId`: searches only this source. */
type Searcher = {
  viewer: Pick<Viewer, 'id' | 'role'> | null; ownerId: number; sourceId?: number | undefined; searched: Searched;
};

/** If `source:` and `in:` select more sources than this, the hub checks the source of each found post instead. */
const INDEXED_SOURCES = 16;

/** If more words than this begin with what was typed, the hub reads the texts of found posts instead. */
const WORDS_MAX = 16;

/** Maximum number of posts whose texts one search reads, in about 10 ms. */
const TEXTS_MAX = 60;

/** Words for which a text counts once more. */
const LONG_TEXT = 500;

/** Returns the query for an expression; undefined if the expression asks for nothing. */
export function searchQuery(
  hub: StoreHub, expression: Expression, searcher: Searcher,
): SearchQuery | undefined {
  const { clauses, from, until, states } = expression;
  if (isEmptyExpression(expression)) return undefined;
  const named = clauses.filter(({ phrases }) => phrases.some(isNamed))
    .map((clause) => nameCheck(hub, clause, searcher));
  const ofText = clauses.filter(({ phrases }) => !phrases.some(isNamed))
    .map((clause) => textCheck(clause, searcher));
  const checks = [...named, ...ofText];
  const wanted = [
    ...checks.flatMap(({ isExcluded, parts }) => isExcluded || parts === null ? [] : [parts]),
    ...searcher.sourceId === undefined ? [] : [[ofFacts([sourceWord(searcher.sourceId)])]],
  ];
  const fits = checks.flatMap((check) => check.fits ?? []);
  let texts = 0;
  const takeTexts = (id: number): string[][] => {
    const taken = searcher.searched.textsOf(id);
    texts += 1 + taken.reduce((words, text) => words + text.length, 0) / LONG_TEXT;
    return taken;
  };
  const fitsAll = (post: NamedFacts): boolean => {
    let read: string[][] | undefined;
    return fits.every((fit) => fit(post, (id) => read ??= takeTexts(id)));
  };
  const typedAbove = from > -Infinity ? searchKey(from, 0) - 1 : -Number.MAX_SAFE_INTEGER;
  return {
    wanted: wanted.length === 0 ? [[ofFacts([EVERY_POST])]] : wanted,
    unwanted: checks.flatMap(({ isExcluded, parts }) => isExcluded ? parts ?? [] : []),
    above: Math.max(typedAbove, indexedFrom(hub) - 1),
    typedAbove,
    below: until < Infinity ? searchKey(until, 0) : Number.MAX_SAFE_INTEGER,
    states,
    isEverything: checks.length === 0,
    fits: (post) => texts < TEXTS_MAX && fitsAll(post),
    isSpent: () => texts >= TEXTS_MAX,
    isChecked: fits.length > 0,
  };
}

/** The FTS5 expression of a query within blocks; undefined if `meets` says that no post there has the words. */
export function matchWithin(
  { wanted, unwanted }: SearchQuery, { words }: Blocks, meets: (match: string) => boolean,
): string | undefined {
  const [clause = []] = wanted;
  const isOneList = wanted.length === 1 && unwanted.length === 0 && clause.every((part) => part.words === null);
  // The range is enough to bound one list of places; with blocks, SQLite reads the places of every post beside it.
  if (isOneList) return `(${clause.map(({ match }) => match).join(' OR ')})`;
  const within = ofFacts(words).match;
  // SQLite compares the lists of all words of a phrase before it looks at the block.
  const possible = (parts: Part[]): string[] =>
    parts.filter(({ words }) => words === null || meets(`${within} AND (${words})`)).map(({ match }) => match);
  const clauses = wanted.map(possible);
  if (clauses.some((parts) => parts.length === 0)) return undefined;
  const all = [within, ...clauses.map((parts) => `(${parts.join(' OR ')})`)].join(' AND ');
  const left = possible(unwanted);
  return left.length === 0 ? all : `(${all}) NOT (${left.join(' OR ')})`;
}

type Fits = (post: NamedFacts, textsOf: TextsOf) => boolean;

/** The check of a clause. `parts`: null if the index cannot answer the clause. */
type Check = { isExcluded: boolean; parts: Part[] | null; fits?: Fits };

function textCheck({ isExcluded, phrases }: Clause, searcher: Searcher): Check {
  const asked = phrases.map((phrase) => indexed(phrase, searcher));
  const parts = asked.map(({ part }) => part);
  if (asked.every(({ isSure }) => isSure)) return { isExcluded, parts };
  const matchers = phrases.map((phrase) => ({ isIn: phraseMatcher(phrase), isTitle: phrase.field === 'title' }));
  const has = (texts: string[][]): boolean =>
    matchers.some(({ isIn, isTitle }) => texts.slice(0, isTitle ? 1 : undefined).some(isIn));
  return {
    isExcluded, parts: isExcluded ? null : parts, fits: ({ id }, textsOf) => has(textsOf(id)) !== isExcluded,
  };
}

const COLUMNS = { title: 'title', author: 'body' } as const;

/**
 * What finds a phrase in public posts and, unless `ownerId` is 0, in the owner's private posts. `isSure`: each post
 * that is found has the phrase; else, too many words begin like its last word, and posts without it are found too.
 */
function indexed(phrase: Phrase, { ownerId, searched: { wordsFrom } }: Searcher): { part: Part; isSure: boolean } {
  const { terms, isBeginning } = phraseTerms(phrase);
  const columns = phrase.field === 'title' || phrase.field === 'author' ? COLUMNS[phrase.field] : '{title body}';
  const all = [terms, ...ownerId === 0 ? [] : [ownersTerms(terms, ownerId)]].map(tokensOf);
  const lasts = all.map((words) => lastWords(words.at(-1) ?? '', isBeginning, wordsFrom));
  const isSure = lasts.every((last) => last !== null);
  const wide = (words: string[], at: number): string[] =>
    lasts[at] ?? (at > 0 ? [quoted(privateWord(ownerId))] : [beginningOf(words.at(-1) ?? '')]);
  const each = all.map((words, at) => ({ before: words.slice(0, -1), last: wide(words, at) }));
  const whole = (of: (one: (typeof each)[number]) => string[]): string => each.flatMap(of).join(' OR ') || '""';
  const words = whole(({ before, last }) => [`(${[...before.map(quoted), `(${last.join(' OR ')})`].join(' AND ')})`]);
  const phrases = whole(({ before, last }) => last.map((word) => joined(before, word)));
  const bound = whole(({ before, last }) => before.length > 0 ? [quoted(longest(before))] : last);
  const isSingle = each.every(({ before }) => before.length === 0);
  const match = isSure ? `${columns} : (${phrases})` : `(${words})`;
  return { part: { match, words: isSingle ? null : words, bound }, isSure };
}

/** What finds the last word of a phrase; null if too many words begin like it. */
function lastWords(word: string, isBeginning: boolean, wordsFrom: WordsFrom): string[] | null {
  if (!isBeginning) return [quoted(word)];
  if ([...word].length === INDEXED_BEGINNING) return [`${quoted(word)}*`];
  const found = wordsFrom(word, WORDS_MAX);
  return found && (found.length === 0 ? [word] : found).map(quoted);
}

/** The index has a list of its own for each beginning of this length. */
const INDEXED_BEGINNING = 3;

function beginningOf(word: string): string {
  const signs = [...word];
  if (signs.length < INDEXED_BEGINNING) return quoted(EVERY_POST);
  return `${quoted(signs.slice(0, INDEXED_BEGINNING).join(''))}*`;
}

function joined(before: string[], last: string): string {
  return before.length === 0 ? last : `"${before.join(' ')} ${last.slice(1)}`;
}

function quoted(word: string): string {
  return `"${word}"`;
}

function longest(words: string[]): string {
  return words.reduce((one, other) => (other.length > one.length ? other : one), '');
}

/** The clause part that asks for posts with one of the given facts (blocks.ts). */
export function ofFacts(words: string[]): Part {
  const match = `facts : (${words.map(quoted).join(' OR ') || '"0"'})`;
  return { match, words: null, bound: match };
}

function nameCheck(hub: StoreHub, { isExcluded, phrases }: Clause, searcher: Searcher): Check {
  const authors = phrases.filter(({ field }) => field === 'author');
  const byAuthor = authors.map(phraseMatcher);
  const ids = new Set(phrases.flatMap((phrase) => sourcesNamed(hub, phrase, searcher.viewer)));
  const isIndexed = !isExcluded && ids.size <= INDEXED_SOURCES;
  const parts = [
    ...authors.map((phrase) => indexed(phrase, searcher).part),
    ...authors.length < phrases.length ? [ofFacts([...ids].map(sourceWord))] : [],
  ];
  return {
    isExcluded, parts: isIndexed ? parts : null,
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
  return folded(name).trim();
}
