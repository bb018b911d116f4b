import { isJsonObject, readForm, readJson, type JsonObject } from '../../platform/http/body.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import { json, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { saveSearch } from '../reading/saved-searches.ts';
import { savedSearches } from '../reading/saved-search-store.ts';
import { addNewRule } from './change-rule.ts';
import { showRules } from './rule-pages.ts';

/** What an import has added, and how many entries the hub has left out, such as rules of unknown sources. */
type Imported = { rules: number; searches: number; leftOut: number };

/** An import reads at most this many rules and this many searches. */
const ENTRIES_MAX = 200;

/** POST /api/rules/import: adds the rules and saved searches of an account's export, except those that exist. */
export async function importRulesJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  return json(await importRules(hub, req.viewer, await readJson(req)));
}

/** Form: adds the rules and saved searches of an account's export, which the member has pasted. */
export async function submitImport(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { document = '' } = await readForm(req);
  try {
    const { rules: added, searches, leftOut } = await importRules(hub, req.viewer, readDocument(document));
    return seeOther(leftOut > 0 ? saying('/settings/rules', 'rules-left-out', { count: leftOut })
      : saying('/settings/rules', 'rules-imported', { count: added + searches }));
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

/** Adds the rules and searches of an export; none if `entriesOf` refuses one of the two lists. */
async function importRules(hub: Hub, viewer: Viewer, document: JsonObject): Promise<Imported> {
  const lists = { rules: entriesOf(document, 'rules'), searches: entriesOf(document, 'searches') };
  const done: Imported = { rules: 0, searches: 0, leftOut: 0 };
  const add = async (kind: 'rules' | 'searches', act: (entry: JsonObject) => boolean): Promise<void> => {
    for (const entry of lists[kind].slice(0, ENTRIES_MAX)) {
      await nextTurn();
      try {
        if (act(isJsonObject(entry) ? entry : {})) done[kind]++;
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        done.leftOut++;
      }
    }
    done.leftOut += Math.max(0, lists[kind].length - ENTRIES_MAX);
  };
  await add('rules', ({ match, act, sourceId, folder }) => addNewRule(hub, viewer, { match, act, sourceId, folder }));
  await add('searches', (entry) => {
    const isKnown = savedSearches(hub).listOf(viewer.id).some(({ q }) => q === String(entry['q']).trim());
    if (!isKnown) saveSearch(hub, viewer, entry);
    return !isKnown;
  });
  return done;
}

/** The entries of `rules` or `searches` in an exported document; none if it is missing. Throws 422 if it is no list. */
function entriesOf(document: JsonObject, name: string): unknown[] {
  const list = document[name] ?? [];
  if (!Array.isArray(list)) throw invalid([{ pointer: `/${name}`, detail: `“${name}” must be a list.` }]);
  return list;
}
