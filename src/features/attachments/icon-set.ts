import { createHash } from 'node:crypto';
import { notFound } from '../../platform/http/http-error.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { visibleSource } from '../sources/source-store.ts';
import { sourceIcons, type Icon, type StoredIcon } from './icon-store.ts';

/** An icon's address has digits of its hash. Only browsers may cache icons, because access to a source can change. */
export const ICON_HEADERS = {
  'cache-control': 'private, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Icons up to so many bytes come as one SVG, which shows each by its fragment (`#7`): 43 icons of 122 bytes are 4.7 kB
 * in two answers instead of 18 kB in 43. Larger icons stay single, because a browser need not load a single icon again
 * if another page shows other sources.
 */
const SMALL_BYTES = 512;

const MOST = 100;
const SIZE = 20; // of the square in which the SVG has an icon
const KEY = /^((?:[0-9a-z]{1,10}\.)+[0-9a-z]{1,10})-([0-9a-f]{16})$/;

/** The addresses of small icons within one set, by source id; none if fewer than two are small. */
export function pathsInSet(icons: StoredIcon[]): Map<number, string> {
  const small = icons.filter(({ bytes }) => bytes <= SMALL_BYTES)
    .sort((a, b) => a.sourceId - b.sourceId).slice(0, MOST);
  if (small.length < 2) return new Map();
  const ids = small.map(({ sourceId }) => sourceId.toString(36)).join('.');
  const set = `/icon-sets/${ids}-${markOf(small)}`;
  return new Map(small.map(({ sourceId }) => [sourceId, `${set}#${sourceId}`]));
}

/** The same icons have the same mark, so that a browser may keep the set for ever. */
function markOf(icons: StoredIcon[]): string {
  const named = icons.map(({ sourceId, sha256 }) => `${sourceId} ${sha256}\n`).join('');
  return createHash('sha256').update(named).digest('hex').slice(0, 16);
}

/** Throws 404 if the viewer may not see one of the sources, or an icon has changed. */
export function requestedIconSet(hub: Hub, { params, viewer }: HubRequest): [number, Icon][] {
  const [, list = '', mark] = KEY.exec(params['set'] ?? '') ?? [];
  const ids = list.split('.').map((id) => parseInt(id, 36));
  if (ids.length > MOST || mark === undefined) throw notFound('icon');
  for (const id of ids) visibleSource(hub, id, viewer);
  const stored = sourceIcons(hub).listOf(ids);
  const icons = ids.map((id) => stored.get(id)).filter((icon) => icon !== undefined);
  if (markOf(icons) !== mark || icons.some(({ bytes }) => bytes > SMALL_BYTES)) throw notFound('icon');
  return ids.flatMap((id) => {
    const icon = sourceIcons(hub).find(id);
    return icon ? [[id, icon] as [number, Icon]] : [];
  });
}

/** GET /icon-sets/7.a-0123456789abcdef */
export function showIconSet(hub: Hub, req: HubRequest): Reply {
  const parts = requestedIconSet(hub, req).map(([id, { mediaType, content }], index) =>
    `<view id="${id}" viewBox="0 ${index * SIZE} ${SIZE} ${SIZE}"/><image y="${index * SIZE}" width="${SIZE}"` +
    ` height="${SIZE}" href="data:${mediaType};base64,${content.toString('base64')}"/>`);
  const body = `<svg xmlns="http://www.w3.org/2000/svg">${parts.join('')}</svg>`;
  return { status: 200, headers: { ...ICON_HEADERS, 'content-type': 'image/svg+xml' }, body };
}
