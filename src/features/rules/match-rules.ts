import { isPauseDue, STEP, type Pace } from '../../platform/markup/in-steps.ts';
import { parseExpression, type Phrase } from '../posts/expression.ts';
import { sameName } from '../posts/search-query.ts';
import { phraseTerms } from '../posts/search-words.ts';
import { phraseMatcher, tokensOf } from '../posts/tokens-store.ts';

/** The texts of a post as `indexedText` makes them, and the time of its publishing (unix ms). */
export type PostTexts = { title: string; text: string; author: string; publishedAt: number };

/** How a member sees the source of a post: the tokens of the names of the source, and the member's folder. */
export type SourceNames = { names: string[][]; folder: string | null };

/**
 * A node of a prefix tree (trie) of rules' phrases: an edge is a token, and each phrase has a number. `ends`: number of
 * the phrase whose tokens lead to this node. `beginnings`: numbers of the phrases whose last token may begin a longer
 * one and whose other tokens lead to this node, by the last token; `lengths`: the lengths of these last tokens.
 */
type TrieNode = {
  next?: Map<string, TrieNode>; ends?: number; beginnings?: Map<string, number>; lengths?: Set<number>;
};

/**
 * The prefix tree of all rules' phrases for a field of posts. `bits` tells by a text's hash whether the text may be the
 * first token of a phrase, or a phrase of one token that may begin a longer one (`harb*`). To find rules' words in a
 * post, hashing the post's characters is much quicker than looking up each word in a Map.
 */
type Trie = { root: TrieNode; bits: Uint8Array };

/** To look at a rule counts as much work as reading this number of characters. */
const RULE_COST = 10;

const IS_FIRST = 1;
const IS_BEGINNING = 2;
const HASHES = 2 ** 16;

/** Limits how many tokens of a post are compared with phrases: a post that repeats one word would else take long. */
const STEPS_PER_CHARACTER = 10;

type NameCheck = (source: SourceNames) => boolean;

/** A clause of a rule: phrases that `OR` joins. `numbers`: the numbers of the clause's phrases in the prefix trees. */
type CompiledClause = { isExcluded: boolean; numbers: number[]; names: NameCheck[] };

/**
 * A rule with its clauses. `key`: the clause whose words a post must have before the others are compared with it;
 * undefined if no clause asks only for words.
 */
type Compiled<Rule> = {
  rule: Rule; clauses: CompiledClause[]; key: CompiledClause | undefined; from: number; until: number;
};

/** The phrases that a post has: their numbers, and by number whether the post has the phrase. */
type Found = { isFound: Uint8Array; numbers: number[] };

/** Rules that are matched against a post all at once: the time hardly grows with the number of those with a `key`. */
export type Matcher<Rule> = {
  /**
   * `seenBy` returns the names that the post's source has for a rule's owner, and the folder in which the owner keeps
   * the source; undefined if the owner does not follow the source.
   */
  fitting(post: PostTexts, seenBy: (rule: Rule) => SourceNames | undefined, pace?: Pace): Generator<void, Rule[]>;
};

/** The field of posts in which a rule's phrase is searched; phrases for the field `text` are searched in titles too. */
type WordField = 'title' | 'text' | 'author';

/** A phrase of words. `isBeginning`: whether the last token may be the beginning of a longer token. */
type Words = { field: WordField; tokens: string[]; isBeginning: boolean };

/** A rule's expression: clauses that a post must all fit. `shortest`: the length of the shortest phrase in a clause. */
export type MatchedExpression = {
  clauses: { isExcluded: boolean; words: Words[]; names: NameCheck[]; shortest: number }[]; from: number; until: number;
};

/** `read` reads the expression of a rule, which takes most of the time: a caller may remember the expressions. */
export function compileRules<Rule extends { match: string }>(rules: Rule[], read = readExpression): Matcher<Rule> {
  const tries: Record<WordField, Trie> = { title: emptyTrie(), text: emptyTrie(), author: emptyTrie() };
  let last = 0;
  const numberOf = (words: Words): number => {
    const number = addWords(tries[words.field], words, last + 1);
    last = Math.max(last, number);
    return number;
  };
  const compiled = rules.map((rule) => compileRule(rule, read(rule.match), numberOf));
  const always = compiled.filter(({ key }) => key === undefined);
  const byKey: Compiled<Rule>[][] = Array.from({ length: last + 1 }, () => []);
  for (const one of compiled) for (const number of one.key?.numbers ?? []) byKey[number]?.push(one);

  return {
    *fitting({ title, text, author, publishedAt }, seenBy, pace = { unpaused: 0 }) {
      const found: Found = { isFound: new Uint8Array(last + 1), numbers: [] };
      yield* findPhrases(tries.title, title, found, pace);
      yield* findPhrases(tries.text, title, found, pace);
      yield* findPhrases(tries.text, text, found, pace);
      yield* findPhrases(tries.author, author, found, pace);
      const fitting = new Set<Compiled<Rule>>();
      for (const some of [always, ...found.numbers.map((number) => byKey[number] ?? [])]) {
        for (const one of some) {
          if (hasWords(one, found) && fits(one, publishedAt, found, seenBy)) fitting.add(one);
          if (isPauseDue(pace, RULE_COST)) yield;
        }
      }
      return [...fitting].map(({ rule }) => rule);
    },
  };
}

function emptyTrie(): Trie {
  return { root: {}, bits: new Uint8Array(HASHES) };
}

