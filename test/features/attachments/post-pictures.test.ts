// Protects pictures beside posts in lists, and the boxes of those in posts: small, known, and never fetched for a list.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { attachments, uploads } from '../../../src/features/attachments/attachment-store.ts';
import { thumbnails } from '../../../src/features/attachments/post-pictures.ts';
import { counts } from '../../../src/features/hub/hub.ts';
import { HOUR } from '../../../src/platform/clock.ts';
import type { OriginHandler } from '../../support/origin.ts';
import type { Hub } from '../../support/hub.ts';
import { getFile, hubWithOwnPosts, type ShownPost } from '../../support/own-posts.ts';
import { hubWithFeed, image } from '../../support/remote-files.ts';
import { gif, png, pngChunk, webp } from '../../support/sample-files.ts';
import { removeRows } from '../../support/stored-rows.ts';
import { uploadRows, writePost } from '../../support/uploads.ts';

const LARGE_ENOUGH = { width: 96, height: 64 };
const PICTURE = png(LARGE_ENOUGH);

/** A feed of one post with these images in its content, all of which a reader of the post has loaded. */
async function hubWithRead(t: TestContext, files: Record<string, OriginHandler>, extra = '') {
  const content = (url: string) => Object.keys(files).map((name) => `<p><img src="${url}${name}" alt="An owl"></p>`).join('');
  const made = await hubWithFeed(t, files, (url) => [{ guid: 'a', content: content(url), extra: extra.replaceAll('URL', url) }]);
  const post = made.posts[0] ?? assert.fail('no post');
  const read = async (): Promise<void> => {
    for (const path of shownAt(await pageOf(made.hub, post))) await getFile(made.hub, path);
  };
  return { ...made, post, read };
}

async function pageOf(hub: Hub, { id }: ShownPost): Promise<string> {
  const page = (await hub.anybody.page(`/posts/${id}`)).text;
  return page.slice(page.indexOf('<article'), page.indexOf('</article>'));
}

/** Where the images of a page are loaded from. */
function shownAt(page: string): string[] {
  return Array.from(page.matchAll(/<img src="([^"]+)"/g), ([, path = '']) => path);
}

function thumbnail(hub: Hub, { id }: { id: number }): string | undefined {
  return thumbnails(hub.handle, [{ id }]).get(id);
}

test('a post has a thumbnail once a reader has loaded its picture; no list asks the publisher for one', async (t) => {
  const { hub, publisher, post, read } = await hubWithRead(t, { '/owl.png': image(PICTURE) });
  assert.equal(thumbnail(hub, post), undefined);
  assert.equal(publisher.requests.length, 0);

  await read();
  const path = thumbnail(hub, post) ?? assert.fail('no thumbnail');
  assert.equal(path, `${shownAt(await pageOf(hub, post))[0]}?kept`);
  const served = await getFile(hub, path);
  assert.deepEqual([served.status, served.headers.get('content-type'), served.body], [200, 'image/png', PICTURE]);

  removeRows(hub, 'cached_files');
  assert.equal(thumbnail(hub, post), undefined);
  assert.equal((await getFile(hub, path)).status, 404, 'an older page may still show it');
  assert.equal(publisher.requests.length, 1);
});

test('a picture that is too small, larger than 256 KiB or over 8 million pixels is no thumbnail; the first that fits is', async (t) => {
  const heavy = png({ width: 400, height: 400 }, pngChunk('teXt', Buffer.alloc(256 * 1024)));
  const vast = png({ width: 4_100, height: 2_100 });
  assert.ok(heavy.length > 256 * 1024 && vast.length < 256 * 1024);
  const { hub, post, read } = await hubWithRead(t, {
    '/heavy.png': image(heavy), '/vast.png': image(vast), '/narrow.png': image(png({ width: 95, height: 64 })),
    '/low.gif': image(gif({ width: 96, height: 63 })), '/owl.png': image(PICTURE), '/later.webp': image(webp(LARGE_ENOUGH)),
  });
  await read();
  assert.match(thumbnail(hub, post) ?? '', /\/owl\.png\?kept$/);
});

test('one query answers for a page of posts, of whichever kind', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const written = [];
  for (const files of [[{ filename: 'owl.png', data: PICTURE }], [], [{ filename: 'small.png', data: png({ width: 9, height: 9 }) }]]) {
    written.push(await writePost(hub, { client: ada, sourceId }, files));
  }
  const found = thumbnails(hub.handle, written);
  assert.deepEqual([...found.keys()], [written[0]?.id]);
  const path = found.get(written[0]?.id ?? 0) ?? '';
  assert.deepEqual((await getFile(hub, path)).body, PICTURE);
  for (const { sha256 } of uploadRows(hub.db)) uploads(hub.handle).setScan(sha256, 'infected');
  assert.equal(thumbnails(hub.handle, written).size, 0);
});

test('an image in a post has its size once the hub has seen it, and takes its own size when it loads before', async (t) => {
  const { hub, ada, post, read } = await hubWithRead(t, { '/owl.png': image(PICTURE), '/none.png': image(Buffer.from('x')) });
  const classes = async () => (await ada.page(`/posts/${post.id}`)).text.match(/<img src="\/attachments[^>]*>/g)
    ?.map((tag) => /" (width="\d+" height="\d+")? ?loading="lazy">$/.exec(tag)?.[1] ?? 'none');
  assert.deepEqual(await classes(), ['none', 'none']);
  await read();
  assert.deepEqual(await classes(), ['width="96" height="64"']);
  assert.match((await ada.page(`/posts/${post.id}`)).text, /<a href="[^"]*\/none\.png" class="remote-image"/, 'it cannot be had');
  hub.passTime(HOUR);
  assert.deepEqual(await classes(), ['width="96" height="64"', 'none'], 'it is tried again');
});

test('a picture beside a post that cannot be had is only listed', async (t) => {
  const { hub, post, read } = await hubWithRead(t, {}, '<enclosure url="URL/gone.png" type="image/png"/>');
  assert.equal(shownAt(await pageOf(hub, post)).length, 1);
  await read();
  counts(hub.handle).add('content_version', '', 1);
  const page = await pageOf(hub, post);
  assert.equal(shownAt(page).length, 0);
  assert.match(page, />gone\.png<\/a>/);
});

test('a picture that somebody has uploaded has its size from the beginning', async (t) => {
  const { ada, sourceId, hub } = await hubWithOwnPosts(t);
  const { id } = await writePost(hub, { client: ada, sourceId }, [{ filename: 'owl.png', data: PICTURE }]);
  assert.match((await ada.page(`/posts/${id}`)).text, /<img src="\/attachments\/[^>]* width="96" height="64" loading="lazy">/);
});

test('a sound or film is a link to its publisher that says what to do with it, how long and how large it is', async (t) => {
  const { hub, post } = await hubWithRead(t, {}, `
    <enclosure url="URL/owl.mp3" type="audio/mpeg" length="12345678"/>
    <itunes:duration xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd">1:02:03</itunes:duration>`);
  const page = await pageOf(hub, post);
  const link = /<a [^>]*href="http:[^"]*\/owl\.mp3"[^]*?<\/li>/.exec(page)?.[0] ?? '';
  assert.equal(link.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ').trim(), 'Listen: owl.mp3 1:02:03 · 12 MiB · audio/mpeg');
  assert.doesNotMatch(page, /<audio|<video/);
  assert.equal(attachments(hub.handle).ofPosts([post.id]).length, 1);
});
