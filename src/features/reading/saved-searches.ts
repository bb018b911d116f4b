import { createHash } from 'node:crypto';
import { hasPassed, isoTime, MINUTE } from '../../platform/clock.ts';
import { readForm, readJson } from '../../platform/http/body.ts';
import { createInput, pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/http-error.ts';
import { json, noContent, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { counts, metLimit, once, type Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { EXPRESSION_MAX, parseExpression, requireExpression } from '../posts/expression.ts';
import { posts } from '../posts/post-store.ts';
import { listPath } from './list-address.ts';
import { countsForPage } from './reading-counts.ts';
import { countFound, type View } from './reading-list.ts';
import { entries } from './entry-store.ts';
import { savedSearches, SEARCHES_MAX, type SavedSearch } from './saved-search-store.ts';

const NAME_MAX = 100;

/** Number at which counting the posts of a saved search stops. */
const FOUND_MAX = 100;

/** Processor time (ms) after which a page begins no further count of a saved search. */
const BUDGET_MS = 4;

/** A search whose count takes this long (ms of processor time) is not counted again for KEPT_FOR. */
const DEAR_MS = 20;

/** Time (ms) after which an unchanged `stateOfLists` spares no count, because the texts of posts may have changed. */
const KEPT_FOR = 10 * MINUTE;

/** GET /api/searches */
export function listSearches(hub: Hub, { viewer }: MemberRequest): Reply {
  const found = searchCounts(hub, viewer);
  const items = savedSearches(hub).listOf(viewer.id).map((search) =>
    ({ ...searchJson(search), count: found.get(search.id) ?? null }));
  return json({ items, next: null });
}

/** POST /api/searches */
export async function createSearch(hub: Hub, req: MemberRequest): Promise<Reply> {
  return json(searchJson(saveSearch(hub, req.viewer, await readJson(req))), 201);
}

/** DELETE /api/searches/:id */
export function deleteSearch(hub: Hub, { viewer, params }: MemberRequest): Reply {
  if (!savedSearches(hub).remove(viewer.id, pathId(params))) throw notFound('saved search');
  return noContent();
}

export async function submitSearch(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { q } = saveSearch(hub, req.viewer, await readForm(req));
  return seeOther(saying(searchPath(q), 'search-saved'));
}

export function submitRemoveSearch(hub: Hub, req: MemberRequest): Reply {
  const search = savedSearches(hub).listOf(req.viewer.id).find(({ id }) => id === pathId(req.params));
  deleteSearch(hub, req);
  return seeOther(saying(searchPath(search?.q ?? ''), 'search-removed'));
}

/** The address of all posts that a saved search finds. */
export function searchPath(q: string): string {
  return listPath({ kind: 'all', q });
}

/** Returns the count of a saved search as pages show it: "48", or "99+". */
export function foundText(count: number): string {
  return count < FOUND_MAX ? String(count) : `${FOUND_MAX - 1}+`;
}

/** A saved search as the API and the export show it. */
export function searchJson({ id, name, q, createdAt }: SavedSearch) {
  return { id, name, q, createdAt: isoTime(createdAt) };
}

/** Saves a search; the beginning of its expression is its default name. */
export function saveSearch(hub: Hub, viewer: Viewer, values: Record<string, unknown>): SavedSearch {
  const input = createInput(values);
  const q = input.text('q', { max: EXPRESSION_MAX });
  const name = input.optionalText('name', { max: NAME_MAX }) ?? q.slice(0, NAME_MAX);
  input.done();
  requireExpression(q, 'q', { isRule: false });
  return hub.db.write('save search', () => {
    if (savedSearches(hub).listOf(viewer.id).length >= SEARCHES_MAX) {
      throw metLimit(hub, 'searches-max', 0, `An account may have at most ${SEARCHES_MAX} saved searches.`);
    }
    const saved = savedSearches(hub).add(viewer.id, name, q);
    if (!saved) throw new Error('the search was not saved');
    return saved;
  });
}

/** How many posts a saved search finds; null: one step could not count them. `state`: `stateOfLists` at the count. */
type KeptCount = { state: string; count: number | null; at: number; isDear: boolean };

const keptCounts = once((_hub: Hub) => new Map<number, KeptCount>());

/** How many posts each saved search finds (unread ones, if it has no `is:`), by its id, as far as BUDGET_MS allows. */
export function searchCounts(hub: Hub, viewer: Viewer): Map<number, number> {
  const [kept, now] = [keptCounts(hub), hub.clock()];
  const all = savedSearches(hub).listOf(viewer.id);
  const state = all.length === 0 ? '' : stateOfLists(hub, viewer);
  const began = usedMs();
  for (const { id, q } of all.toSorted((a, b) => (kept.get(a.id)?.at ?? 0) - (kept.get(b.id)?.at ?? 0))) {
    const last = kept.get(id);
    const isNew = last !== undefined && !hasPassed(last.at, KEPT_FOR, now);
    const before = usedMs();
    if ((isNew && (last.state === state || last.isDear)) || before - began > BUDGET_MS) continue;
    const { count, isAll } = countFound(hub, viewer, viewOf(q), FOUND_MAX);
    kept.set(id, { state, at: now, count: isAll ? count : null, isDear: usedMs() - before > DEAR_MS || !isAll });
  }
  return new Map(all.flatMap(({ id }): [number, number][] => {
    const { count = null, state: counted } = kept.get(id) ?? {};
    return count === null || counted !== state ? [] : [[id, count]];
  }));
}

/**
 * A text by which kept counts of searches are found to be out of date. It has the newest post, the edition of all rules
 * and the viewer's last mark, number of stars, sources with their counts, and choice whether doubles are joined.
 */
function stateOfLists(hub: Hub, viewer: Viewer): string {
  const { starred, folders } = countsForPage(hub, viewer);
  const sources = createHash('sha256').update(JSON.stringify(folders)).digest('base64');
  const [marked, edition] = [entries(hub).lastReadAt(viewer.id), counts(hub).value('rules_edition')];
  return [posts(hub).lastId(), marked, edition, starred, sources, viewer.preferences.joinsDoubles].join(' ');
}

/** Processor time that this thread has used, in ms; unlike elapsed time, it does not grow on a busy machine. */
function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function viewOf(q: string): View {
  const { states } = parseExpression(q, { isSearch: true });
  return { kind: states.size > 0 ? 'all' : 'unread', q };
}
