/**
 * Linux's link to the root folder gives every path a second name, which Node's permission model treats as another path.
 * Node denies a granted folder whose name is a prefix of another granted path (/x/data beside /x/data-y). The hub
 * grants and uses a folder such as /x/data by its second name, through the link /proc/self/root.
 */
const ROOT_LINK = '/proc/self/root';

/** How often ROOT_LINK may stand in front of a path, at most; limits how many granted paths share a prefix. */
export const MOST_LINKS = 8;

/** Returns an absolute path with ROOT_LINK repeated `links` times in front of the path. */
export function nameBehindLinks(path: string, links: number): string {
  return ROOT_LINK.repeat(links) + path;
}

/**
 * The name under which Node grants this process an absolute path; the path itself if Node grants no name. Names of
 * readable folders come first, because Node 24.7 also calls the common prefix of granted names readable.
 */
export function grantedName(path: string): string {
  const permission = process.permission as typeof process.permission | undefined; // undefined without --permission
  if (!permission || !path.startsWith('/')) return path;
  const names = Array.from({ length: MOST_LINKS + 1 }, (_, links) => nameBehindLinks(path, links));
  const isGranted = (name: string): boolean => permission.has('fs.read', name);
  return names.find((name) => isGranted(`${name}/file`)) ?? names.find(isGranted) ?? path;
}

/** A path as the operator wrote it, without ROOT_LINK, for messages, scripts and files. */
export function writtenPath(name: string): string {
  return name.startsWith(`${ROOT_LINK}/`) ? writtenPath(name.slice(ROOT_LINK.length)) : name;
}
