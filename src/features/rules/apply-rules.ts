import { plural } from '../../platform/in-words.ts';
import { STEP } from '../../platform/markup/in-steps.ts';
import { nextTurn } from '../../platform/turns.ts';
import { follows } from '../follows/follow-store.ts';
import { counts, once, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import type { Arrival } from '../posts/ingest-posts.ts';
import type { PreparedPost } from '../posts/post-store.ts';
import { searchTerms } from '../posts/search-words.ts';
import { tokensOf } from '../posts/tokens-store.ts';
import { listPath } from '../reading/list-address.ts';
import { mutedPosts } from '../reading/muted-store.ts';
import { readMarks, stars } from '../reading/reading-store.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { compileRules, type Matcher, type SourceNames } from './match-rules.ts';
import { rules, type Rule } from './rule-store.ts';

/** The matcher of all rules, as of an edition of the rules; made anew when the rules have changed. */
const compiled = once((_hub: Hub): Compiled => ({ edition: '', matcher: null }));
type Compiled = { edition: string; matcher: Matcher<Rule> | null };

/** Returns the matcher of all members' rules; null without any rule. */
function currentMatcher(hub: Hub): Matcher<Rule> | null {
  const [kept, edition] = [compiled(hub), rules(hub).edition()];
  if (kept.edition !== edition) {
    const all = rules(hub).all();
    Object.assign(kept, { edition, matcher: all.length === 0 ? null : compileRules(all) });
  }
  return kept.matcher;
}

/** The source of posts that rules are matched against; `id` is null while the source is only being added. */
type MatchedSource = { id: number | null; title?: string };

/**
 * Finds out which members' rules each post fits, outside any transaction. Returns a function that applies the rules to
 * the posts that are new, in the transaction that stores the posts.
 */
export async function matchRules(
  hub: Hub, source: MatchedSource, items: { prepared: PreparedPost }[],
): Promise<(sourceId: number, arrivals: Arrival[]) => void> {
  const matcher = items.length === 0 ? null : currentMatcher(hub);
  const fitting = new Map<PreparedPost, Rule[]>();
  if (!matcher) return () => {};
  const seenBy = sourceSeenBy(hub, source);
  let sincePause = 0;
  for (const { prepared } of items) {
    const { searchTitle, searchText, author, publishedAt } = prepared;
    const [title, text] = [tokensOf(searchTitle), tokensOf(searchText)];
    const names = author === null ? [] : tokensOf(searchTerms(author));
    const post = { title, text, author: names, publishedAt: publishedAt ?? hub.clock() };
    fitting.set(prepared, matcher.fitting(post, seenBy));
    sincePause += searchText.length;
    if (sincePause > STEP) await nextTurn();
    if (sincePause > STEP) sincePause = 0;
  }
  return (sourceId, arrivals) => applyRules(hub, sourceId, arrivals, fitting);
}

/** Returns a function that tells how a rule's owner sees the source; undefined for members who do not follow it. */
function sourceSeenBy(hub: Hub, source: MatchedSource): (rule: Rule) => SourceNames | undefined {
  const tokens = (title: string): string[] => tokensOf(searchTerms(title));
  const { id, title: newTitle = '' } = source;
  const title = tokens((id !== null && sources(hub).find(id)?.title) || newTitle);
  if (id === null) return () => ({ names: [title], folder: null });
  const readers = new Map(follows(hub).readersOf(id).map(({ accountId, ownTitle, folder }) =>
    [accountId, { names: ownTitle === null ? [title] : [title, tokens(ownTitle)], folder }]));
  return ({ accountId }) => readers.get(accountId);
}

/** Applies the rules to new posts. A private source's posts meet only the rules of the source's owner. */
function applyRules(hub: Hub, sourceId: number, arrivals: Arrival[], fitting: Map<PreparedPost, Rule[]>): void {
  const source = sources(hub).find(sourceId);
  const postsOf = new Map<Rule, number[]>();
  for (const { id, prepared } of arrivals) {
    for (const rule of fitting.get(prepared) ?? []) postsOf.get(rule)?.push(id) ?? postsOf.set(rule, [id]);
  }
  for (const [rule, ids] of postsOf) if (source && isFor(hub, rule, source)) applyRule(hub, rule, source, ids);
}

function isFor(hub: Hub, { accountId, sourceId, folder }: Rule, source: Source): boolean {
  if (source.visibility !== 'public' && source.ownerId !== accountId) return false;
  if (sourceId !== null && sourceId !== source.id) return false;
  const follow = follows(hub).find(accountId, source.id);
  return follow !== undefined && (folder === null || follow.folder === folder);
}

function applyRule(hub: Hub, rule: Rule, source: Source, ids: number[]): void {
  const { id: ruleId, accountId, act } = rule;
  if (!rules(hub).noteApplied(rule, ids.length)) return; // the rule was changed or removed since it was matched
  counts(hub).add('rules_applied_total', act, ids.length);
  if (act === 'notify') return notifyOwner(hub, rule, source, ids.length);
  for (const postId of ids) {
    if (act === 'mute') mutedPosts(hub).add(accountId, ruleId, postId);
    else if (act === 'star') stars(hub).add(accountId, postId);
    else readMarks(hub).put({ accountId, sourceId: source.id, postId, isRead: 1, now: hub.clock() });
  }
}

/** Notifies a rule's owner about new posts; merges the notification with an unread notification of the same rule. */
function notifyOwner(hub: Hub, { accountId, match, sourceId, folder }: Rule, source: Source, posts: number): void {
  const list = { kind: 'all' as const, ...sourceId !== null && { sourceId }, ...folder !== null && { folder } };
  const about = { accountId, senderId: source.ownerId, kind: 'rule.posts', path: listPath({ ...list, q: match }) };
  notifications(hub).addPosts(about, posts, (n) => `${plural(n, 'new post')} for your rule “${match}”`);
}
