import { createInput } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { FOLDER_MAX, follows } from '../follows/follow-store.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { EXPRESSION_MAX, requireExpression } from '../posts/expression.ts';
import type { Post } from '../posts/post-store.ts';
import { fitAmong } from '../reading/find-in-lists.ts';
import { entries } from '../reading/entry-store.ts';
import { moveFolder } from '../reading/follow-source.ts';
import { listView } from '../reading/reading-list.ts';
import { ACTS, rules, RULES_MAX, type Rule, type RuleTerms } from './rule-store.ts';

type Values = Record<string, unknown>;

const PREVIEWED = 500;

/** Maximum number of muted posts that one transaction puts back into lists, which takes a few milliseconds. */
const SHOWN_AT_ONCE = 500;

export function addRule(hub: Hub, viewer: Viewer, values: Values): Rule {
  return storeRule(hub, viewer, readTerms(hub, viewer, values));
}

/** Adds a rule like `addRule`, unless the viewer has a rule with these terms; returns whether the rule was added. */
export function addNewRule(hub: Hub, viewer: Viewer, values: Values): boolean {
  const terms = readTerms(hub, viewer, values);
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

/** Changes the fields of a rule that `values` contains. If one differs, posts that the rule has muted come back. */
export async function changeRule(hub: Hub, viewer: Viewer, id: number, values: Values): Promise<Rule> {
  const before = ownRule(hub, viewer, id);
  const { match, act, sourceId, folder } = before;
  const isMoved = values['sourceId'] != null || values['folder'] != null;
  const terms = readTerms(hub, viewer, { match, act, ...!isMoved && { sourceId, folder }, ...values });
  if (hasTerms(before, terms)) return before;
  await showMuted(hub, before, () => rules(hub).change({ id, accountId: viewer.id }, terms));
  return ownRule(hub, viewer, id);
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
    const isMore = entries(hub).unmute(accountId, id, SHOWN_AT_ONCE) === SHOWN_AT_ONCE;
    if (!isMore) act();
    return isMore;
  });
  while (showSome()) await nextTurn();
}

function readTerms(hub: Hub, viewer: Viewer, values: Values): RuleTerms {
  const input = createInput(values);
  const act = input.required('act', input.optionalChoice('act', ACTS)) ?? 'mute';
  const match = input.text('match', { max: EXPRESSION_MAX });
  const sourceId = values['sourceId'] == null ? null : input.integer('sourceId', 1, Number.MAX_SAFE_INTEGER);
  const folder = values['folder'] == null ? null : input.text('folder', { max: FOLDER_MAX });
  if (sourceId && !follows(hub).listed(viewer).some((follow) => follow.sourceId === sourceId)) {
    input.refuse('sourceId', 'must be the id of a source that you follow.');
  }
  if (folder && !follows(hub).hasFolder(viewer.id, folder)) input.refuse('folder', 'must be one of your folders.');
  if (sourceId && folder) input.refuse('folder', 'cannot stand beside sourceId.');
  input.done();
  requireExpression(match, 'match', { isRule: true });
  return { match, act, sourceId, folder };
}

/**
 * To which of the newest PREVIEWED posts in its list a rule would have been applied, newest first. `among`: how many of
 * these it could meet, without the private posts of others.
 */
export function previewRule(hub: Hub, viewer: Viewer, values: Values): { posts: Post[]; among: number } {
  const { match, sourceId, folder } = readTerms(hub, viewer, { ...values, act: 'mute' });
  const view = { kind: 'all' as const, ...sourceId !== null && { sourceId }, ...folder !== null && { folder } };
  const { items } = listView(hub, viewer, view, { limit: PREVIEWED });
  const affected = items.filter(({ isPublic, ownerId }) => isPublic === 1 || ownerId === viewer.id);
  const found = new Set(fitAmong(hub, viewer, match, affected.map(({ id }) => id)));
  return { posts: affected.filter(({ id }) => found.has(id)), among: affected.length };
}
