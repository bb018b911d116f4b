// Protects files from those who may not see their post, at any time and through any cache.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uploads } from '../../../src/features/attachments/attachment-store.ts';
import { addNotes, giveTo } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import type { Hub } from '../../support/hub.ts';
import { attachOne, getFile, hubWithOwnPosts } from '../../support/own-posts.ts';
import { png } from '../../support/sample-files.ts';

/** With which status each of them gets the file, now as before whatever they asked under another validator. */
async function statuses(hub: Hub, path: string, people: (Client | undefined)[], etag = ''): Promise<number[]> {
  const given = [];
  for (const as of people) {
    const { status } = await getFile(hub, path, as ? { as } : {});
    for (const headers of [{ range: 'bytes=0-0' }, { 'if-none-match': etag }]) {
      const other = await getFile(hub, path, as ? { as, headers } : { headers });
      assert.equal(other.status < 400, status < 400, `${path} with ${JSON.stringify(headers)}`);
    }
    given.push(status);
  }
  return given;
}

test('files of a private post are for those who see it, its owner and administrators, and no shared cache keeps them', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const [bob, carol] = [await hub.person('bob'), await hub.person('carol')];
  const sourceId = await addNotes(bob, 'Notes', 'private');
  const { path, attachment } = await attachOne(hub, bob, sourceId, 'a.txt', 'secret');
  const people = [bob, ada, carol, undefined];

  assert.deepEqual(await statuses(hub, path, people, `"${attachment.sha256}"`), [200, 200, 404, 404]);
  const served = await getFile(hub, path, { as: bob });
  assert.equal(served.headers.get('cache-control'), 'private, no-cache');
  const known = await getFile(hub, path, { as: bob, headers: { 'if-none-match': `"${attachment.sha256}"` } });
  assert.deepEqual([known.status, known.headers.get('cache-control')], [304, 'private, no-cache']);
  const refused = await getFile(hub, path);
  const unknown = await getFile(hub, '/attachments/999-0123456789abcdef/a.txt');
  assert.equal(refused.body.toString(), unknown.body.toString(), 'nobody learns that there is one');
});

test('pages elsewhere, such as readers of the hub\'s feeds, may show images of public posts and nothing else', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const hidden = await addNotes(ada, 'Notes', 'private');
  const image = png({ width: 3, height: 2 });
  const policy = async (path: string, headers: Record<string, string> = {}): Promise<string | null> =>
    (await getFile(hub, path, { as: ada, headers })).headers.get('cross-origin-resource-policy');

  const shown = await attachOne(hub, ada, sourceId, 'a.png', image);
  const etag = `"${shown.attachment.sha256}"`;
  for (const headers of [{}, { range: 'bytes=0-3' }, { 'if-none-match': etag }]) {
    assert.equal(await policy(shown.path, headers), 'cross-origin', JSON.stringify(headers));
  }
  for (const [source, name, content] of [[hidden, 'a.png', image], [sourceId, 'a.txt', 'x'], [hidden, 'a.txt', 'x']] as const) {
    assert.equal(await policy((await attachOne(hub, ada, source, name, content)).path), 'same-origin', name);
  }
  assert.equal(await policy('/attachments/999-0123456789abcdef/a.png'), 'same-origin');
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' });
  assert.equal(await policy(shown.path), 'same-origin', 'it was public before');
});

test('files follow their source when it becomes private, and public again', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  const { path } = await attachOne(hub, ada, sourceId, 'a.txt', 'text');
  const people = [ada, bob, undefined];
  assert.deepEqual(await statuses(hub, path, people), [200, 200, 200]);

  assert.equal((await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' })).status, 200);
  assert.deepEqual(await statuses(hub, path, people), [200, 404, 404]);
  assert.equal((await getFile(hub, path, { as: ada })).headers.get('cache-control'), 'private, no-cache');

  assert.equal((await ada.patch(`/api/sources/${sourceId}`, { visibility: 'public' })).status, 200);
  assert.deepEqual(await statuses(hub, path, people), [200, 200, 200]);
  assert.match((await getFile(hub, path)).headers.get('cache-control') ?? '', /^public/);
});

test('when a private source goes over to somebody else, its files do, and count for the new owner\'s space', async (t) => {
  const { hub } = await hubWithOwnPosts(t);
  const [bob, carol] = [await hub.person('bob'), await hub.person('carol')];
  const sourceId = await addNotes(bob, 'Notes', 'private');
  const { path } = await attachOne(hub, bob, sourceId, 'a.txt', 'four');
  assert.deepEqual(await statuses(hub, path, [bob, carol, undefined]), [200, 404, 404]);
  await giveTo(bob, sourceId, 'carol', carol);

  const { usageOf } = uploads(hub.handle);
  assert.deepEqual(await statuses(hub, path, [bob, carol, undefined]), [404, 200, 404]);
  assert.deepEqual([usageOf(2), usageOf(3)], [0, 4]);
});
