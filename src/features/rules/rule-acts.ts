import {
  anything, array, field, choice, id, integer, listOf, named, noted, object, optional, orNull, text, time,
} from '../../platform/http/fields.ts';
import { localPath, pathId } from '../../platform/http/input.ts';
import { act, byId, view, type Endpoint } from '../hub/acts.ts';
import { saying, type SaidCode } from '../hub/said.ts';
import {
  addRule, CHANGES, changeRule, checkPlace, ownRule, previewRule, removeRule, SCOPE, termsAfter, TERMS,
} from './change-rule.ts';
import { importRules, readDocument } from './import-rules.ts';
import { fieldsOfForm, showImportAgain, showRuleAgain, showRulePreview } from './rule-pages.ts';
import { ACTS, rules, type Rule } from './rule-store.ts';

/** A rule in the API and in the export. */
export const RULE = named('Rule', object({
  id, match: text, act: choice(ACTS), sourceId: orNull(id), folder: orNull(text),
  applied: noted(integer, 'Number of posts that the rule was applied to'), lastAppliedAt: orNull(time),
  createdAt: time,
}));

const PREVIEW = named('RulePreview', object({
  count: integer, among: noted(integer, 'Number of posts that the preview looked at'),
  items: array(object({
    id, title: text, url: orNull(text), source: object({ id, title: text }), publishedAt: time,
  })),
}));

const SHOWN = 30;

/** Entries of an export, of which the import leaves faulty ones out. */
const entries = optional(field<unknown[]>(array(anything).schema, (input, name) => {
  const value = input.value(name);
  return value === undefined || Array.isArray(value) ? value : input.refuse(name, 'must be a list.');
}));

/** The form of a rule has a button for a preview. */
const FORM = { typed: fieldsOfForm, instead: showRulePreview, again: showRuleAgain, againFor: [422] };

const after = (said: SaidCode) => (_rule: Rule, _hub: unknown, _req: unknown, { from }: Record<string, string>) =>
  saying(from ? localPath(from) : '/settings/rules', said);

export const RULE_ROUTES: Endpoint[] = [
  view('GET /api/rules', { summary: 'Your rules' }, listOf(RULE), (hub, { viewer }) =>
    ({ items: rules(hub).listOf(viewer.id), next: null })),
  ...act({
    api: 'POST /api/rules', form: 'POST /settings/rules', summary: 'Add a rule',
    fields: TERMS, check: checkPlace,
    run: (hub, terms, { viewer }) => addRule(hub, viewer, terms),
    status: 201, shape: RULE, show: RULE.show, ...FORM, next: after('rule-added'),
  }),
  ...act({
    api: 'PATCH /api/rules/:id', form: 'POST /settings/rules/:id',
    summary: 'Change a rule; posts that the rule has muted come back',
    fields: CHANGES,
    check: (input, changes, hub, req) =>
      checkPlace(input, termsAfter(ownRule(hub, req.viewer, pathId(req.params)), changes), hub, req),
    run: (hub, terms, { viewer, params }) => changeRule(hub, viewer, pathId(params), terms),
    shape: RULE, show: RULE.show, ...FORM, next: after('rule-changed'),
  }),
  ...act({
    api: 'DELETE /api/rules/:id', form: 'POST /settings/rules/:id/delete',
    summary: 'Remove a rule; posts that the rule has muted come back',
    run: byId((hub, id, { viewer }) => removeRule(hub, viewer, id)), usesReserve: true,
    to: saying('/settings/rules', 'rule-removed'),
  }),
  ...act({
    api: 'POST /api/rules/preview', summary: 'Posts among the newest 500 that an expression fits',
    fields: SCOPE, check: checkPlace,
    run: (hub, scope, { viewer }) => previewRule(hub, viewer, scope),
    shape: PREVIEW,
    show: ({ posts, among }) => PREVIEW.show({
      count: posts.length, among, items: posts.slice(0, SHOWN).map(({ sourceId, sourceTitle, ...post }) =>
        ({ ...post, source: { id: sourceId, title: sourceTitle } })),
    }),
  }),
  ...act({
    api: 'POST /api/rules/import', form: 'POST /settings/rules/import',
    summary: 'Add the rules and searches of an export',
    fields: { rules: entries, searches: entries },
    run: (hub, document, { viewer }) => importRules(hub, viewer, document),
    shape: object({ rules: integer, searches: integer, leftOut: integer }), show: (imported) => imported,
    typed: readDocument, again: showImportAgain, againFor: [422],
    next: ({ rules: added, searches, leftOut }) => (leftOut > 0
      ? saying('/settings/rules', 'rules-left-out', { count: leftOut })
      : saying('/settings/rules', 'rules-imported', { count: added + searches })),
  }),
];
