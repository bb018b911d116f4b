import { html, type Html } from '../../platform/http/html.ts';
import type { Hub } from '../hub/hub.ts';
import type { Source } from '../sources/source-store.ts';
import { pathsInSet } from './icon-set.ts';
import { sourceIcons } from './icon-store.ts';

/** Number of colours (classes `tint0`, `tint1`, … of the stylesheet) for the letters that stand for missing icons. */
const TINTS = 8;

/** Digits of the hash in an icon's address, enough for another address when a source's icon changes. */
export const MARK_LENGTH = 16;

/** Without an icon, an SVG shows the first letter or digit of the title. */
export function sourceIcon(hub: Hub, source: Named): Html {
  const hash = sourceIcons(hub).hashOf(source.id);
  return iconOf(source, hash && iconPath(source.id, hash));
}

/** By source id, for members: small icons come as one set. */
export function iconsOfSources(hub: Hub, sources: Named[]): Map<number, Html> {
  const icons = sourceIcons(hub).listOf(sources.map(({ id }) => id));
  const inSet = pathsInSet([...icons.values()]);
  return new Map(sources.map((source) => {
    const icon = icons.get(source.id);
    return [source.id, iconOf(source, icon && (inSet.get(source.id) ?? iconPath(source.id, icon.sha256)))];
  }));
}

type Named = Pick<Source, 'id' | 'title'>;

function iconOf({ id, title }: Named, path: string | undefined): Html {
  if (!path) return letterIcon(id, title);
  return html`<img class="favicon" src="${path}" alt="" width="18" height="18" loading="lazy">`;
}

function iconPath(sourceId: number, hash: string): string {
  return `/icons/${sourceId}-${hash.slice(0, MARK_LENGTH)}`;
}

/** By source id, without the sources that have no icon. */
export function iconPaths(hub: Hub, sourceIds: number[]): Map<number, string> {
  return new Map([...sourceIcons(hub).listOf(sourceIds)].map(([id, { sha256 }]) => [id, iconPath(id, sha256)]));
}

/** Null if the source has no icon. */
export function iconUrl(hub: Hub, sourceId: number): string | null {
  const hash = sourceIcons(hub).hashOf(sourceId);
  return hash === undefined ? null : hub.config.baseUrl + iconPath(sourceId, hash);
}

function letterIcon(id: number, title: string): Html {
  const [letter = '•'] = /[\p{L}\p{N}]/u.exec(title) ?? [];
  return html`<svg class="favicon tint${id % TINTS}" viewBox="0 0 20 20" width="18" height="18" aria-hidden="true"><rect
    width="20" height="20"/><text x="10" y="14.3">${letter.toLocaleUpperCase('en')}</text></svg>`;
}
