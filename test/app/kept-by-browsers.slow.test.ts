// Protects what browsers keep: a member's pages for that member alone and checked each time, what is secret never.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { hubRoutes } from '../../src/app/routes.ts';
import { sendJson } from '../support/accounts.ts';
import { hubWithOwnPosts, hubWithReader } from '../support/own-posts.ts';
import { writePost } from '../support/uploads.ts';

/** Answers that are kept by nobody: they show secrets, all there is of a person, or what is so at this moment. */
const NEVER_KEPT = [
  '/api/account/export', '/api/sources.opml', '/api/health', '/api/metrics', '/sign-in', '/join/:token', '/new-password/:token',
];

/** Forms for posts, each with a random name of the browser tab, so that two tabs with one draft are told apart. */
const NEW_EACH_TIME = ['/write', '/write/:draft', '/posts/:id/edit'];

test('everything that a member reads is kept by that browser alone and told unmodified, but for what is never kept', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  await writePost(hub, { client: ada, sourceId }, []);
  await sendJson(ada, 'PUT', `/api/sources/${sourceId}/follow`, { folder: '1' });
  await ada.post('/api/rules', { match: 'owls', act: 'star' });
  const opml = '<opml version="2.0"><body><outline xmlUrl="https://good.test/"/></body></opml>';
  assert.equal((await ada.form('/sources/import', { opml, visibility: 'public' })).status, 303);
  const gets = hubRoutes(hub.handle).filter(({ method, path }) => method === 'GET' && !/^\/(?:accounts|attachments|full-texts|icons|icon-sets|reader)\//.test(path));

  const notThere: string[] = [];
  for (const { path: template } of gets) {
    const path = template.replace(':draft', 'x'.repeat(16)).replace(/:[a-z]+/gi, '1').replace('/reading/fresh', '/reading/fresh?newest=1');
    const first = await ada.get(path);
    const caching = first.headers.get('cache-control');
    if (NEVER_KEPT.includes(template) || first.status !== 200) {
      assert.equal(caching, 'no-store', template);
      assert.equal(first.headers.get('etag'), null, template);
      if (first.status !== 200) notThere.push(template);
      continue;
    }
    const isForAll = path.startsWith('/assets/') || path === '/manifest.webmanifest';
    if (isForAll) assert.match(caching ?? '', /^public, max-age=(?:0, must-revalidate|31536000, immutable)$/, path);
    else assert.equal(caching, 'private, no-cache', template);
    if (!isForAll) assert.match(first.headers.get('vary') ?? '', /^Cookie, Authorization\b/, template);
    if (NEW_EACH_TIME.includes(template)) continue;
    const again = await ada.get(path, { 'if-none-match': first.headers.get('etag') ?? '' });
    assert.deepEqual([again.status, again.text], [304, ''], template);
  }
  assert.deepEqual(notThere.sort(), ['/join/:token', '/new-password/:token', '/settings/apps/check', '/sign-in'], 'all others were seen');
});

test('a list has another tag as soon as anything on it is read or starred, and its old one when that is taken back', async (t) => {
  const { hub, bob, sourceId, posts } = await hubWithReader(t, 3);
  await sendJson(bob, 'PUT', `/api/sources/${sourceId}/follow`, {});
  const lists = ['/', '/all', '/starred', `/sources/${sourceId}`];
  // What is unread keeps what was read since the page was made: the time of the last mark stands in it.
  const tags = async () => Promise.all(lists.map(async (path) =>
    createHash('sha256').update((await bob.page(path)).text.replace(/since=\d+/g, '')).digest('hex')));
  const etags = async () => Promise.all(lists.map(async (path) => (await bob.page(path)).headers.get('etag')));
  const [before, first] = [await tags(), await etags()];
  assert.deepEqual(await etags(), first);

  await bob.page(`/unread/posts/${posts[1]}`);
  const read = await etags();
  for (const [index, path] of lists.entries()) assert.notEqual(read[index], first[index], path);
  for (const [index, path] of lists.entries()) {
    const again = await bob.get(path, { 'if-none-match': first[index] ?? '' });
    assert.equal(again.status, 200, `${path} is not what the browser has`);
  }
  await bob.form(`/posts/${posts[1]}/read`, { read: '0' });
  assert.deepEqual(await tags(), before);
  hub.passTime(1_000);
  await bob.form(`/posts/${posts[2]}/star`, { star: '1' });
  for (const [index, tag] of (await tags()).entries()) assert.notEqual(tag, before[index], lists[index]);
});
