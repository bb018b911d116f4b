// Protects readers' pages in a real browser: without scripts, by keyboard, on a phone, in the dark, without faults.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { makeSetUpLink } from '../../src/features/accounts/join-hub.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { fakeLookup } from '../support/fake-lookup.ts';
import { rss, serving, type Item } from '../support/feeds.ts';
import { followedFeed } from '../support/followed-feed.ts';
import { HOSTILE_MARKUP } from '../support/hostile-markup.ts';
import { startHub, type Hub } from '../support/hub.ts';
import { reply, startOrigin } from '../support/origin.ts';
import { follow, path, submit } from '../support/page-visits.ts';
import { setContent } from '../support/stored-posts.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('chromedriver');
const TAB = '\ue004';
const ENTER = '\ue007';

const ITEMS: Item[] = [
  { guid: 'a', title: 'Barn owls hunt at night', content: '<p>They eat <b>voles</b>.</p>' }, { guid: 'b', title: 'Tawny owls' },
];

/** Signs the browser in as an administrator who follows one feed of these items; ends on the list of sources. */
async function signInWithFeed(t: TestContext, hub: Hub, browser: Browser, items = ITEMS): Promise<void> {
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls &amp; more', items)) });
  const ada = await hub.person('ada');
  assert.equal((await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/feed` })).status, 201);
  await browser.goto(`${hub.address}/sign-in?next=/sources`);
  await submit(browser, { username: 'ada', password: hub.password });
  assert.equal(await path(browser), '/sources');
}

test('a person sets the hub up, follows a feed, reads, searches, pauses, renames, deletes, leaves and comes back, all without scripts', async (t) => {
  const hub = await startHub(t);
  const browser = await openBrowser(t);
  await browser.disableScripts();
  const origin = await startOrigin(t, {
    '/blog': reply(
      200, { 'content-type': 'text/html' },
      '<title>Blog</title><link rel="alternate" type="application/rss+xml" href="/feed">',
    ),
    '/feed': serving(() => rss('Owls &amp; more', ITEMS)),
  });
  const link = makeSetUpLink(hub.handle);

  await browser.goto(`${hub.address}/join/${link}`);
  assert.match(await browser.text('h1'), /Set up your hub/);
  await submit(browser, { username: 'ada', displayName: 'Ada L', password: 'a long enough password' });
  assert.equal(await path(browser), '/');
  assert.match(await browser.text('nav.rail'), /Ada L/);

  await follow(browser, '.steps a[href="/sources/add"]');
  const adding = 'form[action="/sources/add"]';
  await browser.click(`${adding} [value=public]`);
  await submit(browser, { url: `${origin.url}/nothing-here` }, `${adding} button`, adding);
  assert.match(await browser.text('[role=alert]'), /404/);
  await browser.run(`document.querySelector('[name=url]').value = ''`);
  await submit(browser, { url: `${origin.url}/blog` }, `${adding} button`, adding);
  assert.match(await browser.text('main'), /Owls & more[^]*Barn owls hunt at night/, 'it is shown before it is saved');
  await follow(browser, 'form[action="/sources"] button');
  assert.match(await browser.text('[role=status]'), /it is in your list/);
  assert.match(await browser.text('h1'), /^Owls & more/);
  await follow(browser, '.rows h3 a');
  assert.equal(await browser.text('h1'), 'Barn owls hunt at night');
  assert.match(await browser.text('.prose'), /They eat voles\./);

  await browser.goto(`${hub.address}/all`);
  await submit(browser, { q: 'vole' }, '[role=search] button', '[role=search]');
  assert.equal(new URL(await browser.url()).searchParams.get('q'), 'vole');
  assert.equal(await browser.run('return document.querySelectorAll(".row").length'), 1);

  await browser.goto(`${hub.address}/sources/1`);
  await follow(browser, '.actions a[href$="/settings"]');
  await follow(browser, 'form[action$="/pause"] button');
  assert.match(await browser.text('.source-line'), /Paused/);
  await follow(browser, 'form[action$="/resume"] button');
  assert.doesNotMatch(await browser.text('.source-line'), /Paused/);
  await follow(browser, '.actions a[href$="/settings"]');
  await browser.run(`document.querySelector('#source [name=title]').value = ''`);
  await browser.type('#source [name=title]', 'Night birds');
  await follow(browser, '#source form button');
  assert.match(await browser.text('main'), /Night birds/);

  await follow(browser, '.actions a[href$="/delete"]');
  assert.match(await browser.text('h1'), /Delete this source\?/);
  await follow(browser, '.actions a.quiet');
  assert.match(await browser.text('h1'), /Night birds/, 'it was kept');
  await follow(browser, '.actions a[href$="/settings"]');
  await follow(browser, '.actions a[href$="/delete"]');
  await follow(browser, 'button.danger');
  assert.equal(await path(browser), '/sources?said=source-deleted');
  assert.match(await browser.text('main'), /You have no sources yet/);
  assert.equal((await hub.anybody.get('/api/posts')).json<{ items: unknown[] }>().items.length, 0);

  await follow(browser, 'form[action="/sign-out"] button');
  assert.equal(await path(browser), '/?said=signed-out');
  assert.match(await browser.text('body'), /Sign in/);
  await browser.goto(`${hub.address}/sources/1/delete`);
  assert.equal(await path(browser), `/sign-in?next=${encodeURIComponent('/sources/1/delete')}`);
  await submit(browser, { username: 'ada', password: 'not the password' });
  assert.match(await browser.text('[role=alert]'), /Wrong name or password/);
  await submit(browser, { password: 'a long enough password' });
  assert.equal(await path(browser), '/sources/1/delete', 'led back to where the way began');
  assert.equal(await browser.text('h1'), 'Not Found');
  assert.match(await browser.text('nav.rail'), /Ada L/);
});

test('of hostile and remote content the browser loads only images, from the hub, runs nothing, and has nothing else to complain of', async (t) => {
  const { lookup } = fakeLookup({});
  const hub = await startHub(t, {}, { lookup });
  const browser = await openBrowser(t);
  const elsewhere = await startOrigin(t, reply(200, { 'content-type': 'image/gif' }, 'x'));
  const remote = `<img src="${elsewhere.url}/i.gif"><img srcset="${elsewhere.url}/s.gif 1x">
    <video src="${elsewhere.url}/v" poster="${elsewhere.url}/p" autoplay></video>
    <iframe src="${elsewhere.url}/f"></iframe><link rel="stylesheet" href="${elsewhere.url}/c">
    <link rel="preconnect" href="${elsewhere.url}">
    <p style="background:url(${elsewhere.url}/b)">text</p><object data="${elsewhere.url}/o"></object>
    <embed src="${elsewhere.url}/e">
    <script src="${elsewhere.url}/js"></script><base href="${elsewhere.url}/">
    <a href="${elsewhere.url}/a" ping="${elsewhere.url}/ping">link</a>
    <form action="${elsewhere.url}/form"><input type="image" src="${elsewhere.url}/f.gif"></form>
    <meta http-equiv="refresh" content="0;url=${elsewhere.url}/r">`;
  const hostile = Object.values(HOSTILE_MARKUP).flat().filter((markup) => !markup.includes(']]>')).join('\n');
  await signInWithFeed(
    t, hub, browser,
    [{ guid: 'a', title: 'Remote', content: remote }, { guid: 'b', title: 'Hostile', content: hostile }],
  );
  await browser.complaints();
  const failed = 'Failed to load resource: .* status of 404 \\(Not Found\\)';
  const hubPattern = hub.address.replaceAll('.', '\\.');
  const missingImage = new RegExp(`^${hubPattern}/attachments/\\d+-[0-9a-f]{16}/[\\w.%-]+ - ${failed}$`);
  let missing = 0;

  for (const page of ['/', '/posts/1', '/posts/2', '/sources/1', '/?q=text']) {
    await browser.goto(hub.address + page);
    const loaded = await browser.run<string[]>(
      `return performance.getEntriesByType('resource').map((entry) => entry.name)`,
    );
    assert.deepEqual(loaded.filter((url) => !url.startsWith(`${hub.address}/`)), [], page);
    await browser.run(`document.querySelectorAll('img').forEach((image) => { image.loading = 'eager'; })`);
    const isDone = `return [...document.images].every((image) => image.complete)`;
    await waitUntil('all images are there or have failed', () => browser.run<boolean>(isDone));
    assert.equal(await browser.run('return window.ran ?? null'), null, page);
    assert.equal(await path(browser), page, 'it was not led away');
    const complaints = await browser.complaints();
    assert.deepEqual(complaints.filter((complaint) => !missingImage.test(complaint)), [], page);
    missing += complaints.length;
  }
  assert.ok(missing > 2, 'images that cannot be had are missing');
  const asked = elsewhere.requests.map(({ path, headers }) => `${path} ${headers['user-agent']}`);
  assert.deepEqual(asked.sort(), ['/f', '/i', '/s'].map((name) => `${name}.gif ContentHub/test`));
});

test('were such content not cleaned, the policy of the page alone would keep it from loading and running', async (t) => {
  const hub = await startHub(t);
  const browser = await openBrowser(t);
  const elsewhere = await startOrigin(t, reply(200, { 'content-type': 'image/gif' }, 'x'));
  await signInWithFeed(t, hub, browser);
  const markup = `<img src="${elsewhere.url}/i.gif"><script>window.ran=1</script><img src=x onerror=ran=1>
    <iframe src="${elsewhere.url}/f"></iframe><link rel=stylesheet href="${elsewhere.url}/c">
    <p style="background:url(${elsewhere.url}/b)">x</p>`;
  setContent(hub, 1, markup);

  await browser.goto(`${hub.address}/posts/1`);
  assert.equal(
    await browser.run('return document.querySelectorAll(".prose script, .prose iframe").length'), 2,
    'it stands in the page',
  );
  assert.ok((await browser.complaints()).some((message) => message.includes('Content Security Policy')));
  assert.equal(await browser.run('return window.ran ?? null'), null);
  assert.deepEqual(elsewhere.requests, []);
});

test('lists and quotations from right to left have their numbers and lines at the right, within the page', async (t) => {
  const content = '<blockquote><p>اقتباس من كتاب قديم</p></blockquote><ol><li>واحد</li><li>One of them in English</li></ol>' +
    '<ul><li>first</li></ul>';
  const { hub, ada } = await followedFeed(t, [{ guid: 'a', title: 'يوميات', content }]);
  const browser = await openBrowser(t);
  await browser.become(hub.address, ada.cookies);
  await browser.setPageWidth(390);
  await browser.goto(`${hub.address}/posts/1`);
  const styleOf = (selector: string, name: string) =>
    browser.run<string>(`return getComputedStyle(document.querySelector('.prose ${selector}'))['${name}']`);

  assert.deepEqual(await Promise.all(['blockquote', 'ol', 'ol li', 'ul'].map((one) => styleOf(one, 'direction'))),
    ['rtl', 'rtl', 'rtl', 'ltr']);
  assert.ok(Number.parseFloat(await styleOf('blockquote', 'borderRightWidth')) > 0);
  assert.equal(await styleOf('blockquote', 'borderLeftWidth'), '0px');
  assert.equal(await browser.run('return document.documentElement.scrollWidth'), 390);
});

test('the cards of posts from right to left turn whole on the public page, and times keep their order in them', async (t) => {
  const { hub, ada } = await followedFeed(t, [
    { guid: 'a', title: 'يوميات' }, { guid: 'b', title: 'مرافئ' }, { guid: 'c', title: 'Diary' },
  ]);
  hub.passTime(5 * 3_600_000);
  const browser = await openBrowser(t);
  await browser.goto(hub.address);
  const directions = () => browser.run<string[]>(
    `return [...document.querySelectorAll('.story')].map((story) => getComputedStyle(story).direction).sort()`);
  assert.deepEqual(await directions(), ['ltr', 'rtl', 'rtl']);
  await browser.become(hub.address, ada.cookies);
  await browser.goto(`${hub.address}/all/posts/3`);
  // The number of "5 h ago" stands left of its letters, beside a title and a source from right to left, too.
  const order = await browser.run<boolean[]>(`
    return [...document.querySelectorAll('.beside time')].map((time) => {
      const x = (at) => { const range = document.createRange(); range.setStart(time.firstChild, at); range.setEnd(time.firstChild, at + 1);
        return range.getBoundingClientRect().left; };
      return x(0) < x(time.firstChild.data.length - 1);
    })`);
  assert.deepEqual(order, [true, true]);
});

test('with the keyboard alone one can skip to the content, and always sees where one is', async (t) => {
  const hub = await startHub(t);
  const browser = await openBrowser(t);
  await signInWithFeed(t, hub, browser);
  const focused = () => browser.run<{ name: string; shown: boolean; outline: string }>(`
    const element = document.activeElement;
    const { left, top, width, height } = element.getBoundingClientRect();
    const outline = getComputedStyle(element);
    return {
      name: element.className || element.textContent.trim(),
      shown: width > 0 && height > 0 && left >= 0 && top >= 0 && left < innerWidth,
      outline: outline.outlineStyle + ' ' + outline.outlineWidth,
    };
  `);

  await browser.goto(`${hub.address}/`);
  assert.equal(
    await browser.run(`return document.querySelector('.skip').getBoundingClientRect().right < 0`), true,
    'out of sight until it is needed',
  );
  await browser.type('body', TAB);
  const skip = await focused();
  assert.deepEqual([skip.name, skip.shown], ['skip', true]);
  for (let step = 0; step < 6; step++) {
    const { name, shown, outline } = await focused();
    assert.ok(shown, `${name} is shown`);
    assert.match(outline, /^(?!none)\w+ [1-9]/, `${name} is marked`);
    await browser.type(':focus', TAB);
  }
  await browser.goto(`${hub.address}/`);
  await browser.type('body', TAB);
  await browser.type(':focus', ENTER);
  await browser.type('body', TAB);
  assert.equal(
    await browser.run(`return document.querySelector('main').contains(document.activeElement)`), true,
    'the navigation was skipped',
  );
});
