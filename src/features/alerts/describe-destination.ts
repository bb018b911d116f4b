/** Scheme, host and port of an address, which are all of it that may be logged or shown. */
export function describeDestination(address: string): string {
  const url = URL.parse(address);
  return url === null ? 'an address that is not valid' : `${url.protocol}//${url.host}`;
}
