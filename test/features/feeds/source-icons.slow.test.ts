// Protects the icons of sources: where they are looked for, what is taken for one, and what a site cannot do by it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { sourceIcons } from '../../../src/features/attachments/icon-store.ts';
import { sourceIcon } from '../../../src/features/attachments/icon-views.ts';
import { findIconLinks } from '../../../src/features/feeds/fetch-icon.ts';
import { counts } from '../../../src/features/hub/hub.ts';
import { syncState } from '../../../src/features/sources/sync-state-store.ts';
import { DAY, MINUTE } from '../../../src/platform/clock.ts';
import type { OutboundOptions } from '../../../src/platform/net/outbound-fetch.ts';
import { addFeed } from '../../support/accounts.ts';
import { serving } from '../../support/feeds.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { hasIpv6Loopback, reply, startOrigin, type OriginHandler } from '../../support/origin.ts';
import { growthOf, repeated } from '../../support/growth.ts';
import { getFile } from '../../support/own-posts.ts';
import { ico, png, pngChunk } from '../../support/sample-files.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import { countRows } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

type Settings = { feed?: string; env?: Record<string, string>; limits?: Partial<OutboundOptions>; visibility?: string };

const ICON = png({ width: 32, height: 32 });
const OTHER = png({ width: 16, height: 16 });

const at = (content: Buffer, mediaType = 'image/png'): OriginHandler => reply(200, { 'content-type': mediaType }, content);
const sitePage = (head: string): OriginHandler =>
  reply(200, { 'content-type': 'text/html' }, `<!doctype html><html><head>${head}</head><body>Owls</body></html>`);

/** What a feed says of itself, in RSS; SITE is its own address. */
const ABOUT = '<link>SITE/blog/</link>';

/** A hub with a feed of a site that has these files; `ask` looks for its icon, and says which were asked for. */
async function hubWithSite(
  t: TestContext, files: Record<string, OriginHandler>, { feed, env, limits, visibility = 'public' }: Settings = {},
) {
  const hub = await startHub(t, env, limits);
  const routes: Record<string, OriginHandler> = { ...files };
  const site = await startOrigin(t, routes);
  const about = { feed: feed ?? rssOf(ABOUT) };
  routes['/feed'] = serving(() => about.feed.replaceAll('SITE', site.url));
  const ada = await hub.person('ada');
  const id = await addFeed(ada, `${site.url}/feed`, { visibility });
  async function ask(): Promise<string[]> {
    site.requests.length = 0;
    await hub.findIcons();
    return site.requests.map(({ path }) => path);
  }
  return { hub, ada, site, routes, id, about, ask };
}

function rssOf(about: string): string {
  return `<rss version="2.0"><channel><title>Owls</title>${about}</channel></rss>`;
}

/** The path of a source's icon, as the API names it. */
async function iconOf(hub: Hub, id: number): Promise<string | null> {
  const { iconUrl } = (await hub.anybody.get(`/api/sources/${id}`)).json<{ iconUrl: string | null }>();
  return iconUrl && new URL(iconUrl).pathname;
}

async function contentOf(hub: Hub, id: number): Promise<Buffer | null> {
  const path = await iconOf(hub, id);
  return path === null ? null : (await getFile(hub, path)).body;
}

const NAMED_BY: [name: string, document: string][] = [
  ['Atom', `<feed xmlns="http://www.w3.org/2005/Atom"><title>Owls</title><id>x:1</id><icon>SITE/i.png</icon></feed>`],
  ['JSON Feed', JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1', title: 'Owls', items: [], icon: 'SITE/large.png', favicon: 'SITE/i.png',
  })],
  ['RSS', rssOf(`${ABOUT}<image><url>SITE/i.png</url><title>Owls</title><link>SITE</link></image>`)],
];

for (const [name, feed] of NAMED_BY) {
  test(`the icon that a feed of the form ${name} names is taken, and nothing else is asked for`, async (t) => {
    const { hub, id, ask } = await hubWithSite(t, { '/i.png': at(ICON), '/favicon.ico': at(OTHER) }, { feed });
    assert.deepEqual(await ask(), ['/i.png']);
    assert.deepEqual(await contentOf(hub, id), ICON);
  });
}

