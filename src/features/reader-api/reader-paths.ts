/** Patterns of a path: a call of the Google Reader API below any spelling of the base address, or the address alone. */
const CALL = /^\/+(?:api\/+greader\.php\/*)?(accounts|reader\/+api\/+0)\/+(.*)$/;
const BASE = /^\/+api\/+greader\.php\/*$/;

/**
 * Maps a path of the Google Reader API to the path of the hub's route. People type the base address with or without
 * `/api/greader.php`, and apps double or omit slashes when appending a call to the base address. Paths outside the
 * Google Reader API stay as they are.
 */
export function canonicalReaderPath(path: string): string {
  if (BASE.test(path)) return '/reader';
  const [, start, call] = CALL.exec(path) ?? [];
  if (start === undefined) return path;
  return start === 'accounts' ? `/accounts/${call}` : `/reader/api/0/${call}`;
}
