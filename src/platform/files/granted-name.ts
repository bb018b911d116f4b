/**
 * Linux's link to the root folder. It gives every path a second name, which Node's permission model treats as another
 * path. The model denies a granted folder whose name is a prefix of another granted path (/x/data beside /x/data-y).
 * Such a path is granted and used through the link.
 */
const ROOT_LINK = '/proc/self/root';

/** Links in front of a path at most: fewer granted paths share a prefix. */
export const MOST_LINKS = 8;

/** An absolute path with that many links in front. */
export function nameBehindLinks(path: string, links: number): string {
  return ROOT_LINK.repeat(links) + path;
}

/**
 * The name under which Node grants this process an absolute path; the path itself if Node grants none. Node 24.7 also
 * calls the beginning that granted names have in common readable, but nothing below it: names of folders come first.
 */
export function grantedName(path: string): string {
  const permission = process.permission as typeof process.permission | undefined; // none without --permission
  if (!permission || !path.startsWith('/')) return path;
  const names = Array.from({ length: MOST_LINKS + 1 }, (_, links) => nameBehindLinks(path, links));
  const isGranted = (name: string): boolean => permission.has('fs.read', name);
  return names.find((name) => isGranted(`${name}/file`)) ?? names.find(isGranted) ?? path;
}

/** The path as the operator wrote it, without such links: for messages, scripts and files. */
export function writtenPath(name: string): string {
  return name.startsWith(`${ROOT_LINK}/`) ? writtenPath(name.slice(ROOT_LINK.length)) : name;
}
