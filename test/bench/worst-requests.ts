import type { Hook } from '../support/webhooks.ts';
import type { Hub } from '../support/hub.ts';
import type { Route } from '../../src/platform/http/router.ts';
import { appPassword } from '../support/reader-app.ts';
import { standardEvent } from '../support/signed-events.ts';
import { worstAddresses } from '../support/worst-addresses.ts';
import { WORST_MARKUP, WORST_TEXTS } from '../support/worst-posts.ts';

/** A request; `what` says which of the worst ones it is. */
export type WorstRequest = {
  what: string;
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
  isAnonymous?: boolean;
};

type Sent = Pick<WorstRequest, 'what' | 'headers'> & { body: Buffer };

const MEBIBYTE = 1024 * 1024;

/** Bytes that a form, a JSON body and a post as JSON may have, and a document of feeds. */
const SIZES = { form: 64 * 1024, json: MEBIBYTE, post: 2.5 * MEBIBYTE, opml: 4 * MEBIBYTE };

/** As many characters as the head of a request takes, each of which is three bytes. */
const LONG_SEARCH = encodeURIComponent('漢字検索'.repeat(400));

/** The worst requests for one route; the first account is its sender, unless it is anonymous. */
export function worstRequests(hub: Hub, route: Route, hook: Hook): WorstRequest[] {
  const { method, path } = route;
  if (path.startsWith('/reader/api/')) return ofApps(hub, route);
  if (method === 'GET') return readings(route);
  const one = path.replace(/:\w+/g, '1');
  if (path === '/api/webhooks/:id') return events(hub, hook);
  const bodies = SPECIAL[`${method} ${path}`] ?? (path.startsWith('/api/') ? jsonBodies(SIZES.json) : formBodies());
  return bodies.map((sent) => ({ ...sent, path: one }));
}

function readings({ path, access }: Route): WorstRequest[] {
  const isLists = ['/', '/all', '/public', '/api/posts', '/sources'].includes(path);
  const addresses = [...worstAddresses(path), ...isLists ? [`${path}?q=${LONG_SEARCH}`, `${path}?limit=100`] : []];
  const callers = access === 'public' ? [true, false] : [false];
  return addresses.flatMap((address) => callers.map((isAnonymous) => ({
    what: `${address === path ? '' : address.slice(path.length, path.length + 20)}${isAnonymous ? ' by a visitor' : ''}`,
    // A parameter of its own for each call, so that no kept answer is measured.
    path: address, headers: { accept: path.startsWith('/api/') ? '*/*' : 'text/html' }, isAnonymous,
  })));
}

const APP_QUERY = 'n=200000&s=user/-/state/com.google/reading-list';

/** Requests of apps: the longest lists, and all ids that a body may name. */
function ofApps(hub: Hub, { method, path }: Route): WorstRequest[] {
  const headers = { authorization: `GoogleLogin auth=${appPassword(hub, 'ada')}`, 'content-type': 'application/x-www-form-urlencoded' };
  const one = path.replace(/:\w+\*?/g, 'user/-/state/com.google/reading-list');
  if (method === 'GET') {
    return [APP_QUERY, `${APP_QUERY}&xt=user/-/state/com.google/read`, `${APP_QUERY}&r=o&it=user/-/state/com.google/starred`]
      .map((query) => ({ what: query.slice(APP_QUERY.length), path: `${one}?${query}`, headers }));
  }
  if (path.endsWith('/import')) return opmlDocuments().map((sent) => ({ ...sent, path: one, headers: { ...headers, ...sent.headers } }));
  const ids = Array.from({ length: 19_990 }, (_, n) => `i=${10 ** 15 + n + 1}`).join('&');
  const streams = Array.from({ length: 9_990 }, (_, n) => `s=feed/http://a/${n}&xt=feed/http://a/${n}`).join('&');
  const states = ['a=user/-/state/com.google/read', 'r=user/-/state/com.google/read', 'a=user/-/state/com.google/starred'];
  return [
    ...states.map((state) => ({ what: state, path: one, headers, body: Buffer.from(`${APP_QUERY}&${state}&${ids}`) })),
    ...['subscribe', 'unsubscribe'].map((act) => ({ what: `many streams, ${act}`, path: one, headers, body: Buffer.from(`ac=${act}&${streams}`) })),
  ];
}

const JSON_TYPE = { 'content-type': 'application/json' };

function jsonBodies(bytes: number): Sent[] {
  const deep = `{"a":${'['.repeat(bytes / 2 - 10)}${']'.repeat(bytes / 2 - 10)}}`;
  const wide = `{${Array.from({ length: Math.floor(bytes / 13) }, (_, n) => `"${String(n).padStart(7, '0')}":1`).join()}}`;
  const list = `{"posts":[${Array.from({ length: Math.floor(bytes / 8) - 10 }, (_, n) => n % 100_000).join()}]}`;
  const escapes = `{"title":"${'\\u0026'.repeat(bytes / 6 - 10)}"}`;
  return Object.entries({ 'deep JSON': deep, 'many members': wide, 'a long list': list, escapes }).map(([what, text]) =>
    ({ what, headers: JSON_TYPE, body: Buffer.from(text) }));
}

