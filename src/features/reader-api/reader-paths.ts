/** Patterns of a path: a call below any spelling of the base address, and any other path below `/api/greader.php`. */
const CALL = /^\/+(?:api\/+greader\.php\/*)*(accounts|reader\/+api\/+0)\/+(.*)$/;
const OTHER = /^\/+api\/+greader\.php(?:\/+api\/+greader\.php)*(?:\/+(.*))?$/;

/**
 * Maps a path of the Google Reader API to the path of the hub's route. People type the base address with or without
 * `/api/greader.php`, and apps append a call, also a second `/api/greader.php`, with doubled or missing slashes. Paths
 * outside the Google Reader API stay as they are.
 */
export function canonicalReaderPath(path: string): string {
  const [, start, call] = CALL.exec(path) ?? [];
  if (start !== undefined) return start === 'accounts' ? `/accounts/${call}` : `/reader/api/0/${call}`;
  const other = OTHER.exec(path);
  return other ? `/reader/${other[1] ?? ''}`.replace(/\/$/, '') : path;
}
