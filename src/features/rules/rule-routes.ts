import { isoTime } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { addRule, changeRule, previewRule, removeRule } from './change-rule.ts';
import { rules, type Rule } from './rule-store.ts';

const SHOWN = 30;

/** GET /api/rules: the viewer's rules. */
export function listRules(hub: Hub, { viewer }: MemberRequest): Reply {
  return json({ items: rules(hub).listOf(viewer.id).map(ruleJson), next: null });
}

/** POST /api/rules: adds a rule. */
export async function createRule(hub: Hub, req: MemberRequest): Promise<Reply> {
  return json(ruleJson(addRule(hub, req.viewer, await readJson(req))), 201);
}

/** PATCH /api/rules/:id: changes a rule, whose muted posts come back. */
export async function changeRuleJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readJson(req);
  return json(ruleJson(await changeRule(hub, req.viewer, pathId(req.params), values)));
}

/** DELETE /api/rules/:id: removes a rule, whose muted posts come back. */
export async function deleteRule(hub: Hub, { viewer, params }: MemberRequest): Promise<Reply> {
  await removeRule(hub, viewer, pathId(params));
  return noContent();
}

/** POST /api/rules/preview: how many of the newest posts (`among`) the rule fits, and the newest SHOWN of these. */
export async function previewRuleJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { posts, among } = previewRule(hub, req.viewer, await readJson(req));
  const items = posts.slice(0, SHOWN).map(({ id, title, url, sourceId, sourceTitle, publishedAt }) =>
    ({ id, title, url, source: { id: sourceId, title: sourceTitle }, publishedAt: isoTime(publishedAt) }));
  return json({ count: posts.length, among, items });
}

/** A rule in the API and in the export. */
export function ruleJson({ id, match, act, sourceId, folder, applied, lastAppliedAt, createdAt }: Rule) {
  const [last, created] = [isoTime(lastAppliedAt), isoTime(createdAt)];
  return { id, match, act, sourceId, folder, applied, lastAppliedAt: last, createdAt: created };
}
