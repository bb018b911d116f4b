import { html, type Html } from '../../platform/http/html.ts';
import type { Hub } from '../hub/hub.ts';
import type { Source } from '../sources/source-store.ts';
import { sourceIcons } from './icon-store.ts';

/** Classes of the stylesheet: `tint0` and so on. */
const TINTS = 8;

/** Of the hash of an icon, in its address: enough that no other content ever stands there. */
export const MARK_LENGTH = 16;

/** The icon of a source or, drawn without a request, the first letter of its title. */
export function sourceIcon(hub: Hub, source: Named): Html {
  return iconOf(source, sourceIcons(hub).hashOf(source.id));
}

/** The same of several, by source. */
export function iconsOfSources(hub: Hub, sources: Named[]): Map<number, Html> {
  const hashes = sourceIcons(hub).hashesOf(sources.map(({ id }) => id));
  return new Map(sources.map((source) => [source.id, iconOf(source, hashes.get(source.id))]));
}

type Named = Pick<Source, 'id' | 'title'>;

function iconOf({ id, title }: Named, hash: string | undefined): Html {
  if (hash === undefined) return letterIcon(id, title);
  return html`<img class="favicon" src="${iconPath(id, hash)}" alt="" width="18" height="18" loading="lazy">`;
}

function iconPath(sourceId: number, hash: string): string {
  return `/icons/${sourceId}-${hash.slice(0, MARK_LENGTH)}`;
}

/** The address at the hub at which a source's icon is served, or null where it has none. */
export function iconUrl(hub: Hub, sourceId: number): string | null {
  const hash = sourceIcons(hub).hashOf(sourceId);
  return hash === undefined ? null : hub.config.baseUrl + iconPath(sourceId, hash);
}

function letterIcon(id: number, title: string): Html {
  const [letter = '•'] = /[\p{L}\p{N}]/u.exec(title) ?? [];
  return html`<svg class="favicon tint${id % TINTS}" viewBox="0 0 20 20" width="18" height="18" aria-hidden="true"><rect
    width="20" height="20"/><text x="10" y="14.3">${letter.toLocaleUpperCase('en')}</text></svg>`;
}
