import { parseId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { visibleSource } from '../sources/source-store.ts';
import { countArrived, countsForPage, countText, type ReadingCounts } from './reading-counts.ts';
import { entries } from './entry-store.ts';
import { foundText, searchCounts } from './saved-searches.ts';

const SHOWN_MAX = 200;

/** GET /reading/now: tells the page's script which of its posts are read and starred now, and the counts above 0. */
export function showNow(hub: Hub, { query, viewer }: MemberRequest): Reply {
  const ids = (query.get('posts') ?? '').split(',', SHOWN_MAX).flatMap((id) => parseId(id) ?? []);
  const states = entries(hub).statesOf(viewer, ids);
  const read = states.filter(({ isRead }) => isRead === 1).map(({ id }) => id);
  const starred = states.filter(({ isStarred }) => isStarred === 1).map(({ id }) => id);
  return json({ read, starred, counts: namedCounts(countsForPage(hub, viewer), searchCounts(hub, viewer)) });
}

function namedCounts(
  { unread, starred, folders }: ReadingCounts, searches: Map<number, number>,
): Record<string, string> {
  const counts: [name: string, count: number][] = [['unread', unread], ['all', unread], ['starred', starred]];
  for (const { name, unread: inFolder, sources } of folders) {
    if (name !== null) counts.push([`folder:${name}`, inFolder]);
    for (const { id, unread: ofSource } of sources) counts.push([`source:${id}`, ofSource]);
  }
  const found = [...searches].flatMap(([id, count]): [string, string][] =>
    (count > 0 ? [[`search:${id}`, foundText(count)]] : []));
  const shown = counts.filter(([, count]) => count > 0).map(([name, count]) => [name, countText(count)] as const);
  return Object.fromEntries([...shown, ...found]);
}

/** GET /reading/fresh: tells the page's script how many posts of a list arrived after the post `newest`. */
export function showFresh(hub: Hub, { query, viewer }: MemberRequest): Reply {
  const after = query.get('newest') ?? '';
  const newest = after === '0' ? 0 : parseId(after);
  if (newest === undefined) throw new HttpError(400, 'newest must be the id of a post.');
  const sourceId = parseId(query.get('source') ?? '');
  if (sourceId !== undefined) visibleSource(hub, sourceId, viewer);
  return json({ fresh: countArrived(hub, viewer, newest, { sourceId, folder: query.get('folder') }) });
}
