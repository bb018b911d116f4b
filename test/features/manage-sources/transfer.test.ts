// Protects the transfer of a source to another owner, with its posts, files, quota and rights.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uploads } from '../../../src/features/attachments/attachment-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { addNotes, addPost, itemsAt } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHub } from '../../support/hub.ts';
import { breakTable } from '../../support/kept-rows.ts';
import { startOrigin } from '../../support/origin.ts';
import { writePost } from '../../support/uploads.ts';
import { makeWebhook } from '../../support/webhooks.ts';

type Told = { kind: string; title: string; path: string };

async function told(client: Parameters<typeof itemsAt>[0]): Promise<string[]> {
  return (await itemsAt<Told>(client, '/api/notifications')).map(({ title, path }) => `${title} ${path}`);
}

test('a source goes to its new owner with its posts; both are told, and it is on record', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  const bob = await hub.person('bob');
  const carol = await hub.person('carol');
  const sourceId = await addNotes(bob, 'Notes', 'private');
  const postId = await addPost(bob, sourceId);

  const moved = await bob.post(`/api/sources/${sourceId}/transfer`, { username: 'CAROL' });

  assert.equal(moved.status, 200);
  assert.deepEqual(moved.json()['owner'], { id: 3, displayName: 'carol' });
  assert.equal((await carol.get(`/api/posts/${postId}`)).status, 200);
  assert.equal((await bob.get(`/api/posts/${postId}`)).status, 404, 'it is private to another now');
  assert.equal((await carol.patch(`/api/sources/${sourceId}`, { title: 'Hers' })).status, 200);
  assert.deepEqual(await told(bob), ['“Notes” now belongs to someone else /sources']);
  assert.deepEqual(await told(carol), [`“Notes” now belongs to you /sources/${sourceId}`]);
  const [record] = await itemsAt(ada, '/api/admin/audit?act=source.transferred');
  assert.deepEqual(record?.['actor'], { id: 2, name: 'bob' });
  assert.deepEqual(record?.['target'], { kind: 'source', id: sourceId, name: 'Notes' });
  assert.deepEqual(record?.['detail'], { from: 2, to: 3 });
});

test('files of its posts count for the new owner', async (t) => {
  const hub = await startHub(t);
  await hub.person('ada');
  const bob = await hub.person('bob');
  const sourceId = await addNotes(bob);
  await writePost(hub, { client: bob, sourceId }, [{ filename: 'a.txt', data: 'twelve bytes' }]);

  await bob.post(`/api/sources/${sourceId}/transfer`, { username: 'ada' });

  assert.equal(uploads(hub.handle).usageOf(2), 0);
  assert.equal(uploads(hub.handle).usageOf(1), 12);
});

test('who has too little space left for its files cannot be given a source, and only administrators are told how much is missing', async (t) => {
  const hub = await startHub(t, { UPLOAD_QUOTA_BYTES: '30' });
  const ada = await hub.person('ada');
  const bob = await hub.person('bob');
  const [hers, his, other] = [await addNotes(ada), await addNotes(bob), await addNotes(bob, 'Other')];
  await writePost(hub, { client: ada, sourceId: hers }, [{ filename: 'a.txt', data: 'twelve bytes' }]);
  await writePost(hub, { client: bob, sourceId: his }, [{ filename: 'a.txt', data: 'twelve bytes' }, { filename: 'b.txt', data: 'eight by' }]);
  await writePost(hub, { client: bob, sourceId: other }, [{ filename: 'a.txt', data: 'ten bytes.' }]);
  const give = (client: typeof bob, id: number, username: string) =>
    client.post(`/api/sources/${id}/transfer`, { username });

  for (const [client, missing, detail] of [[bob, undefined, /too little space, or the maximum number of sources\.$/], [ada, 2, /files: it needs 2 bytes more\.$/]] as const) {
    const refused = await give(client, his, 'ada');
    assert.equal(refused.status, 422);
    const problem = refused.json<{ bytesMissing?: number; detail: string; errors: { pointer: string }[] }>();
    assert.equal(problem.bytesMissing, missing);
    assert.match(problem.detail, detail);
    assert.deepEqual(problem.errors.map(({ pointer }) => pointer), ['/username']);
  }
  const page = await bob.form(`/sources/${his}/transfer`, { username: 'ada' });
  assert.equal(page.status, 422);
  assert.match(page.text, /too little space/);
  assert.equal(sources(hub.handle).countOwned([2]).get(2), 2);
  assert.deepEqual([await told(ada), await told(bob)], [[], []]);
  assert.deepEqual(await itemsAt(ada, '/api/admin/audit?act=source.transferred'), []);

  assert.equal((await give(bob, other, 'ada')).status, 200, 'this one fits');
  assert.equal((await give(ada, his, 'ada')).json()['bytesMissing'], 12);
  assert.equal(uploads(hub.handle).usageOf(1), 22);
});

