/**
 * Linux's own link to the root folder. Behind it every path has a second name, which Node's permission model takes for
 * another path. That model denies a folder if its name begins the name of another granted path: /x/data beside
 * /x/data-y. Such a path is granted, and then used, behind the link.
 */
const ROOT_LINK = '/proc/self/root';

/** More links than these are never needed: fewer granted folders stand beside one another. */
export const MOST_LINKS = 8;

/** The name of an absolute path behind that many links; the path itself behind none. */
export function nameBehindLinks(path: string, links: number): string {
  return ROOT_LINK.repeat(links) + path;
}

/** The name under which this process was granted an absolute path; the path itself if Node grants no name of it. */
export function grantedName(path: string): string {
  const permission = process.permission as typeof process.permission | undefined; // none without --permission
  if (!permission || !path.startsWith('/')) return path;
  const names = Array.from({ length: MOST_LINKS + 1 }, (_, links) => nameBehindLinks(path, links));
  return names.find((name) => permission.has('fs.read', name)) ?? path;
}

/** A path without such links, as the operator wrote it: for messages, scripts and files. */
export function writtenPath(name: string): string {
  return name.startsWith(`${ROOT_LINK}/`) ? writtenPath(name.slice(ROOT_LINK.length)) : name;
}
