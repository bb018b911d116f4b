import { plural } from '../../platform/in-words.ts';
import { isPauseDue, STEP, type Pace } from '../../platform/markup/in-steps.ts';
import { nextTurn } from '../../platform/turns.ts';
import { follows } from '../follows/follow-store.ts';
import { counts, once, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import type { Arrival, Storing } from '../posts/ingest-posts.ts';
import type { PreparedPost } from '../posts/post-store.ts';
import { searchTerms } from '../posts/search-words.ts';
import { indexedText, tokensOf } from '../posts/tokens-store.ts';
import { entries, mutedPosts, type EntryRow } from '../reading/entry-store.ts';
import { listPath } from '../reading/list-address.ts';
import { withDoubles } from '../reading/mark-read.ts';
import { sources, type Source } from '../sources/source-store.ts';
import {
  compileRules, readExpression, type MatchedExpression, type Matcher, type SourceNames,
} from './match-rules.ts';
import { ACTS, rules, type Act, type Rule } from './rule-store.ts';

/** Keeps the matcher of all accounts' rules until a rule changes. `edition`: the number of changes of rules so far. */
const compiled = once((_hub: Hub): Compiled => ({ edition: NaN, matcher: null, expressions: new Map() }));
type Compiled = { edition: number; matcher: Matcher<Rule> | null; expressions: Map<string, MatchedExpression> };

function currentMatcher(hub: Hub): Matcher<Rule> | null {
  const [kept, edition] = [compiled(hub), counts(hub).value('rules_edition')]; // SQL triggers count changes of rules
  if (kept.edition !== edition) {
    const all = rules(hub).all();
    const expressions = new Map(all.map(({ match }) => [match, kept.expressions.get(match) ?? readExpression(match)]));
    const matcher = compileRules(all, (match) => expressions.get(match) ?? readExpression(match));
    Object.assign(kept, { edition, expressions, matcher: all.length === 0 ? null : matcher });
  }
  return kept.matcher;
}

/** The source of posts that rules are matched against; `id` is null while the source is only being added. */
type MatchedSource = { id: number | null; title?: string };

/** Matches posts with all rules, before the transaction that stores them and calls `arrived` and `mutedFor`. */
export async function matchRules(
  hub: Hub, source: MatchedSource, items: { prepared: PreparedPost }[],
): Promise<Omit<Storing, 'kind'>> {
  const matcher = items.length === 0 ? null : currentMatcher(hub);
  const fitting = new Map<PreparedPost, Rule[]>();
  if (!matcher) return { arrived: () => {}, mutedFor: () => 0 };
  const seenBy = sourceSeenBy(hub, source);
  const pace = { unpaused: 0 };
  for (const { prepared } of items) {
    const parts = fittingRules(matcher, prepared, hub.clock(), seenBy, pace);
    let part = parts.next();
    for (; part.done !== true; part = parts.next()) await nextTurn();
    fitting.set(prepared, part.value);
  }
  const arrivedIds = new Set<number>();
  return {
    arrived(sourceId, arrivals) {
      for (const { id } of arrivals) arrivedIds.add(id);
      applyRules(hub, sourceId, arrivals, fitting);
    },
    mutedFor: (accountId) => mutedPosts(hub).countAmong(accountId, [...arrivedIds]),
  };
}

type SeenBy = (rule: Rule) => SourceNames | undefined;

function* fittingRules(
  matcher: Matcher<Rule>, { searchTitle, searchText, author, publishedAt }: PreparedPost, now: number, seenBy: SeenBy,
  pace: Pace,
): Generator<void, Rule[]> {
  const text = yield* indexingText(searchText, pace);
  const [title, by] = [indexedText(searchTitle), indexedText(searchTerms(author ?? ''))];
  return yield* matcher.fitting({ title, text, author: by, publishedAt: publishedAt ?? now }, seenBy, pace);
}

/** `indexedText` of a long text, in parts. */
export function* indexingText(terms: string, pace: Pace): Generator<void, string> {
  let text = '';
  for (let at = 0; at < terms.length;) {
    const until = at + STEP + (/^[\udc00-\udfff]/.test(terms.charAt(at + STEP)) ? 1 : 0);
    text += indexedText(terms.slice(at, until));
    if (isPauseDue(pace, Math.min(until, terms.length) - at)) yield;
    at = until;
  }
  return text;
}

function sourceSeenBy(hub: Hub, { id, title: newTitle = '' }: MatchedSource): SeenBy {
  const tokens = (title: string): string[] => tokensOf(searchTerms(title));
  if (id === null) return () => ({ names: [tokens(newTitle)], folder: null });
  let seen: Map<number, SourceNames> | undefined;
  return ({ accountId }) => {
    if (!seen) {
      const title = tokens(sources(hub).find(id)?.title ?? newTitle);
      seen = new Map(follows(hub).readersOf(id).map(({ accountId, ownTitle, folder }) =>
        [accountId, { names: ownTitle === null ? [title] : [title, tokens(ownTitle)], folder }]));
    }
    return seen.get(accountId);
  };
}

/** Applies the rules to new posts. A private source's posts meet only the rules of the source's owner. */
function applyRules(hub: Hub, sourceId: number, arrivals: Arrival[], fitting: Map<PreparedPost, Rule[]>): void {
  const hits = new Map<number, Hit>();
  for (const { id, prepared } of arrivals) {
    for (const rule of fitting.get(prepared) ?? []) {
      const hit = hits.get(rule.id) ?? { rule, ids: [] };
      hits.set(rule.id, hit);
      hit.ids.push(id);
    }
  }
  const source = hits.size > 0 ? sources(hub).find(sourceId) : undefined;
  if (!source) return;
  const applied = [...hits.values()].filter(({ rule, ids }) =>
    isFor(hub, rule, source) && rules(hub).noteApplied(rule, ids.length));
  const applying = Map.groupBy(applied, ({ rule }) => rule.act);
  for (const act of ACTS) { // muting comes first, because notifications do not count muted posts
    const some = applying.get(act);
    if (!some) continue;
    counts(hub).add('rules_applied_total', act, some.reduce((sum, { ids }) => sum + ids.length, 0));
    ACTIONS[act](hub, some, source);
  }
}

function isFor(hub: Hub, { accountId, sourceId, folder }: Rule, source: Source): boolean {
  const follow = follows(hub).find(accountId, source.id);
  return (source.visibility === 'public' || source.ownerId === accountId) && follow !== undefined
    && (sourceId === null || sourceId === source.id) && (folder === null || folder === follow.folder);
}

type Hit = { rule: Rule; ids: number[] };

const ACTIONS: Record<Act, (hub: Hub, hits: Hit[], source: Source) => void> = {
  mute: (hub, hits) => mutedPosts(hub).mute(rowsOf(hub, hits)),
  read: (hub, hits) => entries(hub).putRead(rowsOf(hub, hits)),
  star: (hub, hits) => entries(hub).putStars(rowsOf(hub, hits)),
  notify: (hub, hits, source) => hits.forEach(({ rule, ids }) =>
    notifyOwner(hub, rule, source, ids.length - mutedPosts(hub).countAmong(rule.accountId, ids))),
};

/** The posts that rules change: the fitting ones, and their doubles in public sources and the rule owner's own. */
function rowsOf(hub: Hub, hits: Hit[]): EntryRow[] {
  const inRows = entries(hub).linkedAmong(hits.flatMap(({ ids }) => ids));
  return hits.flatMap(({ rule: { id, accountId }, ids }) => {
    const hasDoubles = ids.some((postId) => inRows.has(postId));
    return (hasDoubles ? withDoubles(hub, { id: accountId, role: 'member' }, ids) : ids)
      .map((postId): EntryRow => [accountId, postId, id]);
  });
}

/** Skips posts in the rule owner's own native sources. An unread notification of the same rule is updated. */
function notifyOwner(hub: Hub, { accountId, match, sourceId, folder }: Rule, source: Source, posts: number): void {
  if (posts === 0 || (source.kind === 'native' && source.ownerId === accountId)) return;
  const list = { kind: 'all' as const, ...sourceId !== null && { sourceId }, ...folder !== null && { folder } };
  const about = { accountId, senderId: source.ownerId, kind: 'rule.posts', path: listPath({ ...list, q: match }) };
  notifications(hub).addPosts(about, posts, (n) => `${plural(n, 'new post')} for your rule “${match}”`);
}
