import { parseExpression, type Phrase } from '../posts/expression.ts';
import { sameName } from '../posts/search-query.ts';
import { phraseTerms } from '../posts/search-words.ts';
import { phraseMatcher, tokensOf } from '../posts/tokens-store.ts';

/** The tokens of a post (`tokensOf`), and the time of its publishing (unix ms). */
export type PostTokens = { title: string[]; text: string[]; author: string[]; publishedAt: number };

/** How a member sees the source of a post: the tokens of the names of the source, and the member's folder. */
export type SourceNames = { names: string[][]; folder: string | null };

/** The parts of a post in which a phrase was found, as bits. */
const PLACES = { title: 1, text: 2, author: 4 } as const;
const LOOKS_IN = { title: PLACES.title, text: PLACES.title | PLACES.text, author: PLACES.author, source: 0, in: 0 };

/**
 * A node of a trie whose edges are tokens. `ends`: the number of the phrase that ends here. `beginnings`: numbers of
 * phrases by the beginning of their last token. `lengths`: the lengths of these beginnings, the shortest first.
 * `begun`: for tokens seen before, the numbers of the phrases whose last token they begin.
 */
type TrieNode = {
  next?: Map<string, TrieNode>; ends?: number;
  beginnings?: Map<string, number>; lengths?: number[]; begun?: Map<string, number[]>;
};

/** Number of tokens for which a node of the trie remembers the phrases that the tokens begin. */
const BEGUN_MAX = 20_000;

/** Limits the steps for one text: a text of one repeated word would else take as many steps as phrases are long. */
const STEPS_PER_TOKEN = 20;

/** A clause that can be matched: the numbers of its phrases with the places to look in, and its names of sources. */
type CompiledClause = { isExcluded: boolean; numbers: number[]; places: number[]; names: Phrase[] };

/** A rule that can be matched. `key`: the clause that is checked first; undefined if the rule needs no words. */
type Compiled<Rule> = {
  rule: Rule; clauses: CompiledClause[]; key: CompiledClause | undefined; from: number; until: number;
};

/** The phrases that a post has: their numbers, and by number the places where they stand, as bits. */
type Found = { places: Uint8Array; numbers: number[] };

/** Rules that are matched against a post all at once, in a time that hardly grows with the number of rules. */
export type Matcher<Rule> = {
  /** Returns the rules that a post fits. `seenBy`: how the owner of a rule sees the source; undefined: not at all. */
  fitting(post: PostTokens, seenBy: (rule: Rule) => SourceNames | undefined): Rule[];
};

/** A phrase of words. `places`: the parts of a post to look in, as bits. `isBeginning`: of the last token. */
type Words = { tokens: string[]; isBeginning: boolean; places: number };

/** An expression as the matcher needs it. `shortest`: the length of a clause's shortest phrase. */
export type MatchedExpression = {
  clauses: { isExcluded: boolean; words: Words[]; names: Phrase[]; shortest: number }[]; from: number; until: number;
};

/**
 * Makes a matcher of rules, which reads the tokens of a post once for all rules. `read`: reads the expression of a
 * rule, which takes most of the time, so that a caller may remember the expressions.
 */
export function compileRules<Rule extends { match: string }>(rules: Rule[], read = readExpression): Matcher<Rule> {
  const root: TrieNode = {};
  let last = 0;
  const numberOf = (words: Words): number => {
    const number = addWords(root, words, last + 1);
    last = Math.max(last, number);
    return number;
  };
  const compiled = rules.map((rule) => compileRule(rule, read(rule.match), numberOf));
  const always = compiled.filter(({ key }) => key === undefined);
  const byKey: Compiled<Rule>[][] = Array.from({ length: last + 1 }, () => []);
  for (const one of compiled) for (const number of one.key?.numbers ?? []) byKey[number]?.push(one);
  const found: Found = { places: new Uint8Array(last + 1), numbers: [] };

  return {
    fitting(post, seenBy) {
      for (const place of ['title', 'text', 'author'] as const) findPhrases(root, post[place], PLACES[place], found);
      const likely = new Set(always.filter((one) => hasWords(one, found)));
      for (const number of found.numbers) {
        for (const one of byKey[number] ?? []) if (hasWords(one, found)) likely.add(one);
      }
      const fitting = [...likely].filter((one) => fits(one, post.publishedAt, found, seenBy));
      for (const number of found.numbers) found.places[number] = 0;
      found.numbers = [];
      return fitting.map(({ rule }) => rule);
    },
  };
}

/** Reads an expression for `compileRules`. */
export function readExpression(match: string): MatchedExpression {
  const { clauses: parsed, from, until } = parseExpression(match, { isSearch: false });
  const clauses = parsed.map(({ isExcluded, phrases }) => {
    const indexed = phrases.filter(({ field }) => LOOKS_IN[field] > 0);
    const words = indexed.map((phrase): Words => {
      const { terms, isBeginning } = phraseTerms(phrase);
      return { tokens: tokensOf(terms), isBeginning, places: LOOKS_IN[phrase.field] };
    });
    const names = phrases.filter(({ field }) => LOOKS_IN[field] === 0);
    return { isExcluded, words, names, shortest: shortestOf(phrases) };
  });
  return { clauses, from, until };
}

