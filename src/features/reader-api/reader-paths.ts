/** A call below any spelling of the base address, and other paths below `/api/greader.php`. */
const CALL = /^\/+(?:api\/+greader\.php\/*)*(accounts|reader\/+api\/+0)\/+(.*)$/;
const OTHER = /^\/+api\/+greader\.php(?:\/+api\/+greader\.php)*(?:\/+(.*))?$/;

/**
 * The path of the route that a path of the Google Reader API stands for: people type the base address with and without
 * `/api/greader.php`, and apps append to it, also a second `/api/greader.php`, with doubled and missing slashes. Other
 * paths stay as they are.
 */
export function canonicalReaderPath(path: string): string {
  const [, start, call] = CALL.exec(path) ?? [];
  if (start !== undefined) return start === 'accounts' ? `/accounts/${call}` : `/reader/api/0/${call}`;
  const other = OTHER.exec(path);
  return other ? `/reader/${other[1] ?? ''}`.replace(/\/$/, '') : path;
}
