import type { HubRequest } from '../../platform/http/router.ts';
import { parseId, pathId } from '../../platform/http/input.ts';
import type { Choice } from './list-choice-store.ts';
import { ORDER_NAMES } from './list-orders.ts';
import type { View } from './reading-list.ts';

type ListAddress = { view: View; cursor: string | null; newest: number | undefined };

/** Reads from the path and query of a request which list of posts it names. */
export function readListAddress({ path, params, query }: Pick<HubRequest, 'path' | 'params' | 'query'>): ListAddress {
  const since = parseId(query.get('since') ?? '');
  const q = query.get('q')?.trim().slice(0, 200);
  const isBest = q !== undefined && query.get('by') === 'relevance';
  const about = {
    ...(since !== undefined && { since }), ...(q !== undefined && { q }), ...(isBest && { by: 'relevance' as const }),
  };
  return {
    view: { ...viewAt(path, params, query.get('show')), ...inOrder(query.get('order')), ...about },
    cursor: query.get('cursor') || null,
    newest: parseId(query.get('newest') ?? ''),
  };
}

function viewAt(path: string, params: Record<string, string>, show: string | null): View {
  const [, first] = path.split('/', 2);
  if (first === 'all') return { kind: 'all' };
  if (first === 'starred' || first === 'muted') return { kind: first };
  const each = show === 'each' && { each: true as const };
  if (first === 'folders') {
    return { kind: show === 'all' ? 'all' : 'unread', folder: folderInPath(params['name'] ?? ''), ...each };
  }
  if (first === 'sources') {
    return { kind: show === 'unread' ? 'unread' : 'all', sourceId: pathId(params, params['source'] ? 'source' : 'id') };
  }
  return { kind: 'unread', ...each };
}

/** Whether a list is a folder's or a source's. */
export function isPart({ folder, sourceId }: View): boolean {
  return (folder ?? sourceId) !== undefined;
}

const EXPLICIT = ['show', 'order', 'cursor', 'since', 'q'];

/** Whether an address names a list only, so that the list is shown as the member last chose. */
export function isPlain(query: URLSearchParams): boolean {
  return !EXPLICIT.some((name) => query.has(name));
}

/** Returns which posts a member can choose to see in a list. */
export function showsOf({ kind, folder, sourceId }: View): Choice['show'][] {
  if (folder !== undefined) return ['unread', 'all', 'each'];
  if (sourceId !== undefined) return ['unread', 'all'];
  return kind === 'unread' ? ['unread', 'each'] : ['all'];
}

/** A list as the member chose to see it; the starred and the muted list take only the order. */
export function withChoice(list: View, { order, show }: Choice): View {
  const isKept = list.kind === 'starred' || list.kind === 'muted';
  const kind = isKept ? list.kind : show === 'all' ? 'all' : 'unread';
  return { ...list, kind, ...inOrder(order), ...(show === 'each' && { each: true }) };
}

/** An order that this version does not have, as a later one may have stored it, is the usual one. */
function inOrder(wanted: string | null): Pick<View, 'order'> {
  const order = ORDER_NAMES.find((name) => name === wanted);
  return order === undefined || order === 'newest' ? {} : { order };
}

/** The choice that makes a list look like the view. */
export function choiceOf({ kind, order, each }: View): Choice {
  return { order: order ?? 'newest', show: each ? 'each' : kind === 'unread' ? 'unread' : 'all' };
}

/** The list of a key made by `sectionOf`, with its usual order and posts; undefined for searches and other texts. */
export function listOfSection(section: string): View | undefined {
  const [, kind, name = ''] = /^(unread|all|starred|muted|folder:|source:)(.*)$/s.exec(section) ?? [];
  if (kind === 'folder:') return name === '' ? undefined : { kind: 'unread', folder: name };
  const sourceId = parseId(name);
  if (kind === 'source:') return sourceId === undefined ? undefined : { kind: 'all', sourceId };
  return kind === undefined || name !== '' ? undefined : { kind: kind as View['kind'] };
}

/** Query parameters of a list's page. `show`: all posts, although the reader chose the unread ones for the list. */
export type Opened = { show?: 'all'; since?: number; cursor?: string | null; newest?: number };

export function listPath(view: View, page: Opened = {}): string {
  return withQuery(pathOf(view) || '/', { ...queryOf(view), ...page });
}

/** Returns a function that makes the address of a post within a list. */
export function postPaths(view: View, { since, cursor }: Opened): (postId: number) => string {
  const [path, query] = [pathOf(view) || '/unread', withQuery('', { ...queryOf(view), since, cursor })];
  return (postId) => `${path}/posts/${postId}${query}`;
}

/** The list that the view searches. */
export function withoutSearch({ q, by, ...view }: View): View {
  return view;
}

/** Returns the key by which the navigation (`section`) and the unread count (`data-count`) name a list. */
export function sectionOf({ kind, folder, sourceId, q }: View): string {
  if (q && kind === 'all' && folder === undefined && sourceId === undefined) return `search:${q}`;
  if (folder !== undefined) return `folder:${folder}`;
  return sourceId === undefined ? kind : `source:${sourceId}`;
}

/** Returns the path of a folder's list. Browsers take the segments `.` and `..` out of a path, so these get a `~`. */
export function folderPath(name: string): string {
  return `/folders/${encodeURIComponent(name.replace(/^~*\.\.?$/, '~$&'))}`;
}

function folderInPath(segment: string): string {
  return segment.replace(/^~(?=~*\.\.?$)/, '');
}

function pathOf({ kind, folder, sourceId }: View): string {
  if (folder !== undefined) return folderPath(folder);
  if (sourceId !== undefined) return `/sources/${sourceId}`;
  return kind === 'unread' ? '' : `/${kind}`;
}

function queryOf({ kind, folder, sourceId, order, each, q, by }: View): Record<string, string | undefined> {
  const usual = sourceId === undefined ? 'unread' : 'all';
  const show = (folder !== undefined || sourceId !== undefined) && kind !== usual ? kind : undefined;
  return { show: each ? 'each' : show, order, q, by };
}

function withQuery(path: string, values: Record<string, string | number | null | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value || value === '') query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}
