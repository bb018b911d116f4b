// Protects readers' privacy: posts name the hub's copies of images and PDFs, for those who may see them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Item } from '../../support/feeds.ts';
import { getFile, pathOf, withoutKeys } from '../../support/own-posts.ts';
import { assertInStep, cacheNumbers, hubWithFeed, image } from '../../support/remote-files.ts';
import { jpeg, pdf, png } from '../../support/sample-files.ts';
import { parseStrictXml } from '../../support/strict-xml.ts';

const PNG = png({ width: 30, height: 20 });
const FILES = {
  '/a.png': image(PNG), '/b%20c.jpg': image(jpeg({ width: 16, height: 8 })), '/paper.pdf': image(pdf()),
};

/** An image in the text, one beside it, a PDF, and a sound and a film, which the hub does not copy. */
function mixedItem(url: string): Item {
  const enclosures = [['b%20c.jpg', 'image/jpeg'], ['paper.pdf', 'application/pdf'], ['talk.mp3', 'audio/mpeg'],
    ['film.mp4', 'video/mp4'], ['drawing.svg', 'image/svg+xml'], ['page.html', 'text/html']];
  return {
    guid: 'a',
    title: 'Owls',
    content: `<p>See <img src="${url}/a.png" alt="An &quot;owl&quot; &amp; more"> here</p>`,
    extra: enclosures.map(([name, type]) => `<enclosure url="${url}/${name}" type="${type}"/>`).join(''),
  };
}

test('a post names the hub\'s addresses for images and PDFs, and its publisher\'s for all that the hub keeps no copy of', async (t) => {
  const { hub, posts, publisher } = await hubWithFeed(t, FILES, (url) => [mixedItem(url)]);
  const { baseUrl } = hub.config;
  const [post] = posts;
  assert.ok(post);

  const image = /<img [^>]*>/.exec(post.contentHtml)?.[0];
  assert.equal(withoutKeys(image ?? ''), `<img src="${baseUrl}/attachments/7-KEY/a.png" alt="An &quot;owl&quot; &amp; more" loading="lazy">`);
  assert.deepEqual(post.attachments.map(({ filename, url }) => [filename, withoutKeys(url?.replace(publisher.url, '') ?? '')]), [
    ['b c.jpg', `${baseUrl}/attachments/1-KEY/b%20c.jpg`],
    ['paper.pdf', `${baseUrl}/attachments/2-KEY/paper.pdf`],
    ['talk.mp3', '/talk.mp3'], ['film.mp4', '/film.mp4'], ['drawing.svg', '/drawing.svg'], ['page.html', '/page.html'],
  ]);
  for (const file of post.attachments.slice(0, 2)) assert.equal((await getFile(hub, pathOf(file))).status, 200);
});

test('the output feeds name the same addresses, whole', async (t) => {
  const { hub, posts, sourceId } = await hubWithFeed(t, FILES, (url) => [mixedItem(url)]);
  const urls = posts[0]?.attachments.map(({ url }) => url);

  for (const feed of ['/posts', `/sources/${sourceId}`]) {
    const atom = (await hub.anybody.get(`${feed}.atom`)).text;
    const links = Array.from(atom.matchAll(/<link rel="enclosure" href="([^"]+)"/g), ([, href]) => href);
    assert.deepEqual(links, urls);
    assert.doesNotThrow(() => parseStrictXml(atom));
    assert.ok(withoutKeys(atom).includes(`&lt;img src=&quot;${hub.config.baseUrl}/attachments/7-KEY/a.png&quot;`));
    const [item] = (await hub.anybody.get(`${feed}.json`))
      .json<{ items: { content_html: string; attachments: { url: string }[] }[] }>().items;
    assert.deepEqual(item?.attachments.map(({ url }) => url), urls);
    assert.equal(item?.content_html, posts[0]?.contentHtml);
  }
});

