import { parseId } from '../../platform/http/input.ts';
import { HttpError, json, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { visibleSource } from '../sources/source-store.ts';
import { countArrived, COUNT_MAX } from './find-in-lists.ts';
import { readingCounts, type ReadingCounts } from './reading-list.ts';
import { readMarks } from './reading-store.ts';

/** Posts on a page that are asked about. */
const POSTS_MAX = 200;

/** For the script: which of the posts on a page are read and starred by now, and the counts that pages show. */
export function showNow(hub: Hub, { query, viewer }: MemberRequest): Reply {
  const ids = (query.get('posts') ?? '').split(',', POSTS_MAX).flatMap((id) => parseId(id) ?? []);
  const states = readMarks(hub).statesOf(viewer, ids);
  const read = states.filter(({ isRead }) => isRead === 1).map(({ id }) => id);
  const starred = states.filter(({ isStarred }) => isStarred === 1).map(({ id }) => id);
  return json({ read, starred, counts: namedCounts(readingCounts(hub, viewer)) });
}

/** Counts by the names that pages give them (`data-count`), as they say them. What is 0 is not among them. */
function namedCounts({ unread, starred, folders }: ReadingCounts): Record<string, string> {
  const counts: [name: string, count: number][] = [['unread', unread], ['all', unread], ['starred', starred]];
  for (const { name, unread: inFolder, sources } of folders) {
    if (name !== null) counts.push([`folder:${name}`, inFolder]);
    for (const { id, unread: ofSource } of sources) counts.push([`source:${id}`, ofSource]);
  }
  return Object.fromEntries(counts.filter(([, count]) => count > 0).map(([name, count]) => [name, countText(count)]));
}

/** A count as pages say it: "148", or "999+". */
export function countText(count: number): string {
  return count < COUNT_MAX ? String(count) : `${COUNT_MAX - 1}+`;
}

/** For the script: how many posts of a list have arrived after the post that was newest when its page was made. */
export function showFresh(hub: Hub, { query, viewer }: MemberRequest): Reply {
  const after = query.get('newest') ?? '';
  const newest = after === '0' ? 0 : parseId(after);
  if (newest === undefined) throw new HttpError(400, 'newest must be the id of a post.');
  const sourceId = parseId(query.get('source') ?? '');
  if (sourceId !== undefined) visibleSource(hub, sourceId, viewer);
  return json({ fresh: countArrived(hub, viewer, newest, { sourceId, folder: query.get('folder') }) });
}
