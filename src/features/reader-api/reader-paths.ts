/** The two beginnings of the API's paths, after `/api/greader.php` or nothing. */
const SPELLED = /^\/+(?:api\/+greader\.php(?:\/*(?=accounts\/|reader\/)|\/*$))?((?:accounts|reader)\/.*)?$/;

/**
 * The path of the route that a path of the Google Reader API stands for: people type the base address with and without
 * `/api/greader.php`, and apps append to it with doubled and missing slashes. Other paths stay as they are.
 */
export function canonicalReaderPath(path: string): string {
  if (!/^\/+(?:accounts|reader|api\/+greader\.php)/.test(path)) return path;
  const found = SPELLED.exec(path);
  if (!found) return path;
  return found[1] === undefined ? '/reader' : `/${found[1].replace(/\/{2,}/g, '/').replace(/\/$/, '')}`;
}