test('else the icon that the site\'s page names, else the first page there, else /favicon.ico', async (t) => {
  const { hub, id, routes, ask } = await hubWithSite(t, {
    '/blog/': sitePage('<link rel="shortcut icon" href="../blog.png">'), '/blog.png': at(ICON),
    '/': sitePage('<link rel=icon href=/root.png>'), '/root.png': at(OTHER),
    '/favicon.ico': at(ico([{ width: 16, height: 16 }])),
  });
  assert.deepEqual(await ask(), ['/blog/', '/blog.png']);
  assert.deepEqual(await contentOf(hub, id), ICON);

  delete routes['/blog.png'];
  hub.passTime(7 * DAY);
  assert.deepEqual(await ask(), ['/blog/', '/blog.png', '/', '/root.png']);
  assert.deepEqual(await contentOf(hub, id), OTHER);

  delete routes['/root.png'];
  hub.passTime(7 * DAY);
  assert.deepEqual(await ask(), ['/blog/', '/blog.png', '/', '/root.png', '/favicon.ico']);
  assert.deepEqual(await contentOf(hub, id), ico([{ width: 16, height: 16 }]));
  assert.equal(countRows(hub, 'icons'), 1, 'those of before are gone');
});

test('of several links those come first that suit a list; SVG is never asked for; an icon may stand in the page', async (t) => {
  const inPage = `data:image/png;base64,${ICON.toString('base64')}`;
  const { hub, id, routes, ask } = await hubWithSite(t, {
    '/blog/': sitePage(`
      <link rel="apple-touch-icon" sizes="180x180" href="/touch.png">
      <link rel="icon" type="image/svg+xml" href="/icon"><link rel="icon" href="/icon.svg?v=1">
      <link rel="icon" sizes="16x16" href="/16.png"><link rel="icon" sizes="32x32" href="/32.png">
      <link rel="icon" sizes="48x48" media="(prefers-color-scheme: dark)" href="/dark.png">`),
  });
  assert.deepEqual(await ask(), ['/blog/', '/32.png', '/16.png', '/touch.png', '/dark.png', '/', '/favicon.ico']);

  routes['/blog/'] = sitePage(`<base href="https://elsewhere.test/"><link rel="icon" href="${inPage}">`);
  hub.passTime(7 * DAY);
  assert.deepEqual(await ask(), ['/blog/']);
  assert.deepEqual(await contentOf(hub, id), ICON);
});

test('a page of unfinished tags is read in time proportional to its length', () => {
  for (const piece of ['<link rel=icon href="', '<link rel=icon href=/a.png>', '<link rel="icon ', '<base href=']) {
    const growth = growthOf((page) => findIconLinks(page, 'https://a.test/'), (length) => repeated(piece, length));
    assert.ok(growth < 2, `${piece} takes ${growth.toFixed(1)} times as many steps per character`);
  }
});

test('a feed that names no site is looked up at the root of its own host', async (t) => {
  const { hub, id, ask } = await hubWithSite(t, { '/favicon.ico': at(ICON) }, { feed: rssOf('') });
  assert.deepEqual(await ask(), ['/', '/favicon.ico']);
  assert.deepEqual(await contentOf(hub, id), ICON);
});

const TAKEN: [what: string, content: Buffer, mediaType: string][] = [
  ['PNG', ICON, 'image/png'],
  ['ICO', ico([{ width: 16, height: 16 }, { width: 32, height: 32 }], ICON), 'image/x-icon'],
];

for (const [what, content, mediaType] of TAKEN) {
  test(`${what} is taken for what its content says, whatever the server calls it`, async (t) => {
    const { hub, id, ask } = await hubWithSite(t, { '/favicon.ico': at(content, 'text/html; charset=utf-8') });
    await ask();
    const path = await iconOf(hub, id) ?? assert.fail('no icon');
    const served = await getFile(hub, path);
    assert.deepEqual([served.status, served.headers.get('content-type'), served.body], [200, mediaType, content]);
  });
}

const REFUSED: [what: string, content: Buffer][] = [
  ['a page that calls itself an image', Buffer.from('<!doctype html><title>Not here</title>')],
  ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><script>alert(1)</script></svg>')],
  ['a banner', png({ width: 88, height: 31 })],
  ['an image with more pixels than an icon needs', png({ width: 1025, height: 1025 })],
  ['an ICO whose picture is larger than its list says', ico([{ width: 16, height: 16 }, { width: 8, height: 8 }], png({ width: 9, height: 5000 }))],
  ['an ICO whose picture lies outside it', ico([{ width: 16, height: 16 }]).subarray(0, 50)],
  ['an ICO whose bitmap is shorter than it says', ico([{ width: 16, height: 16 }, { width: 32, height: 32 }], ico([{ width: 32, height: 32 }]).subarray(22, 2_000))],
  ['an ICO without a picture', Buffer.from('000001000000', 'hex')],
  ['an image of more than 100 KiB', png({ width: 32, height: 32 }, pngChunk('teXt', Buffer.alloc(100 * 1024)))],
];

