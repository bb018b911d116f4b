import { isJsonObject, type JsonObject } from '../../platform/http/body.ts';
import { readGiven } from '../../platform/http/fields.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { saveSearch, SEARCH_FIELDS } from '../reading/saved-searches.ts';
import { savedSearches } from '../reading/saved-search-store.ts';
import { addNewRule } from './change-rule.ts';

/** What an import has added, and how many entries the hub has left out, such as rules of unknown sources. */
type Imported = { rules: number; searches: number; leftOut: number };

type Exported = { rules?: unknown[]; searches?: unknown[] };

/** An import reads at most this many rules and this many searches. */
const ENTRIES_MAX = 200;

/** The fields of the form: the JSON document that the member has pasted. */
export function readDocument({ document = '' }: Record<string, string>): JsonObject {
  try {
    const parsed: unknown = JSON.parse(document);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // a document that is not JSON is refused below
  }
  throw invalid([{ pointer: '/document', detail: 'Paste the JSON document of an export.' }]);
}

/** Adds the rules and saved searches of an account's export, except those that exist. */
export async function importRules(hub: Hub, viewer: Viewer, exported: Exported): Promise<Imported> {
  const lists = { rules: [], searches: [], ...exported };
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
    if (!isKnown) saveSearch(hub, viewer, readGiven(SEARCH_FIELDS, entry));
    return !isKnown;
  });
  return done;
}
