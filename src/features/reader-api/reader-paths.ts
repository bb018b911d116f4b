/** A call below any spelling of the base address, and the base address alone. */
const CALL = /^\/+(?:api\/+greader\.php\/*)?(accounts|reader\/+api\/+0)\/+(.*)$/;
const BASE = /^\/+api\/+greader\.php\/*$/;

/**
 * The path of the route that a path of the Google Reader API stands for: people type the base address with and without
 * `/api/greader.php`, and apps append to it with doubled and missing slashes. Other paths stay as they are.
 */
export function canonicalReaderPath(path: string): string {
  if (BASE.test(path)) return '/reader';
  const [, start, call] = CALL.exec(path) ?? [];
  if (start === undefined) return path;
  return start === 'accounts' ? `/accounts/${call}` : `/reader/api/0/${call}`;
}
