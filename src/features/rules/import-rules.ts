import { isJsonObject, readForm, readJson, type JsonObject } from '../../platform/http/body.ts';
import { HttpError, invalid, json, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { saveSearch } from '../reading/saved-searches.ts';
import { savedSearches } from '../reading/saved-search-store.ts';
import { addRule } from './change-rule.ts';
import { showRules } from './rule-pages.ts';
import { rules } from './rule-store.ts';

/** What an import has added, and how many rules and searches the hub has refused, such as rules of unknown sources. */
type Imported = { rules: number; searches: number; leftOut: number };

/** POST /api/rules/import: adds the rules and saved searches of an account's export, except those that exist. */
export async function importRulesJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  return json(importRules(hub, req.viewer, await readJson(req)));
}

export async function submitImport(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { document = '' } = await readForm(req);
  try {
    const { rules: added, searches } = importRules(hub, req.viewer, readDocument(document));
    return seeOther(saying('/settings/rules', 'rules-imported', { count: added + searches }));
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.status !== 422) throw problem;
    return showRules(hub, req, { problem: invalid([{ pointer: '/document', detail: problem.message }]), document });
  }
}

function readDocument(document: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(document);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // a document that is not JSON is refused below
  }
  throw invalid([{ pointer: '/document', detail: 'Paste the JSON document of an export.' }]);
}

/** Adds the rules and searches of an export. Throws 422 and adds nothing if `rules` or `searches` is not a list. */
function importRules(hub: Hub, viewer: Viewer, document: JsonObject): Imported {
  const lists = { rules: entriesOf(document, 'rules'), searches: entriesOf(document, 'searches') };
  const done: Imported = { rules: 0, searches: 0, leftOut: 0 };
  const add = (kind: 'rules' | 'searches', isKnown: boolean, act: () => unknown): void => {
    if (isKnown) return;
    try {
      act();
      done[kind]++;
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      done.leftOut++;
    }
  };
  for (const entry of lists.rules) {
    const { match, act, sourceId = null, folder = null } = entry;
    const isKnown = rules(hub).listOf(viewer.id).some((rule) => rule.match === match && rule.act === act
      && rule.sourceId === sourceId && rule.folder === folder);
    add('rules', isKnown, () => addRule(hub, viewer, { match, act, sourceId, folder }));
  }
  for (const entry of lists.searches) {
    const isKnown = savedSearches(hub).listOf(viewer.id).some(({ q }) => q === entry['q']);
    add('searches', isKnown, () => saveSearch(hub, viewer, entry));
  }
  return done;
}

/** The first 200 objects of `rules` or `searches` in an exported document; throws 422 if the value is not a list. */
function entriesOf(document: JsonObject, name: string): JsonObject[] {
  const list = document[name] ?? [];
  if (!Array.isArray(list)) throw invalid([{ pointer: `/${name}`, detail: `“${name}” must be a list.` }]);
  return list.slice(0, 200).filter(isJsonObject);
}
