// Protects eight apps, beside newsboat and RSS Guard, whose tests run them: each gets the answers that it can read.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addFollow, addNotes, addPost } from '../../support/accounts.ts';
import type { Answer } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { appPassword, hexItemId, idsIn, itemId, STATE } from '../../support/reader-app.ts';

type Item = Record<string, unknown> & {
  id: string; title: string; summary: { content: string }; categories: string[];
  canonical: { href: string }[]; alternate: { href: string; type: string }[]; origin: Record<string, string>;
  enclosure?: { href: string; type: string; length: number }[];
};

const WEB = /^https?:\/\/\S+$/;

/** Checks each answer by what some app needs of it: the app that needs most decides. */
const CHECKS = {
  auth: ({ text }: Answer) => assert.match(text, /^SID=\w+\nLSID=\w+\nAuth=\w+\n$/),
  authAsJson: (answer: Answer) => assert.match(answer.json<{ Auth: string }>().Auth, /^\w+$/),
  token: ({ text }: Answer) => assert.match(text, /^\w+$/),
  ok: ({ text }: Answer) => assert.equal(text, 'OK'),

  user(answer: Answer) {
    const user = answer.json();
    assert.match(String(user['userId']), /^\d+$/);
    for (const value of Object.values(user)) assert.equal(typeof value, 'string');
  },

  tags(answer: Answer) {
    const { tags } = answer.json<{ tags: { id: string }[] }>();
    assert.ok(tags.length > 0 && tags.every(({ id }) => id.startsWith('user/-/')));
  },

  subscriptions(answer: Answer) {
    const { subscriptions } = answer.json<{ subscriptions: Record<string, string>[] }>();
    assert.ok(subscriptions.length > 0);
    for (const { id, title, url, htmlUrl, iconUrl = url } of subscriptions) {
      assert.match(id ?? '', /^feed\/\d+$/);
      assert.ok(title);
      for (const address of [url, htmlUrl, iconUrl]) assert.match(address ?? '', WEB);
    }
  },

  counts(answer: Answer) {
    const { max, unreadcounts } = answer.json<{ max: number; unreadcounts: Record<string, unknown>[] }>();
    assert.ok(Number.isInteger(max) && unreadcounts.length > 0);
    for (const { id, count, newestItemTimestampUsec } of unreadcounts) {
      assert.deepEqual([typeof id, typeof count], ['string', 'number']);
      assert.match(String(newestItemTimestampUsec), /^\d{16}$/);
    }
  },

  ids(answer: Answer) {
    const { itemRefs, continuation } = answer.json<{ itemRefs: object[]; continuation?: string }>();
    for (const ref of itemRefs) {
      assert.deepEqual(Object.keys(ref), ['id'], 'Readrops refuses any other member');
      assert.match((ref as { id: string }).id, /^1\d{15}$/);
    }
    if (continuation !== undefined) assert.ok(itemRefs.length > 0 && /^\d+$/.test(continuation));
  },

  items(answer: Answer) {
    const { id, updated, items, continuation } = answer.json<{
      id: string; updated: number; items: Item[]; continuation?: string;
    }>();
    assert.equal(typeof id, 'string');
    assert.ok(Number.isInteger(updated) && items.length > 0);
    if (continuation !== undefined) assert.match(continuation, /^\d+$/);
    items.forEach(checkItem);
  },
} satisfies Record<string, (answer: Answer) => void>;

type Shape = keyof typeof CHECKS;

function checkItem(item: Item): void {
  assert.match(item.id, /^tag:google\.com,2005:reader\/item\/[0-9a-f]{16}$/);
  assert.match(String(item['crawlTimeMsec']), /^\d{13}$/);
  assert.match(String(item['timestampUsec']), /^\d{16}$/);
  assert.ok(Number.isInteger(item['published']) && Number.isInteger(item['updated']));
  assert.ok(item.title !== '' && typeof item['author'] === 'string');
  assert.equal(typeof item.summary.content, 'string');
  assert.equal('content' in item, false, 'the text is there once');
  for (const { href } of [...item.canonical, ...item.alternate]) assert.match(href, WEB);
  assert.ok(item.canonical.length > 0 && item.alternate.length > 0);
  assert.ok(item.categories.every((category) => category.startsWith('user/-/')), 'apps compare the whole string');
  const { streamId, title, htmlUrl } = item.origin;
  assert.match(`${streamId} ${htmlUrl}`, /^feed\/\d+ https?:/);
  assert.equal(typeof title, 'string');
  for (const { href, type, length } of item.enclosure ?? []) {
    assert.match(href, WEB);
    assert.deepEqual([typeof type, typeof length], ['string', 'number']);
  }
}

