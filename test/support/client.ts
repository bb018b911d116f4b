/** A response that was read to its end. */
export type Answer = { status: number; headers: Headers; text: string; json<T = Record<string, unknown>>(): T };

export type Client = ReturnType<typeof createClient>;

type Send = { body?: string | URLSearchParams; headers?: Record<string, string> };

/** Speaks to a hub as a browser does: keeps its cookies, says that its requests come from the hub's own pages. */
export function createClient(address: string) {
  const cookies = new Map<string, string>();

  async function send(method: string, path: string, { body, headers = {} }: Send = {}): Promise<Answer> {
    const cookie = cookieOf({ cookies });
    const response = await fetch(address + path, {
      method,
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin', ...(cookie ? { cookie } : {}), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    response.headers.getSetCookie().forEach(keep);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
  }

  function keep(line: string): void {
    const [pair = ''] = line.split(';');
    const equals = pair.indexOf('=');
    if (/Max-Age=0/i.test(line)) cookies.delete(pair.slice(0, equals));
    else cookies.set(pair.slice(0, equals), pair.slice(equals + 1));
  }

  const asJson = (value: unknown): Send =>
    ({ body: JSON.stringify(value), headers: { 'content-type': 'application/json' } });

  return {
    cookies,
    /** Takes a cookie as an answer would set it. */
    keep,
    send,
    get: (path: string, headers: Record<string, string> = {}) => send('GET', path, { headers }),
    /** A page as a browser asks for it. */
    page: (path: string) => send('GET', path, { headers: { accept: 'text/html' } }),
    post: (path: string, value: unknown = {}) => send('POST', path, asJson(value)),
    patch: (path: string, value: unknown) => send('PATCH', path, asJson(value)),
    delete: (path: string) => send('DELETE', path),
    form: (path: string, fields: Record<string, string> = {}) =>
      send('POST', path, { body: new URLSearchParams(fields), headers: { accept: 'text/html' } }),
  };
}

/** What a browser would send in its header. */
export function cookieOf({ cookies }: { cookies: Map<string, string> }): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}