for (const [what, content] of REFUSED) {
  test(`${what} is no icon`, async (t) => {
    const { hub, id, ask } = await hubWithSite(t, { '/favicon.ico': at(content) });
    assert.deepEqual(await ask(), ['/blog/', '/', '/favicon.ico']);
    assert.equal(await iconOf(hub, id), null);
    assert.ok(storedJobs(hub).every(({ state }) => state !== 'failed' && state !== 'retrying'), 'that is no failure');
  });
}

test('a redirect is followed, but neither it nor a link leads to a private address or to the hub itself', async (t) => {
  if (!hasIpv6Loopback()) return t.skip('this machine has no ::1');
  const inside = await startOrigin(t, at(ICON), { host: '::1' });
  const { hub, id, routes, ask } = await hubWithSite(t, {
    '/blog/': sitePage(`<link rel="icon" href="${inside.url}/i.png"><link rel="icon" href="/moved.png">`),
    '/moved.png': reply(302, { location: `${inside.url}/i.png` }),
  }, { env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  routes['/'] = sitePage(`<link rel="icon" href="${hub.config.baseUrl}/favicon.ico">`);
  await ask();
  assert.equal(await iconOf(hub, id), null);
  assert.equal(inside.requests.length, 0);

  routes['/moved.png'] = reply(302, { location: '/i.png' });
  routes['/i.png'] = at(ICON);
  hub.passTime(7 * DAY);
  await ask();
  assert.deepEqual(await contentOf(hub, id), ICON);
});

test('a site without an icon is asked once a week, however often its feed is read; what was there stays', async (t) => {
  const { hub, id, ada, routes, about, ask } = await hubWithSite(t, {});
  assert.deepEqual(await ask(), ['/blog/', '/', '/favicon.ico']);
  for (let day = 1; day < 7; day += 1) {
    hub.passTime(DAY);
    await ada.post(`/api/sources/${id}/sync`);
    await hub.work();
    assert.deepEqual(await ask(), [], `day ${day}`);
  }
  routes['/favicon.ico'] = at(ICON);
  hub.passTime(DAY);
  await ask();
  assert.deepEqual(await contentOf(hub, id), ICON);

  delete routes['/favicon.ico'];
  hub.passTime(7 * DAY);
  await ask();
  assert.deepEqual(await contentOf(hub, id), ICON, 'the site may only be ill');

  routes['/new.png'] = at(OTHER);
  about.feed = rssOf(`${ABOUT}<image><url>SITE/new.png</url></image>`);
  await ada.post(`/api/sources/${id}/sync`);
  await hub.work();
  assert.deepEqual(await ask(), [], 'a feed may name another each time');
  hub.passTime(DAY);
  assert.deepEqual(await ask(), ['/new.png'], 'but is not ignored for a week');
  assert.deepEqual(await contentOf(hub, id), OTHER);
});

test('a feed that cannot be read is not asked for an icon', async (t) => {
  const { hub, ada, id, routes, ask } = await hubWithSite(t, { '/favicon.ico': at(ICON) });
  routes['/feed'] = reply(500, {});
  await ada.post(`/api/sources/${id}/sync`);
  await hub.work();
  assert.deepEqual(await ask(), []);
});

test('a site that hangs takes one place, and is asked once: other icons and all feeds come as before', async (t) => {
  const slow = await startOrigin(t, () => {}); // answers nothing
  const { hub, ada, site, id, routes } = await hubWithSite(t, { '/favicon.ico': at(ICON) });
  const fetches: string[] = [];
  const patience = Promise.withResolvers<void>();
  const { outbound } = hub.handle;
  hub.handle.outbound = async (request) => {
    if (!String(request.url).startsWith(slow.url)) return outbound(request);
    fetches.push(new URL(request.url).pathname);
    await patience.promise;
    return outbound({ ...request, totalMs: 50 });
  };
  for (const name of ['a', 'b']) {
    routes[`/${name}`] = serving(() => rssOf(`<link>${slow.url}/${name}/</link><image><url>${slow.url}/${name}.png</url></image>`));
    assert.equal((await ada.post('/api/sources', { kind: 'feed', url: `${site.url}/${name}` })).status, 201);
  }
  const looking = hub.findIcons();
  await waitUntil('the slow site is asked', () => fetches.length === 1);
  hub.passTime(MINUTE);
  for (const source of [id, id + 1, id + 2]) await ada.post(`/api/sources/${source}/sync`);
  const working = hub.work();
  const { find } = syncState(hub.handle);
  const areSynced = () => [id, id + 1, id + 2].every((source) => find(source)?.lastSuccessAt === hub.now());
  await waitUntil('feeds and the other icon are there', async () => areSynced() && await iconOf(hub, id) !== null);
  assert.equal(storedJobs(hub, 'fetch-icon').filter(({ state }) => state === 'running').length, 1);
  assert.deepEqual(fetches, ['/a.png']);
  patience.resolve();
  await Promise.all([looking, working]);
  assert.deepEqual(fetches, ['/a.png', '/b.png'], 'and for none of its pages');
});

test('an icon is for who may see its source; it is kept by browsers, does nothing there, and changes its address', async (t) => {
  const { hub, ada, id, routes, ask } = await hubWithSite(t, { '/favicon.ico': at(ICON) }, { visibility: 'private' });
  await ask();
  const { iconUrl } = (await ada.get(`/api/sources/${id}`)).json<{ iconUrl: string }>();
  const path = new URL(iconUrl).pathname;
  assert.equal(path, `/icons/${id}-${createHash('sha256').update(ICON).digest('hex').slice(0, 16)}`);
  const served = await ada.get(path);
  assert.deepEqual(['cache-control', 'content-security-policy', 'x-content-type-options', 'cross-origin-resource-policy']
    .map((name) => served.headers.get(name)), [
    'private, max-age=31536000, immutable', "default-src 'none'; frame-ancestors 'none'; sandbox", 'nosniff', 'same-origin',
  ]);
  const bob = await hub.person('bob');
  for (const client of [bob, hub.anybody]) assert.equal((await client.get(path)).status, 404);

  await ada.patch(`/api/sources/${id}`, { visibility: 'public' });
  assert.equal((await hub.anybody.get(path)).status, 200);
  for (const wrong of [`/icons/${id}-0123456789abcdef`, `/icons/${id}`, `/icons/${id}-`, '/icons/99-0123456789abcdef']) {
    assert.equal((await ada.get(wrong)).status, 404, wrong);
  }
  routes['/favicon.ico'] = at(OTHER);
  hub.passTime(7 * DAY);
  await ask();
  assert.equal((await ada.get(path)).status, 404);
  assert.notEqual(await iconOf(hub, id), path);
});

test('the owner clears an icon, by form or API, and it stays cleared until the owner wants it again', async (t) => {
  const { hub, ada, id, ask } = await hubWithSite(t, { '/favicon.ico': at(ICON) });
  await ask();
  assert.match((await ada.page(`/sources/${id}`)).text, new RegExp(`<img class="favicon" src="/icons/${id}-`));
  const bob = await hub.person('bob');
  for (const [method, path] of [['DELETE', `/api/sources/${id}/icon`], ['PUT', `/api/sources/${id}/icon`],
    ['POST', `/sources/${id}/icon/clear`], ['POST', `/sources/${id}/icon/find`]] as const) {
    assert.equal((await bob.send(method, path)).status, 403, path);
  }
  assert.equal((await ada.form(`/sources/${id}/icon/clear`)).headers.get('location'),
    `/sources/${id}/settings?said=icon-cleared`);
  for (const later of [0, MINUTE, 29 * DAY]) {
    hub.passTime(later);
    await ada.post(`/api/sources/${id}/sync`);
    await hub.work();
    assert.deepEqual(await ask(), []);
  }
  assert.equal(await iconOf(hub, id), null);
  assert.equal(countRows(hub, 'icons'), 0);
  const shown = (await ada.page(`/sources/${id}`)).text;
  assert.match(shown, /<svg class="favicon tint1"[^>]*>.*<text x="10" y="14.3">O<\/text>/s);
  assert.equal((await ada.send('PUT', `/api/sources/${id}/icon`)).status, 204);
  assert.deepEqual(await ask(), ['/blog/', '/', '/favicon.ico']);
  assert.deepEqual(await contentOf(hub, id), ICON);
  assert.equal((await ada.delete(`/api/sources/${id}/icon`)).status, 204);
  assert.equal(await iconOf(hub, id), null);
});

test('a feed whose icon was cleared before it could be read has none then', async (t) => {
  const { hub, ada, site, routes, ask } = await hubWithSite(t, { '/favicon.ico': at(ICON) });
  const opml = `<opml version="2.0"><body><outline xmlUrl="${site.url}/later"/></body></opml>`;
  await ada.send('POST', '/api/sources/import', { body: opml, headers: { 'content-type': 'text/x-opml' } });
  assert.equal((await ada.delete('/api/sources/2/icon')).status, 204);
  routes['/later'] = routes['/feed'] ?? assert.fail();
  await hub.work(MINUTE);
  await ask();
  assert.equal(await iconOf(hub, 2), null);
  assert.notEqual(await iconOf(hub, 1), null);
});

test('an icon that comes after it was cleared is not kept', async (t) => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const { hub, ada, id } = await hubWithSite(t, {
    '/favicon.ico': (_request, response) => (asked.resolve(), void gate.promise.then(() => response.end(ICON))),
  });
  const looking = hub.findIcons();
  await asked.promise;
  await ada.delete(`/api/sources/${id}/icon`);
  gate.resolve();
  await looking;
  assert.equal(countRows(hub, 'icons'), 0);
});

test('sources share one copy of an icon, which goes with the last of them', async (t) => {
  const { hub, ada, site, id, routes, ask } = await hubWithSite(t, { '/favicon.ico': at(ICON) });
  routes['/second'] = routes['/feed'] ?? assert.fail();
  const second = (await ada.post('/api/sources', { kind: 'feed', url: `${site.url}/second` })).json<{ id: number }>().id;
  await ask();
  assert.equal(sourceIcons(hub.handle).listOf([id, second]).size, 2);
  assert.equal(countRows(hub, 'icons'), 1);
  const path = await iconOf(hub, id) ?? assert.fail('no icon');
  await ada.delete(`/api/sources/${id}`);
  assert.equal((await ada.get(path)).status, 404);
  assert.deepEqual(await contentOf(hub, second), ICON);
  await ada.delete(`/api/sources/${second}`);
  await hub.work();
  assert.equal(countRows(hub, 'icons'), 0);
  assert.equal(countRows(hub, 'source_icons'), 0);
});

test('pages that everybody reads show a new icon at once', async (t) => {
  const { hub, id, ask } = await hubWithSite(t, { '/favicon.ico': at(ICON) });
  const shown = async () => (await hub.anybody.page(`/sources/${id}`)).text.includes('<img class="favicon"');
  assert.equal(await shown(), false);
  const version = () => counts(hub.handle).value('content_version');
  const before = version();
  await ask();
  assert.equal(await shown(), true);
  assert.ok(version() > before);
});

test('owners take turns, so that nobody waits for all the feeds that another has added', async (t) => {
  const { hub, site, routes, ask } = await hubWithSite(t, { '/favicon.ico': at(ICON) });
  const bob = await hub.person('bob');
  for (let n = 0; n < 30; n += 1) {
    routes[`/b${n}`] = serving(() => rssOf(`<link>${site.url}/site${n}/</link>`));
    await bob.post('/api/sources', { kind: 'feed', url: `${site.url}/b${n}` });
  }
  const carl = await hub.person('carl');
  routes['/c'] = serving(() => rssOf(`<link>${site.url}/carl/</link>`));
  hub.passTime(MINUTE);
  await carl.post('/api/sources', { kind: 'feed', url: `${site.url}/c` });
  assert.ok((await ask()).slice(0, 12).includes('/carl/'));
});

test('an icon that was looked for while the clock was ahead is looked for again in a week', async (t) => {
  const { hub, ask } = await hubWithSite(t, {});
  hub.passTime(365 * DAY);
  await ask();
  await hub.work(-365 * DAY);
  hub.passTime(7 * DAY);
  assert.notDeepEqual(await ask(), []);
});

test('a letter stands for a source without an icon: the first of its title, in a colour by its id', async (t) => {
  const { handle } = await startHub(t);
  const letterOf = (id: number, title: string) =>
    /class="favicon (tint\d)".*<text[^>]*>(.*)<\/text>/s.exec(sourceIcon(handle, { id, title }).markup)?.slice(1);
  assert.deepEqual(letterOf(3, '“the owls”'), ['tint3', 'T']);
  assert.deepEqual(letterOf(11, '雨の日記'), ['tint3', '雨']);
  assert.deepEqual(letterOf(8, 'يوم'), ['tint0', 'ي']);
  assert.deepEqual(letterOf(9, '𝒜bc'), ['tint1', '𝒜']);
  assert.deepEqual(letterOf(9, '9 lives'), ['tint1', '9']);
  assert.deepEqual(letterOf(9, '<&>'), ['tint1', '•']);
});
