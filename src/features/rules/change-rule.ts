import {
  choice, filled, id, line, optional, orNull, readGiven, type Check, type Given,
} from '../../platform/http/fields.ts';
import type { Input } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { FOLDER_MAX, follows } from '../follows/follow-store.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { EXPRESSION_MAX, requireExpression } from '../posts/expression.ts';
import type { Post } from '../posts/post-store.ts';
import { fitAmong } from '../reading/find-in-lists.ts';
import { mutedPosts } from '../reading/entry-store.ts';
import { moveFolder } from '../reading/follow-source.ts';
import { listView } from '../reading/reading-list.ts';
import { ACTS, rules, RULES_MAX, type Rule, type RuleTerms } from './rule-store.ts';

const match = filled(line({ max: EXPRESSION_MAX }));
const act = choice(ACTS);

/** Fields of the posts that a rule is for. */
const PLACE = { sourceId: optional(orNull(id)), folder: optional(orNull(filled(line({ max: FOLDER_MAX })))) };

/** Fields of a rule, of its changes, and of a rule without an act. */
export const TERMS = { match, act, ...PLACE };
export const CHANGES = { match: optional(match), act: optional(act), ...PLACE };
export const SCOPE = { match, ...PLACE };
type Terms = Given<typeof TERMS>;
type Changes = Given<typeof CHANGES>;

const PREVIEWED = 500;

/** Maximum number of muted posts that one transaction puts back into lists, which takes a few milliseconds. */
const SHOWN_AT_ONCE = 500;

export function addRule(hub: Hub, viewer: Viewer, terms: Terms): Rule {
  return storeRule(hub, viewer, wholeTerms(terms));
}

/** Adds the rule of an export, unless the viewer has one with its terms; returns whether it was added. */
export function addNewRule(hub: Hub, viewer: Viewer, exported: Record<string, unknown>): boolean {
  const terms = wholeTerms(readGiven(TERMS, exported, { check: checkingPlace(hub, viewer) }));
  const isKnown = rules(hub).listOf(viewer.id).some((rule) => hasTerms(rule, terms));
  if (!isKnown) storeRule(hub, viewer, terms);
  return !isKnown;
}

function hasTerms(rule: Rule, { match, act, sourceId, folder }: RuleTerms): boolean {
  return rule.match === match && rule.act === act && rule.sourceId === sourceId && rule.folder === folder;
}

function storeRule(hub: Hub, viewer: Viewer, terms: RuleTerms): Rule {
  return hub.db.write('add rule', () => {
    if (rules(hub).listOf(viewer.id).length >= RULES_MAX) {
      throw metLimit(hub, 'rules-max', 0, `An account may have at most ${RULES_MAX} rules.`);
    }
    return ownRule(hub, viewer, rules(hub).add(viewer.id, terms));
  });
}

/** The viewer's rule with this id. Throws status 404 if the viewer has no such rule. */
export function ownRule(hub: Hub, viewer: Viewer, id: number): Rule {
  const rule = rules(hub).find({ id, accountId: viewer.id });
  if (!rule) throw notFound('rule');
  return rule;
}

/** Changes the fields of a rule that are given. If one differs, posts that the rule has muted come back. */
export async function changeRule(hub: Hub, viewer: Viewer, id: number, changes: Changes): Promise<Rule> {
  const before = ownRule(hub, viewer, id);
  const terms = wholeTerms(termsAfter(before, changes));
  if (hasTerms(before, terms)) return before;
  await showMuted(hub, before, () => rules(hub).change({ id, accountId: viewer.id }, terms));
  return ownRule(hub, viewer, id);
}

/** A new source takes the place of a folder, and a folder that of a source. */
export function termsAfter({ match, act, sourceId, folder }: Rule, changes: Partial<Changes>): Terms {
  const isMoved = changes.sourceId != null || changes.folder != null;
  return { match, act, ...!isMoved && { sourceId, folder }, ...changes };
}

/** Removes a rule. Posts that only this rule has muted come back. */
export async function removeRule(hub: Hub, viewer: Viewer, id: number): Promise<void> {
  const rule = ownRule(hub, viewer, id);
  await showMuted(hub, rule, () => rules(hub).remove({ id, accountId: viewer.id }));
}

/** Renames a folder of an account, also in its rules; null instead of a new name deletes the folder. */
export function renameFolder(hub: Hub, accountId: number, from: string, to: string | null): void {
  hub.db.write('rename folder', () => {
    moveFolder(hub, accountId, from, to);
    if (to !== null) rules(hub).moveFolder(accountId, from, to);
  });
}

/**
 * Takes a rule off the posts that it has muted, in short transactions. The last one also runs `act`, which changes or
 * removes the rule: if the process is killed before it, the rule stays as it was.
 */
async function showMuted(hub: Hub, { id, accountId }: Rule, act: () => void): Promise<void> {
  const showSome = (): boolean => hub.db.write('show muted posts', () => {
    const isMore = mutedPosts(hub).unmute({ accountId, ruleId: id, limit: SHOWN_AT_ONCE }) === SHOWN_AT_ONCE;
    if (!isMore) act();
    return isMore;
  });
  while (showSome()) await nextTurn();
}

/** Refuses a source that the viewer does not follow, and an unknown folder. */
export function checkPlace(
  input: Input, { sourceId, folder }: Partial<Terms>, hub: Hub, { viewer }: { viewer: Viewer },
): void {
  if (sourceId && !follows(hub).listed(viewer).some((follow) => follow.sourceId === sourceId)) {
    input.refuse('sourceId', 'must be the id of a source that you follow.');
  }
  if (folder && !follows(hub).hasFolder(viewer.id, folder)) input.refuse('folder', 'must be one of your folders.');
  if (sourceId && folder) input.refuse('folder', 'cannot stand beside sourceId.');
}

export function checkingPlace(hub: Hub, viewer: Viewer): Check<typeof PLACE> {
  return (input, given) => checkPlace(input, given, hub, { viewer });
}

/** Throws 422 for a faulty expression, with the place of the fault. */
function wholeTerms({ sourceId = null, folder = null, ...terms }: Terms): RuleTerms {
  requireExpression(terms.match, 'match', { isRule: true });
  return { ...terms, sourceId, folder };
}

/**
 * To which of the newest PREVIEWED posts in its list a rule would have been applied, newest first. `among`: how many of
 * these it could meet, without the private posts of others.
 */
export function previewRule(
  hub: Hub, viewer: Viewer, scope: Given<typeof SCOPE>,
): { posts: Post[]; among: number } {
  const { match, sourceId, folder } = wholeTerms({ ...scope, act: 'mute' });
  const view = { kind: 'all' as const, ...sourceId !== null && { sourceId }, ...folder !== null && { folder } };
  const { items } = listView(hub, viewer, view, { limit: PREVIEWED });
  const affected = items.filter(({ isPublic, ownerId }) => isPublic === 1 || ownerId === viewer.id);
  const found = new Set(fitAmong(hub, viewer, match, affected.map(({ id }) => id)));
  return { posts: affected.filter(({ id }) => found.has(id)), among: affected.length };
}
