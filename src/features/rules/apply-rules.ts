import { plural } from '../../platform/in-words.ts';
import { isPauseDue } from '../../platform/markup/in-steps.ts';
import { nextTurn } from '../../platform/turns.ts';
import { follows } from '../follows/follow-store.ts';
import { counts, once, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import type { Arrival, Storing } from '../posts/ingest-posts.ts';
import type { PreparedPost } from '../posts/post-store.ts';
import { searchTerms } from '../posts/search-words.ts';
import { indexedText, tokensOf } from '../posts/tokens-store.ts';
import { doubles } from '../reading/double-store.ts';
import { listPath } from '../reading/list-address.ts';
import { withDoubles } from '../reading/mark-read.ts';
import { mutedPosts } from '../reading/muted-store.ts';
import { readMarks, stars } from '../reading/reading-store.ts';
import { sources, type Source } from '../sources/source-store.ts';
import {
  compileRules, readExpression, type MatchedExpression, type Matcher, type SourceNames,
} from './match-rules.ts';
import { rules, type Act, type Rule } from './rule-store.ts';

/** The matcher of all rules, as of an edition of the rules; made anew when the rules have changed. */
const compiled = once((_hub: Hub): Compiled => ({ edition: NaN, matcher: null, expressions: new Map() }));
type Compiled = { edition: number; matcher: Matcher<Rule> | null; expressions: Map<string, MatchedExpression> };

/** Returns the matcher of all members' rules; null without any rule. */
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

/**
 * Finds out which members' rules each post fits, outside any transaction. Returns functions for the transaction that
 * stores the posts: `arrived` applies the rules to new posts, and `mutedFor` counts the new posts that are muted.
 */
export async function matchRules(
  hub: Hub, source: MatchedSource, items: { prepared: PreparedPost }[],
): Promise<Omit<Storing, 'kind'>> {
  const matcher = items.length === 0 ? null : currentMatcher(hub);
  const fitting = new Map<PreparedPost, Rule[]>();
  if (!matcher) return { arrived: () => {}, mutedFor: () => 0 };
  const seenBy = sourceSeenBy(hub, source);
  const pace = { unpaused: 0 };
  for (const { prepared } of items) {
    const { searchTitle, searchText, author, publishedAt } = prepared;
    const texts = {
      title: indexedText(searchTitle), text: indexedText(searchText), author: indexedText(searchTerms(author ?? '')),
    };
    fitting.set(prepared, matcher.fitting({ ...texts, publishedAt: publishedAt ?? hub.clock() }, seenBy));
    if (isPauseDue(pace, searchText.length)) await nextTurn();
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

/** Returns a function that tells how a rule's owner sees the source; undefined for members who do not follow it. */
function sourceSeenBy(hub: Hub, { id, title: newTitle = '' }: MatchedSource): (rule: Rule) => SourceNames | undefined {
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
  const hits = new Map<Rule, number[]>();
  for (const { id, prepared } of arrivals) {
    for (const rule of fitting.get(prepared) ?? []) {
      const ids = hits.get(rule) ?? [];
      hits.set(rule, ids);
      ids.push(id);
    }
  }
  const source = hits.size > 0 ? sources(hub).find(sourceId) : undefined;
  if (!source) return;
  const doubled = doubles(hub).among([...hits.values()].flat());
  for (const [rule, ids] of hits) {
    if (!isFor(hub, rule, source) || !rules(hub).noteApplied(rule, ids.length)) continue;
    counts(hub).add('rules_applied_total', rule.act, ids.length);
    // A rule also mutes, marks and stars the posts with the same link that the owner of the rule may see.
    const owner = { id: rule.accountId, role: 'member' as const };
    const rows = ids.some((id) => doubled.has(id)) ? withDoubles(hub, owner, ids) : ids;
    if (rule.act === 'notify') notifyOwner(hub, rule, source, ids.length);
    else for (const postId of rows) ACTIONS[rule.act](hub, rule, postId);
  }
}

/** Whether the owner of a rule follows the source and may see the source, and the rule is for the source. */
function isFor(hub: Hub, { accountId, sourceId, folder }: Rule, source: Source): boolean {
  const follow = follows(hub).find(accountId, source.id);
  return (source.visibility === 'public' || source.ownerId === accountId) && follow !== undefined
    && (sourceId === null || sourceId === source.id) && (folder === null || folder === follow.folder);
}

const ACTIONS: Record<Exclude<Act, 'notify'>, (hub: Hub, rule: Rule, postId: number) => void> = {
  mute: (hub, { accountId, id }, postId) => mutedPosts(hub).add(accountId, postId, id),
  read: (hub, { accountId }, postId) => readMarks(hub).addRead(accountId, postId),
  star: (hub, { accountId }, postId) => stars(hub).add(accountId, postId),
};

/**
 * Notifies a rule's owner about new posts, but not about posts that the owner has written. An unread notification of
 * the same rule is updated rather than followed by another notification.
 */
function notifyOwner(hub: Hub, { accountId, match, sourceId, folder }: Rule, source: Source, posts: number): void {
  if (source.kind === 'native' && source.ownerId === accountId) return;
  const list = { kind: 'all' as const, ...sourceId !== null && { sourceId }, ...folder !== null && { folder } };
  const about = { accountId, senderId: source.ownerId, kind: 'rule.posts', path: listPath({ ...list, q: match }) };
  notifications(hub).addPosts(about, posts, (n) => `${plural(n, 'new post')} for your rule “${match}”`);
}