const FORM_TYPE = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };

function formBodies(): Sent[] {
  const texts = { 'many fields': 'a=&'.repeat(SIZES.form / 3), 'one long field': `title=${'%26'.repeat(21_000)}` };
  const many = `source=1&act=pause&${Array.from({ length: 7_000 }, (_, n) => `s=${n}`).join('&')}`.slice(0, SIZES.form);
  return Object.entries({ ...texts, 'many sources': many }).map(([what, text]) =>
    ({ what, headers: FORM_TYPE, body: Buffer.from(text) }));
}

const BOUNDARY = 'boundary-of-the-bench';

function multipartOf(fields: Record<string, string>): string {
  const parts = Object.entries(fields).map(([name, value]) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
  return `${parts.join('')}--${BOUNDARY}--\r\n`;
}

function posts(asForm: boolean): Sent[] {
  return Object.entries({ 'text/plain': WORST_TEXTS, 'text/html': WORST_MARKUP }).flatMap(([contentType, texts]) =>
    Object.entries(texts).map(([name, content]) => {
      const fields = { sourceId: '1', title: '"'.repeat(500), contentType, content };
      const text = asForm ? multipartOf(fields) : JSON.stringify({ ...fields, sourceId: 1 });
      const type = asForm ? `multipart/form-data; boundary=${BOUNDARY}` : 'application/json';
      const headers = { accept: 'text/html', 'content-type': type };
      return { what: `${name}, ${contentType}`, headers, body: Buffer.from(text) };
    }));
}

function opmlDocuments(): Sent[] {
  const line = '<outline xmlUrl="http://a"/>';
  const documents = {
    'many feeds': line.repeat(100_000),
    'deep folders': `${'<outline text="a">'.repeat(2_000)}${line}${'</outline>'.repeat(2_000)}`,
    'many attributes': `<outline ${Array.from({ length: 100_000 }, (_, n) => `a${n}="&amp;"`).join(' ')}/>`,
  };
  return Object.entries(documents).map(([what, outlines]) => {
    const text = `<opml version="2.0"><body>${outlines}</body></opml>`.slice(0, SIZES.opml);
    return { what, headers: { 'content-type': 'text/x-opml' }, body: Buffer.from(text) };
  });
}

/** The bodies of routes that take more than a small form or JSON. */
const SPECIAL: Record<string, Sent[]> = {
  'POST /api/posts': [...posts(false), ...jsonBodies(SIZES.post)],
  'PATCH /api/posts/:id': [...posts(false), ...jsonBodies(SIZES.post)],
  'POST /write': posts(true),
  'POST /posts/:id/edit': posts(true),
  'POST /api/sources/import': [...opmlDocuments(), {
    what: 'ISO-2022-JP', headers: { 'content-type': 'text/x-opml; charset=iso-2022-jp' }, body: Buffer.alloc(SIZES.opml, 0x1b),
  }],
  'POST /sources/import': opmlDocuments().map(({ what, body }) =>
    ({ what, headers: FORM_TYPE, body: Buffer.from(`visibility=private&opml=${encodeURIComponent(String(body))}`) })),
};

function events(hub: Hub, { id, secret }: Hook): WorstRequest[] {
  const item = (rest: object): string => JSON.stringify({
    type: 'post.published', timestamp: new Date(hub.now()).toISOString(), data: { id: 'x', ...rest },
  });
  const bodies = {
    'long markup': item({ content_html: '<p>漢'.repeat(170_000) }),
    'tables and links': item({ content_html: '<a href=http://a>漢</a><table><td>漢</table>'.repeat(19_000) }),
    'long text': item({ content_text: 'http://a '.repeat(110_000) }),
    'many files': item({ attachments: Array.from({ length: 15_000 }, (_, n) => ({ url: `http://a/${n}`, mime_type: 'a/b' })) }),
    'deep JSON': `{"type":"x","data":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
  };
  return Object.entries(bodies).map(([what, text], index) => {
    const signed = standardEvent(secret, { id: `msg_${index}`, timestamp: Math.floor(hub.now() / 1000), body: text });
    const pairs = Array.from({ length: signed.rawHeaders.length / 2 }, (_, n) => signed.rawHeaders.slice(2 * n, 2 * n + 2));
    const headers = { ...JSON_TYPE, ...Object.fromEntries(pairs) as Record<string, string> };
    return { what, path: `/api/webhooks/${id}`, headers, body: signed.body, isAnonymous: true };
  });
}
