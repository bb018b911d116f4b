/**
 * Linux's link /proc/self/root to the folder / gives every path a second name, which Node's permission model treats as
 * another path. Node denies a granted folder whose name is a prefix of another granted path (/x/data beside /x/data-y).
 * So that both can be granted, /x/data-y is named /proc/self/root/x/data-y in Node's flags, and opened by that name.
 */
const ROOT_LINK = '/proc/self/root';

/** How often, at most, the hub puts /proc/self/root before a path so that no other granted path begins alike. */
export const MOST_LINKS = 8;

/** Another name for an absolute path: /proc/self/root (a link to /), written `links` times, and then the path. */
export function nameBehindLinks(path: string, links: number): string {
  return ROOT_LINK.repeat(links) + path;
}

/**
 * The name under which Node's permission model lets this process read an absolute path; the path itself if there is
 * none. Tries each name as a folder first, because `permission.has` of Node 24.7 also returns true for the common
 * beginning of two granted paths.
 */
export function grantedName(path: string): string {
  const permission = process.permission as typeof process.permission | undefined; // undefined without --permission
  if (!permission || !path.startsWith('/')) return path;
  const names = Array.from({ length: MOST_LINKS + 1 }, (_, links) => nameBehindLinks(path, links));
  const isGranted = (name: string): boolean => permission.has('fs.read', name);
  return names.find((name) => isGranted(`${name}/file`)) ?? names.find(isGranted) ?? path;
}

/** A path as the operator wrote it, without /proc/self/root, for messages, scripts and files. */
export function writtenPath(name: string): string {
  return name.startsWith(`${ROOT_LINK}/`) ? writtenPath(name.slice(ROOT_LINK.length)) : name;
}