/** Fails unless the answer has the shape that apps expect of the call. */
function checkShape(shape: Shape, answer: Answer, call: string): void {
  assert.equal(answer.status, 200, `${call}: ${answer.text.slice(0, 200)}`);
  try {
    CHECKS[shape](answer);
  } catch (cause) {
    throw new Error(`${call}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** `result`: the names of the posts whose ids the answer has, in the answer's order. */
type Step = ['ids', call: string, result: string] | [Exclude<Shape, 'ids'>, call: string, body?: string];

/** `headers`: of all requests. `marks`: the read and starred posts afterwards, of the posts A, B and C. */
type Sequence = { base: string; headers?: Record<string, string>; steps: Step[]; marks: string };

const FORM = 'application/x-www-form-urlencoded';
const ENCODED = 'user%2F-%2Fstate%2Fcom.google%2F';
const API = '/reader/api/0';
const signIn = (more = ''): Step => ['auth', 'POST /accounts/ClientLogin', `Email=ada&Passwd=PASSWORD${more}`];
const LISTS: Step[] = [
  ['tags', `GET ${API}/tag/list?output=json`], ['subscriptions', `GET ${API}/subscription/list?output=json`],
];

/** What apps send. A, B and C stand for ids of posts in decimal form, LONG_A for the long form, HEX_A for bare hex. */
const SEQUENCES: Record<string, Sequence> = {
  'NetNewsWire': {
    base: '/api/greader.php',
    steps: [
      signIn('&client=x'), ...LISTS, ['ids', `GET ${API}/stream/items/ids?s=${STATE}reading-list&n=1000&xt=${STATE}read&output=json`, 'C B A'],
      ['ids', `GET ${API}/stream/items/ids?s=${STATE}starred&n=1000&output=json`, ''],
      ['ids', `GET ${API}/stream/items/ids?s=${STATE}reading-list&n=1000&ot=1000&output=json`, 'C B A'], ['token', `GET ${API}/token`],
      ['items', `POST ${API}/stream/items/contents`, 'T=TOKEN&output=json&i=LONG_A&i=LONG_B'],
      ['ok', `POST ${API}/edit-tag`, `T=TOKEN&a=${STATE}read&i=LONG_A&i=LONG_B`],
      ['ids', `GET ${API}/stream/items/ids?s=${STATE}reading-list&n=1000&xt=${STATE}read&output=json`, 'C'],
    ],
    marks: 'A read, B read, C',
  },
  'Fluent Reader': {
    base: '/api/greader.php',
    headers: { 'sec-fetch-site': 'cross-site', origin: 'file://' }, // its pages are those of a browser
    steps: [
      signIn(), ['user', `GET ${API}/user-info`], ['subscriptions', `GET ${API}/subscription/list?output=json`],
      ['ids', `GET ${API}/stream/items/ids?output=json&xt=${ENCODED}read&n=1000&s=${ENCODED}reading-list`, 'C B A'],
      ['items', `GET ${API}/stream/contents?output=json&n=1000&ot=0`], ['ok', `POST ${API}/edit-tag`, `i=HEX_C&a=${ENCODED}read`],
    ],
    marks: 'A, B, C read',
  },
  'Read You': {
    base: '/api/greader.php/',
    steps: [
      ['authAsJson', 'POST /accounts/ClientLogin', 'output=json&Email=ada&Passwd=PASSWORD&client=ReadYou'],
      ['token', `GET ${API}/token`], ['user', `GET ${API}/user-info?output=json`],
      ['ids', `GET ${API}/stream/items/ids?output=json&s=${STATE}reading-list&it=${STATE}read&n=10000&ot=1000`, ''],
      ['items', `POST ${API}/stream/items/contents?output=json`, 'T=TOKEN&i=A&i=B&i=C'],
      ['ok', `POST ${API}/edit-tag?output=json`, `T=TOKEN&i=A&a=${STATE}read&a=${STATE}starred`],
    ],
    marks: 'A read starred, B, C',
  },
  'Readrops': {
    base: '/api/greader.php',
    steps: [
      signIn(), ['token', `GET ${API}/token`], ['user', `GET ${API}/user-info`], ...LISTS,
      ['items', `GET ${API}/stream/contents/${STATE}reading-list?xt=${STATE}read&n=2500&ot=0`],
      ['ids', `GET ${API}/stream/items/ids?xt=${STATE}unread&s=${STATE}reading-list&n=2500`, ''],
      ['ids', `GET ${API}/stream/items/ids?s=${STATE}starred&n=1000`, ''], ['ok', `POST ${API}/edit-tag`, `T=TOKEN&a=user/-/label/New`],
      ['ok', `POST ${API}/edit-tag`, `T=TOKEN&a=${STATE}read&i=LONG_B&i=LONG_C`],
    ],
    marks: 'A, B read, C read',
  },
  'Capy Reader': {
    base: '/api/greader.php',
    steps: [
      signIn(), ...LISTS, ['ids', `GET ${API}/stream/items/ids?s=${ENCODED}reading-list&n=10000&ot=1000&output=json`, 'C B A'],
      ['token', `GET ${API}/token`], ['items', `POST ${API}/stream/items/contents?output=json`, 'i=A&i=B&i=C&T=TOKEN'],
      ['ok', `POST ${API}/edit-tag`, `i=B&a=${ENCODED}starred&T=TOKEN`],
    ],
    marks: 'A, B starred, C',
  },
  'Liferea, whose POSTs have no header': {
    base: '/api/greader.php',
    steps: [
      signIn('&service=reader&source=liferea&continue=http://www.google.com'), ['subscriptions', `GET ${API}/subscription/list?output=json`],
      ['ids', `GET ${API}/stream/items/ids?s=feed%2FADDRESS&n=50&output=json`, 'C B A'],
      ['items', `POST ${API}/stream/items/contents?NO_HEADER`, 'output=json&T=PASSWORD&i=A&i=B'], ['token', `GET ${API}/token`],
      ['ok', `POST ${API}/edit-tag`, `i=A&s=feed%2FADDRESS&a=${STATE}kept-unread&r=${STATE}read&ac=edit-tags&T=TOKEN&async=true`],
      ['ok', `POST ${API}/edit-tag`, `i=A&s=feed%2FADDRESS&a=${STATE}tracking-kept-unread&ac=edit-tags&T=TOKEN&async=true`],
      ['ok', `POST ${API}/edit-tag`, `i=C&s=feed%2FADDRESS&a=${STATE}starred&ac=edit-tags&T=TOKEN&async=true`],
    ],
    marks: 'A, B, C starred',
  },
  'FeedMe': {
    base: '/api/greader.php',
    steps: [
      signIn('&accountType=HOSTED_OR_GOOGLE&service=reader'), ...LISTS, ['counts', `GET ${API}/unread-count?output=json&all=true`],
      ['ids', `GET ${API}/stream/items/ids?s=${STATE}starred&n=500&ot=0&output=json`, ''],
      ['items', `GET ${API}/stream/contents/${STATE}reading-list?n=500&output=json&ck=1&client=feedme`],
      ['ok', `POST ${API}/edit-tag`, `i=A&a=${STATE}read&T=`],
    ],
    marks: 'A read, B, C',
  },
  'Reeder': {
    base: '',
    steps: [
      signIn(), ['subscriptions', `GET ${API}/subscription/list?output=json`],
      ['ids', `GET ${API}/stream/items/ids?s=${STATE}reading-list&xt=${STATE}read&n=10000&output=json`, 'C B A'], ['token', `GET ${API}/token`],
      ['items', `POST ${API}/stream/items/contents`, 'i=HEX_A&i=HEX_B&T=x'], ['ok', `POST ${API}/edit-tag`, `i=HEX_B&a=${STATE}read&T=x`],
    ],
    marks: 'A, B read, C',
  },
};

/** Ada's three unread posts in a folder, and what stands for them in the sequences. */
async function hubForApps(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada']);
  const source = await addNotes(ada, 'News & more');
  await addFollow(ada, source, { folder: 'Comics/Daily' });
  const posts: [string, number][] = [];
  for (const name of ['A', 'B', 'C']) posts.push([name, await addPost(ada, source, `Post ${name} 漢 <&>`)]);
  for (const [, id] of posts) await ada.send('DELETE', `/api/posts/${id}/read`);
  const password = appPassword(hub, 'ada');
  const words = new Map<string, string>([
    ['PASSWORD', password], ['TOKEN', password], ['SOURCE', String(source)],
    ['ADDRESS', encodeURIComponent(`${hub.config.baseUrl}/sources/${source}.atom`)],
    ...posts.flatMap(([name, id]): [string, string][] => [
      [name, itemId(id)], [`HEX_${name}`, hexItemId(id)], [`LONG_${name}`, `tag:google.com,2005:reader/item/${hexItemId(id)}`],
    ]),
  ]);
  const fill = (text: string): string => text.replace(/\b(?:(?:LONG_|HEX_)?[ABC]|PASSWORD|TOKEN)\b|ADDRESS|SOURCE/g,
    (word) => words.get(word) ?? word);
  const marks = async (): Promise<string> => {
    const states = await Promise.all(posts.map(async ([name, id]) => {
      const { read, starred } = (await ada.get(`/api/posts/${id}`)).json<{ read: boolean; starred: boolean }>();
      return [name, ...(read ? ['read'] : []), ...(starred ? ['starred'] : [])].join(' ');
    }));
    return states.join(', ');
  };
  const namesIn = (answer: Answer): string =>
    idsIn(answer).map((id) => posts.find((post) => post[1] === id)?.[0]).join(' ');
  return { hub, password, fill, marks, namesIn };
}

for (const [app, { base, headers = {}, steps, marks: expected }] of Object.entries(SEQUENCES)) {
  test(`${app} signs in, lists, reads and marks, and the hub shows its marks`, async (t) => {
    const { hub, password, fill, marks, namesIn } = await hubForApps(t);
    for (const [shape, call, text] of steps) {
      const body = shape === 'ids' ? undefined : text;
      const [method = '', path = ''] = fill(call).split(' ');
      const authorization = call.includes('ClientLogin') || call.includes('NO_HEADER') ? {} : { authorization: `GoogleLogin auth=${password}` };
      const answer = await hub.anybody.send(method, base + path, {
        headers: { ...headers, ...authorization, ...(body !== undefined && { 'content-type': FORM }) },
        ...(body !== undefined && { body: fill(body) }),
      });
      checkShape(shape, answer, `${app}: ${call}`);
      if (shape === 'ids') assert.equal(namesIn(answer), text, `${app}: ${call}`);
    }
    assert.equal(await marks(), expected);
  });
}