export function readExpression(match: string): MatchedExpression {
  const { clauses: parsed, from, until } = parseExpression(match, { isSearch: false });
  const clauses = parsed.map(({ isExcluded, phrases }) => {
    const words = phrases.flatMap((phrase): Words[] => {
      const { field } = phrase;
      if (field === 'source' || field === 'in') return [];
      const { terms, isBeginning } = phraseTerms(phrase);
      return [{ field, tokens: tokensOf(terms), isBeginning }];
    });
    const names = phrases.filter(({ field }) => field === 'source' || field === 'in').map(nameCheck);
    return { isExcluded, words, names, shortest: shortestOf(phrases) };
  });
  return { clauses, from, until };
}

function compileRule<Rule>(
  rule: Rule, { clauses, from, until }: MatchedExpression, numberOf: (words: Words) => number,
): Compiled<Rule> {
  const compiled = clauses.map(({ words, ...clause }) => ({ ...clause, numbers: words.map(numberOf) }));
  // The clause with the longest words is checked first, because few posts have long words.
  const keys = compiled.filter(({ isExcluded, names }) => !isExcluded && names.length === 0);
  const [key] = keys.toSorted((a, b) => b.shortest - a.shortest);
  return { rule, clauses: compiled, key, from, until };
}

function shortestOf(phrases: Phrase[]): number {
  return Math.min(...phrases.map(({ text }) => text.length));
}

function addWords({ root, bits }: Trie, { tokens, isBeginning }: Words, number: number): number {
  const [first = ''] = tokens;
  const last = isBeginning ? tokens.at(-1) : undefined;
  const hash = [...Array(first.length).keys()].reduce((sum, at) => nextHash(sum, first.charCodeAt(at)), 0);
  bits[hash] = (bits[hash] ?? 0) | (isBeginning && tokens.length === 1 ? IS_BEGINNING : IS_FIRST);
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
  node.lengths ??= new Set();
  node.lengths.add(last.length);
  return known;
}

function* findPhrases(trie: Trie, text: string, found: Found, pace: Pace): Generator<void> {
  const note: Note = (number) => {
    if (number === undefined || found.isFound[number] === 1) return;
    found.numbers.push(number);
    found.isFound[number] = 1;
  };
  let [at, left] = [0, text.length * STEPS_PER_CHARACTER];
  while (at < text.length) {
    const [from, before] = [at, left];
    [at, left] = findSome(trie, text, from, left, note);
    if (isPauseDue(pace, at - from + before - left)) yield;
  }
}

/** Finds phrases that begin in a part of the text; returns where the part ends, and what is left, as `follow` does. */
function findSome({ root, bits }: Trie, text: string, from: number, before: number, note: Note): [number, number] {
  let [at, left] = [from, before];
  for (; at < text.length && at - from + before - left < STEP; at++) {
    const start = at;
    let hash = 0;
    for (let code = codeAt(text, at); isInToken(code); code = codeAt(text, ++at)) {
      hash = nextHash(hash, code);
      if (((bits[hash] ?? 0) & IS_BEGINNING) !== 0) note(root.beginnings?.get(text.slice(start, at + 1)));
    }
    const isFirst = at > start && ((bits[hash] ?? 0) & IS_FIRST) !== 0;
    if (isFirst) left = follow(root.next?.get(text.slice(start, at)), text, at, left, note);
  }
  return [at, left];
}

type Note = (number: number | undefined) => void;

/**
 * Calls `note` with the number of each phrase of rules that stands in `text` and whose first token ends at index `at`.
 * Returns how many further tokens of `text` may be compared with phrases.
 */
function follow(node: TrieNode | undefined, text: string, at: number, left: number, note: Note): number {
  note(node?.ends);
  for (let end = at; node && (node.next || node.beginnings) && end < text.length && left > 0; left--) {
    while (end < text.length && !isInToken(codeAt(text, end))) end++;
    const start = end;
    while (isInToken(codeAt(text, end))) end++;
    const token = text.slice(start, end);
    for (const length of node.lengths ?? []) {
      if (length <= token.length) note(node.beginnings?.get(token.slice(0, length)));
    }
    node = node.next?.get(token);
    note(node?.ends);
  }
  return left;
}

function codeAt(text: string, at: number): number {
  return at < text.length ? text.charCodeAt(at) : 0;
}

function isInToken(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || code >= 128;
}

function nextHash(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) & (HASHES - 1);
}

function fits<Rule>(
  { rule, clauses, from, until }: Compiled<Rule>, publishedAt: number, found: Found,
  seenBy: (rule: Rule) => SourceNames | undefined,
): boolean {
  if (publishedAt < from || publishedAt >= until) return false;
  const named = clauses.filter(({ names }) => names.length > 0);
  const seen = named.length > 0 ? seenBy(rule) : undefined;
  return named.length === 0 || (seen !== undefined && named.every((clause) =>
    (hasPhrase(clause, found) || clause.names.some((isNameOf) => isNameOf(seen))) !== clause.isExcluded));
}

function hasWords({ clauses }: Compiled<unknown>, found: Found): boolean {
  for (const clause of clauses) {
    if (clause.names.length === 0 && hasPhrase(clause, found) === clause.isExcluded) return false;
  }
  return true;
}

function hasPhrase({ numbers }: CompiledClause, { isFound }: Found): boolean {
  for (const number of numbers) if (isFound[number] === 1) return true;
  return false;
}

function nameCheck(phrase: Phrase): NameCheck {
  const [isIn, wanted] = [phraseMatcher(phrase), sameName(phrase.text)];
  return phrase.field === 'in' ? ({ folder }) => folder !== null && sameName(folder) === wanted
    : ({ names }) => names.some(isIn);
}