test('files of a private source are fetched and given out for those who see it only', async (t) => {
  const { hub, ada, posts, publisher, sourceId } = await hubWithFeed(
    t, FILES, (url) => [mixedItem(url)], { visibility: 'private' });
  const bob = await hub.person('bob');
  const path = pathOf(posts[0]?.attachments[0] ?? assert.fail());

  for (const as of [bob, undefined]) assert.equal((await getFile(hub, path, as ? { as } : {})).status, 404);
  assert.deepEqual(publisher.requests, [], 'strangers cannot have it fetched');
  const served = await getFile(hub, path, { as: ada });
  assert.deepEqual([served.status, served.headers.get('cache-control')], [200, 'private, no-cache']);
  for (const as of [bob, undefined]) assert.equal((await getFile(hub, path, as ? { as } : {})).status, 404);
  assert.equal((await cacheNumbers(hub))['error'], 0, 'those were no requests to the cache');

  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'public' });
  assert.equal((await getFile(hub, path)).status, 200);
  assert.equal(publisher.requests.length, 1);
});

test('posts with one and the same file share the hub\'s copy, which outlives each of them', async (t) => {
  const items = (url: string): Item[] =>
    ['a', 'b'].map((guid) => ({ guid, content: `<p><img src="${url}/a.png">${guid}</p>` }));
  const { hub, ada, posts, publisher } = await hubWithFeed(t, FILES, items);
  const paths = posts.map(({ contentHtml }) => /src="[^"]*(\/attachments\/[^"]+)"/.exec(contentHtml)?.[1] ?? '');
  assert.equal(new Set(paths).size, 2);

  for (const path of paths) assert.equal((await getFile(hub, path)).status, 200);
  assert.equal(publisher.requests.length, 1);
  assert.equal((await ada.delete(`/api/posts/${posts[0]?.id}`)).status, 204);
  assert.equal((await getFile(hub, paths[0] ?? '')).status, 404);
  assert.equal((await getFile(hub, paths[1] ?? '')).status, 200);
  await assertInStep(hub);
});

test('an image in the content needs no name by which it could be known as one', async (t) => {
  const content = (url: string) => `<p><img src="${url}/image?id=5"><img src="${url}/i.php"><img src="${url}/"></p>`;
  const files = { '/image?id=5': image(PNG), '/i.php': image(PNG), '/': image(PNG) };
  const { hub, posts } = await hubWithFeed(t, files, (url) => [{ guid: 'a', content: content(url) }]);

  const found = posts[0]?.contentHtml.matchAll(/src="[^"]*(\/attachments\/[^"]+)"/g) ?? [];
  const paths = Array.from(found, ([, path = '']) => path);
  assert.deepEqual(paths.map(withoutKeys),
    ['/attachments/1-KEY/image', '/attachments/2-KEY/i.php', '/attachments/3-KEY/attachment']);
  for (const path of paths) {
    assert.equal((await getFile(hub, path)).headers.get('content-type'), 'image/png');
  }
});

test('names that publishers give their files lead to the file, however odd they are', async (t) => {
  const names = ['..%2f', '..%5C..%5Cx.png', 'a%00b.png', '%f0%9f%a6%89.png', 'a%3Fb%23c.png', '%.png', '%22q%22.png', ''];
  const files = Object.fromEntries(names.map((name, n) => [`/${n}/${name}`, image(PNG)]));
  const extra = (url: string) =>
    Object.keys(files).map((path) => `<enclosure url="${url}${path}" type="image/png"/>`).join('');
  const { hub, posts } = await hubWithFeed(t, files, (url) => [{ guid: 'a', extra: extra(url) }]);

  const shown = posts[0]?.attachments ?? [];
  assert.deepEqual(shown.map(({ filename }) => filename), [
    'attachment', '....x.png', 'ab.png', '🦉.png', 'a?b#c.png', '%.png', '"q".png', '7',
  ]);
  for (const [n, { url }] of shown.entries()) {
    const { pathname } = new URL(url ?? '');
    assert.match(pathname, /^\/attachments\/\d+-[0-9a-f]{16}\/[^/]+$/, names[n] ?? '');
    const served = await getFile(hub, pathname);
    assert.equal(served.status, 200, `${names[n]}: ${pathname}`);
  }
});
