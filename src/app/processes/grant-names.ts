import { ConfigError } from '../../features/hub/read-config.ts';
import { MOST_LINKS, nameBehindLinks } from '../../platform/files/granted-name.ts';

export type ReadablePath = { path: string; isFolder: boolean };

type Named = ReadablePath & { name: string };

/**
 * Chooses for each path the name for Node's flag --allow-fs-read. Node denies a granted folder /x/data if /x/data-y is
 * granted, so the later of two such folders is granted as /proc/self/root/x/data-y, if Linux has the link
 * /proc/self/root. Throws ConfigError with both paths if Node cannot grant both folders.
 */
export function chooseNames(places: readonly ReadablePath[], hasRootLink: boolean): Map<string, string> {
  const chosen = new Map<string, Named>();
  for (const place of places) {
    if (chosen.has(place.path)) continue;
    chosen.set(place.path, { ...place, name: freeName(place, [...chosen.values()], hasRootLink) });
  }
  return new Map([...chosen].map(([path, { name }]) => [path, name]));
}

function freeName(place: ReadablePath, chosen: readonly Named[], hasRootLink: boolean): string {
  const rivalOf = (name: string): Named | undefined => chosen.find((other) => areBeside(other, { ...place, name }));
  for (let links = 0; links <= (hasRootLink ? MOST_LINKS : 0); links++) {
    const name = nameBehindLinks(place.path, links);
    if (!rivalOf(name)) return name;
  }
  const rival = rivalOf(place.path)?.path;
  throw new ConfigError([`Node cannot grant both ${rival} and ${place.path}, because these two paths begin alike. ` +
    `Rename ${rival} or ${place.path}.`]);
}

/** Whether Node would deny a path because another folder's name is a prefix of the path (/x/data beside /x/data-y). */
function areBeside(one: Named, other: Named): boolean {
  const [shorter, longer] = one.name.length < other.name.length ? [one, other] : [other, one];
  if (!shorter.isFolder || shorter.name === longer.name || shorter.name === '/') return false;
  return longer.name.startsWith(shorter.name) && longer.name[shorter.name.length] !== '/';
}
