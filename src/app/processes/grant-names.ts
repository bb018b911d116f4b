import { ConfigError } from '../../features/hub/read-config.ts';
import { MOST_LINKS, nameBehindLinks } from '../../platform/files/granted-name.ts';

/** An absolute path that a process may read. */
export type ReadablePath = { path: string; isFolder: boolean };

type Named = ReadablePath & { name: string };

/**
 * Chooses for each path the name under which Node grants that path. Two paths conflict if one name is a prefix of the
 * other. The first path keeps its name; the second gets a name that begins with /proc/self/root, if this machine has
 * that link. Throws ConfigError with both paths if all names conflict.
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
  throw new ConfigError([`${rivalOf(place.path)?.path} and ${place.path} cannot both be granted: the name of one ` +
    'begins the name of the other. Rename one of them.']);
}

/** Whether Node would deny a path because a folder's name is its prefix; a file or a parent folder does no harm. */
function areBeside(one: Named, other: Named): boolean {
  const [shorter, longer] = one.name.length < other.name.length ? [one, other] : [other, one];
  if (!shorter.isFolder || shorter.name === longer.name || shorter.name === '/') return false;
  return longer.name.startsWith(shorter.name) && longer.name[shorter.name.length] !== '/';
}
