import { isPauseDue, type Pace } from '../../platform/markup/in-steps.ts';
import { parseExpression, type Phrase } from '../posts/expression.ts';
import { sameName } from '../posts/search-query.ts';
import { phraseTerms } from '../posts/search-words.ts';
import { phraseMatcher, standsAt, tokensIn, tokensOf, type Tokens } from '../posts/tokens-store.ts';

/** The texts of a post as `indexedText` makes them, and the time of its publishing (unix ms). */
export type PostTexts = { title: string; text: string; author: string; publishedAt: number };

/** How a member sees the source of a post: the tokens of the names of the source, and the member's folder. */
export type SourceNames = { names: string[][]; folder: string | null };

/** To look at a rule counts as much work as reading this number of characters. */
const RULE_COST = 10;

/** Limits how many tokens of phrases are compared with a text: one that repeats a word would else take long. */
const [STEPS, STEPS_PER_CHARACTER] = [100_000, 10];

type NameCheck = (source: SourceNames) => boolean;

/** Words of a rule; those for the field `text` are searched in titles too. */
type Words = Tokens & { field: 'title' | 'text' | 'author' };

/** Phrases that `OR` joins. `shortest`: the length of the shortest. */
type Clause = { isExcluded: boolean; words: Words[]; names: NameCheck[]; shortest: number };

/** A rule's expression: clauses that a post must all fit, those with names last. */
export type MatchedExpression = { clauses: Clause[]; from: number; until: number };

/** The words that rules look for in a field of posts. */
type Wanted = {
  /** Each once, by how it is written, such as `low`, `harb*` and `low water`. */
  written: Map<string, Words>;
  /** The lengths of the single beginnings, such as 4 for `harb*`. */
  lengths: number[];
  /** What is looked for at a token: it alone, and phrases of which it is the longest whole one. */
  byToken: Map<string, AtToken>;
};

/** `place`: of the token in the phrase. */
type AtToken = { alone?: Words; phrases: { words: Words; place: number }[] };
const NONE: AtToken = { phrases: [] };

/** Rules that are matched against a post all at once: only those are looked at of whose key the post has a word. */
export type Matcher<Rule> = {
  /**
   * `seenBy` returns the names that the post's source has for a rule's owner, and the folder in which the owner keeps
   * the source; undefined if the owner does not follow the source.
   */
  fitting(post: PostTexts, seenBy: (rule: Rule) => SourceNames | undefined, pace?: Pace): Generator<void, Rule[]>;
};

type Compiled<Rule> = { rule: Rule; expression: MatchedExpression };

/** `read` reads the expression of a rule, which takes most of the time: a caller may remember the expressions. */
export function compileRules<Rule extends { match: string }>(rules: Rule[], read = readExpression): Matcher<Rule> {
  const wanted = { title: emptyWanted(), text: emptyWanted(), author: emptyWanted() };
  const byKey = new Map<Words | undefined, Compiled<Rule>[]>(); // `undefined` holds the rules without a key
  for (const rule of rules) {
    const { clauses, ...times } = read(rule.match);
    const shared = clauses.map((clause) =>
      ({ ...clause, words: clause.words.map((words) => want(wanted[words.field], words)) }));
    for (const words of keyOf(shared)?.words ?? [undefined]) {
      const some = byKey.get(words) ?? [];
      byKey.set(words, some);
      some.push({ rule, expression: { clauses: shared, ...times } });
    }
  }

  return {
    *fitting({ title, text, author, publishedAt }, seenBy, pace = { unpaused: 0 }) {
      const found = new Set<Words>();
      yield* findWords(wanted.title, title, found, pace);
      yield* findWords(wanted.text, title, found, pace);
      yield* findWords(wanted.text, text, found, pace);
      yield* findWords(wanted.author, author, found, pace);
      const fitting = new Set<Rule>();
      for (const words of [undefined, ...found]) {
        for (const { rule, expression } of byKey.get(words) ?? []) {
          if (fits(expression, publishedAt, found, () => seenBy(rule))) fitting.add(rule);
          if (isPauseDue(pace, RULE_COST)) yield;
        }
      }
      return [...fitting];
    },
  };
}