function compileRule<Rule>(
  rule: Rule, { clauses, from, until }: MatchedExpression, numberOf: (words: Words) => number,
): Compiled<Rule> {
  const compiled = clauses.map(({ words, ...clause }) =>
    ({ ...clause, numbers: words.map(numberOf), places: words.map(({ places }) => places) }));
  // Long words are rare: few posts have the key, and only for these posts the other clauses are checked.
  const keys = compiled.filter(({ isExcluded, names }) => !isExcluded && names.length === 0);
  const [key] = keys.toSorted((a, b) => b.shortest - a.shortest);
  return { rule, clauses: compiled, key, from, until };
}

function shortestOf(phrases: Phrase[]): number {
  return Math.min(...phrases.map(({ text }) => text.length));
}

/** Adds a phrase to the trie under `number`, unless the trie has the phrase; returns the phrase's number there. */
function addWords(root: TrieNode, { tokens, isBeginning }: Words, number: number): number {
  const last = isBeginning ? tokens.at(-1) : undefined;
  let node = root;
  for (const token of last === undefined ? tokens : tokens.slice(0, -1)) {
    node.next ??= new Map<string, TrieNode>();
    const next: TrieNode = node.next.get(token) ?? {};
    node.next.set(token, next);
    node = next;
  }
  if (last === undefined) return (node.ends ??= number);
  node.beginnings ??= new Map<string, number>();
  const known = node.beginnings.get(last) ?? number;
  node.beginnings.set(last, known);
  node.lengths ??= [];
  if (!node.lengths.includes(last.length)) node.lengths = [...node.lengths, last.length].sort((a, b) => a - b);
  return known;
}

/** Notes in `found` which phrases of the trie the tokens have, with the place where they stand. */
function findPhrases(root: TrieNode, tokens: string[], place: number, found: Found): void {
  const note = (number: number): void => {
    const before = found.places[number] ?? 0;
    if (before === 0) found.numbers.push(number);
    found.places[number] = before | place;
  };
  let steps = tokens.length * STEPS_PER_TOKEN;
  for (let at = 0; at < tokens.length; at++) {
    let node: TrieNode | undefined = root;
    for (let token = at; node && token < tokens.length && steps-- > 0; token++) {
      const text = tokens[token] ?? '';
      if (node.beginnings) begunBy(node, text).forEach(note);
      node = node.next?.get(text);
      if (node?.ends !== undefined) note(node.ends);
    }
  }
}

/** The numbers of the phrases of a node whose last token may go on as the token `text`. */
function begunBy(node: TrieNode, text: string): number[] {
  node.begun ??= new Map();
  const known = node.begun.get(text);
  if (known) return known;
  const fitting = node.lengths?.filter((length) => length <= text.length) ?? [];
  const numbers = fitting.flatMap((length) => node.beginnings?.get(text.slice(0, length)) ?? []);
  if (node.begun.size >= BEGUN_MAX) node.begun.clear();
  node.begun.set(text, numbers);
  return numbers;
}

function fits<Rule>(
  { rule, clauses, from, until }: Compiled<Rule>, publishedAt: number, found: Found,
  seenBy: (rule: Rule) => SourceNames | undefined,
): boolean {
  const seen = seenBy(rule);
  if (publishedAt < from || publishedAt >= until || seen === undefined) return false;
  const isIn = (clause: CompiledClause): boolean =>
    hasPhrase(clause, found) || clause.names.some((phrase) => isNameOf(phrase, seen));
  return clauses.every((clause) => clause.names.length === 0 || isIn(clause) !== clause.isExcluded);
}

/** Whether a post fits all clauses of a rule that are about words alone. */
function hasWords({ clauses }: Compiled<unknown>, found: Found): boolean {
  for (const clause of clauses) {
    if (clause.names.length === 0 && hasPhrase(clause, found) === clause.isExcluded) return false;
  }
  return true;
}

function hasPhrase({ numbers, places }: CompiledClause, found: Found): boolean {
  for (let index = 0; index < numbers.length; index++) {
    if (((found.places[numbers[index] ?? 0] ?? 0) & (places[index] ?? 0)) > 0) return true;
  }
  return false;
}

/** Whether a phrase of `source:` or `in:` names the source or the folder of a post. */
function isNameOf(phrase: Phrase, { names, folder }: SourceNames): boolean {
  if (phrase.field === 'in') return folder !== null && sameName(folder) === sameName(phrase.text);
  const isIn = phraseMatcher(phrase);
  return names.some(isIn);
}
