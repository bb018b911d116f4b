import { isNamed, parseExpression, type Clause, type Expression, type Phrase } from '../posts/expression.ts';
import { phraseMatcher, sameName } from '../posts/search-query.ts';
import { phraseTerms } from '../posts/search-words.ts';
import { tokensOf } from '../posts/tokens-store.ts';

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
 */
type TrieNode = {
  next?: Map<string, TrieNode>; ends?: number; beginnings?: Map<string, number>; lengths?: number[];
};

/** Limits the steps for one text: a text of one repeated word would else take as many steps as phrases are long. */
const STEPS_PER_TOKEN = 20;

/** A rule that can be matched. `keys`: the numbers of the phrases without which no post fits; null if it has none. */
type Compiled<Rule> = { rule: Rule; expression: Expression; numbers: Map<Phrase, number>; keys: number[] | null };

/** Rules that are matched against a post all at once, in a time that hardly grows with the number of rules. */
export type Matcher<Rule> = {
  /** Returns the rules that a post fits. `seenBy`: how the owner of a rule sees the source; undefined: not at all. */
  fitting(post: PostTokens, seenBy: (rule: Rule) => SourceNames | undefined): Rule[];
};

/** Makes a matcher of rules, which reads the tokens of a post once for all rules. */
export function compileRules<Rule extends { match: string }>(rules: Rule[]): Matcher<Rule> {
  const root: TrieNode = {};
  let last = 0;
  const numberOf = (phrase: Phrase): number => {
    const number = addPhrase(root, phrase, last + 1);
    last = Math.max(last, number);
    return number;
  };
  const compiled = rules.map((rule): Compiled<Rule> => {
    const expression = parseExpression(rule.match, { isSearch: false });
    const phrases = expression.clauses.flatMap((clause) => clause.phrases).filter(({ field }) => LOOKS_IN[field] > 0);
    const numbers = new Map(phrases.map((phrase) => [phrase, numberOf(phrase)]));
    const key = expression.clauses.find(({ isExcluded, phrases: [first] }) => !isExcluded && first && !isNamed(first));
    return { rule, expression, numbers, keys: key?.phrases.map((phrase) => numbers.get(phrase) ?? 0) ?? null };
  });
  const always = compiled.filter(({ keys }) => keys === null);
  const byKey = new Map<number, Compiled<Rule>[]>();
  for (const one of compiled) {
    for (const key of one.keys ?? []) byKey.get(key)?.push(one) ?? byKey.set(key, [one]);
  }

  return {
    fitting(post, seenBy) {
      const found = new Map<number, number>();
      for (const place of ['title', 'text', 'author'] as const) findPhrases(root, post[place], PLACES[place], found);
      const likely = new Set([...always, ...[...found.keys()].flatMap((number) => byKey.get(number) ?? [])]);
      return [...likely].filter((one) => {
        const seen = seenBy(one.rule);
        return seen !== undefined && fits(one, post, seen, found);
      }).map(({ rule }) => rule);
    },
  };
}

/** Adds a phrase to the trie under `number`, unless the trie has the phrase; returns the phrase's number there. */
function addPhrase(root: TrieNode, phrase: Phrase, number: number): number {
  const { terms, isBeginning } = phraseTerms(phrase);
  const tokens = tokensOf(terms);
  const last = isBeginning ? tokens.pop() : undefined;
  let node = root;
  for (const token of tokens) {
    node.next ??= new Map<string, TrieNode>();
    const next: TrieNode = node.next.get(token) ?? {};
    node.next.set(token, next);
    node = next;
  }
  if (last === undefined) return (node.ends ??= number);
  node.beginnings ??= new Map<string, number>();
  const known = node.beginnings.get(last) ?? number;
  node.beginnings.set(last, known);
  node.lengths = [...new Set([...node.lengths ?? [], last.length])].sort((a, b) => a - b);
  return known;
}

/** Notes in `found` which phrases of the trie the tokens have, with the place where they stand. */
function findPhrases(root: TrieNode, tokens: string[], place: number, found: Map<number, number>): void {
  const note = (number: number): void => void found.set(number, (found.get(number) ?? 0) | place);
  let steps = tokens.length * STEPS_PER_TOKEN;
  for (let at = 0; at < tokens.length; at++) {
    let node: TrieNode | undefined = root;
    for (let token = at; node && token < tokens.length && steps-- > 0; token++) {
      const text = tokens[token] ?? '';
      for (const length of node.lengths ?? []) {
        if (length > text.length) break;
        const number = node.beginnings?.get(text.slice(0, length));
        if (number !== undefined) note(number);
      }
      node = node.next?.get(text);
      if (node?.ends !== undefined) note(node.ends);
    }
  }
}

function fits<Rule>(
  { expression, numbers }: Compiled<Rule>, post: PostTokens, seen: SourceNames, found: Map<number, number>,
): boolean {
  const { clauses, from, until } = expression;
  const isFound = (phrase: Phrase): boolean => {
    const number = numbers.get(phrase);
    return number === undefined ? isNameOf(phrase, seen) : ((found.get(number) ?? 0) & LOOKS_IN[phrase.field]) > 0;
  };
  const fitsClause = ({ isExcluded, phrases }: Clause): boolean => phrases.some(isFound) !== isExcluded;
  return post.publishedAt >= from && post.publishedAt < until && clauses.every(fitsClause);
}

/** Whether a phrase of `source:` or `in:` names the source or the folder of a post. */
function isNameOf(phrase: Phrase, { names, folder }: SourceNames): boolean {
  if (phrase.field === 'in') return folder !== null && sameName(folder) === sameName(phrase.text);
  const isIn = phraseMatcher(phrase);
  return names.some(isIn);
}