export function readExpression(match: string): MatchedExpression {
  const { clauses: parsed, from, until } = parseExpression(match, { isSearch: false });
  const clauses = parsed.map(({ isExcluded, phrases }): Clause => {
    const words = phrases.flatMap((phrase): Words[] => {
      const { field } = phrase;
      if (field === 'source' || field === 'in') return [];
      const { terms, isBeginning } = phraseTerms(phrase);
      return [{ field, tokens: tokensOf(terms), isBeginning }];
    });
    const names = phrases.filter(({ field }) => field === 'source' || field === 'in').map(nameCheck);
    return { isExcluded, words, names, shortest: Math.min(...phrases.map(({ text }) => text.length)) };
  });
  return { clauses: clauses.toSorted((a, b) => a.names.length - b.names.length), from, until };
}

/** The clause of which a post must have a word before the rule is looked at: the longest, which few posts have. */
function keyOf(clauses: Clause[]): Clause | undefined {
  const keys = clauses.filter(({ isExcluded, names }) => !isExcluded && names.length === 0);
  return keys.toSorted((a, b) => b.shortest - a.shortest)[0];
}

function emptyWanted(): Wanted {
  return { written: new Map(), lengths: [], byToken: new Map() };
}

/** Adds words, unless they are there; returns those that are there. */
function want({ written, lengths, byToken }: Wanted, words: Words): Words {
  const { tokens, isBeginning } = words;
  const name = `${tokens.join(' ')}${isBeginning ? '*' : ''}`;
  const known = written.get(name);
  if (known || tokens.length === 0) return known ?? words;
  written.set(name, words);
  const whole = tokens.slice(0, isBeginning ? -1 : undefined);
  const [longest] = whole.toSorted((a, b) => b.length - a.length);
  if (longest === undefined) {
    if (!lengths.includes(name.length - 1)) lengths.push(name.length - 1);
    return words;
  }
  const some = byToken.get(longest) ?? { phrases: [] };
  byToken.set(longest, some);
  if (tokens.length === 1) some.alone = words;
  else some.phrases.push({ words, place: whole.indexOf(longest) });
  return words;
}

function* findWords(
  { written, lengths, byToken }: Wanted, text: string, found: Set<Words>, pace: Pace,
): Generator<void> {
  const tokens = tokensIn(text);
  let left = STEPS + text.length * STEPS_PER_CHARACTER;
  for (let at = 0; at < tokens.length; at++) { // in two thirds of the time that `entries` takes
    const token = tokens[at] ?? '';
    const before = left;
    for (const length of lengths) {
      const words = length <= token.length ? written.get(`${token.slice(0, length)}*`) : undefined;
      if (words) found.add(words);
    }
    const { alone, phrases } = byToken.get(token) ?? NONE;
    if (alone) found.add(alone);
    for (const { words, place } of phrases) {
      if (left <= 0) break;
      left -= found.has(words) ? 1 : words.tokens.length;
      if (!found.has(words) && standsAt(words, tokens, at - place)) found.add(words);
    }
    if (isPauseDue(pace, token.length + before - left)) yield;
  }
}

function fits(
  { clauses, from, until }: MatchedExpression, publishedAt: number, found: Set<Words>,
  seenBy: () => SourceNames | undefined,
): boolean {
  if (publishedAt < from || publishedAt >= until) return false;
  return clauses.every(({ isExcluded, words, names }) => {
    if (names.length === 0) return words.some((one) => found.has(one)) !== isExcluded;
    const seen = seenBy();
    return seen !== undefined
      && (words.some((one) => found.has(one)) || names.some((isNameOf) => isNameOf(seen))) !== isExcluded;
  });
}

function nameCheck(phrase: Phrase): NameCheck {
  const [isIn, wanted] = [phraseMatcher(phrase), sameName(phrase.text)];
  return phrase.field === 'in' ? ({ folder }) => folder !== null && sameName(folder) === wanted
    : ({ names }) => names.some(isIn);
}