test('a source without files can be given to whoever has no space left', async (t) => {
  const hub = await startHub(t, { UPLOAD_QUOTA_BYTES: '12' });
  const ada = await hub.person('ada');
  const bob = await hub.person('bob');
  const hers = await addNotes(ada);
  await writePost(hub, { client: ada, sourceId: hers }, [{ filename: 'a.txt', data: 'twelve bytes' }]);
  hub.handle.config = { ...hub.config, uploadQuotaBytes: 5 }; // as after a restart with a smaller one

  assert.equal((await bob.post(`/api/sources/${await addNotes(bob)}/transfer`, { username: 'ada' })).status, 200);
});

test('the new owner of a webhook is told to make a new secret, and the one before that its secret goes along', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  const bob = await hub.person('bob');
  const { id } = await makeWebhook(bob, 'Deploys');

  assert.match((await bob.page(`/sources/${id}/transfer`)).text, /You still know its secret\. The new owner is asked to create a new one/);
  await bob.form(`/sources/${id}/transfer`, { username: 'ada' });

  const advice = 'Create a new secret for it: the previous owner knows the current one';
  assert.deepEqual(await told(ada), [`“Deploys” now belongs to you. ${advice} /sources/${id}`]);
  assert.deepEqual(await told(bob), ['“Deploys” now belongs to someone else /sources']);
});

test('only the owner and administrators may give a source away, and only to somebody who can have it', async (t) => {
  const hub = await startHub(t);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Feed', [{ guid: 'a' }])), '/secret': serving(() => rss('Secret', [])) });
  const ada = await hub.person('ada');
  const bob = await hub.person('bob');
  const carol = await hub.person('carol');
  const open = await addNotes(bob);
  const hidden = await addNotes(bob, 'Hidden', 'private');
  const feed = { kind: 'feed', url: `${origin.url}/feed` };
  const feedId = (await bob.post('/api/sources', { ...feed, visibility: 'private' })).json<{ id: number }>().id;
  await carol.post('/api/sources', feed);
  const give = (client: typeof bob, id: number, username: unknown) =>
    client.post(`/api/sources/${id}/transfer`, { username });

  assert.equal((await give(hub.anybody, open, 'ada')).status, 401);
  assert.equal((await give(carol, open, 'carol')).status, 403);
  assert.equal((await give(carol, hidden, 'carol')).status, 404);
  for (const unknown of ['nobody', '', undefined, 7, 'x'.repeat(40)]) {
    const refused = await give(bob, open, unknown);
    assert.equal(refused.status, 422, String(unknown));
    assert.equal(refused.json<{ errors: { pointer: string }[] }>().errors[0]?.pointer, '/username');
  }
  assert.equal((await give(bob, open, 'bob')).status, 409);
  assert.equal((await give(bob, feedId, 'carol')).status, 409, 'she has that feed already');
  const secret = { kind: 'feed', url: `${origin.url}/secret`, visibility: 'private' };
  const [his] = await Promise.all([bob, carol].map((client) => client.post('/api/sources', secret)));
  const refused = await give(bob, his?.json<{ id: number }>().id ?? 0, 'carol');
  assert.deepEqual([refused.status, refused.json()['detail']], [422,
    'This account already has the feed, too little space, or the maximum number of sources.'], 'hers is private');
  assert.equal(sources(hub.handle).countOwned([2]).get(2), 4);
  assert.equal((await give(ada, hidden, 'carol')).status, 200, 'an administrator may');
});

test('a transfer that fails half-way changes nothing and tells nobody', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  const bob = await hub.person('bob');
  const sourceId = await addNotes(bob);
  breakTable(hub, 'INSERT', 'notifications');

  assert.equal((await bob.post(`/api/sources/${sourceId}/transfer`, { username: 'ada' })).status, 500);

  assert.equal(sources(hub.handle).find(sourceId)?.ownerId, 2);
  assert.deepEqual(await itemsAt(ada, '/api/admin/audit?act=source.transferred'), []);
  assert.deepEqual(await told(bob), []);
});
