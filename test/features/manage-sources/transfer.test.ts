// Protects the transfer of a source to another owner, with its posts, files, quota and rights.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uploads } from '../../../src/features/attachments/attachment-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { addNotes, addPost, giveTo, itemsAt, offerTo, pointersOf } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { setAccount } from '../../support/stored-accounts.ts';
import { failWrites } from '../../support/stored-rows.ts';
import { startOrigin } from '../../support/origin.ts';
import { writePost } from '../../support/uploads.ts';
import { makeWebhook } from '../../support/webhooks.ts';

type Told = { kind: string; title: string; path: string };

async function told(client: Parameters<typeof itemsAt>[0]): Promise<string[]> {
  return (await itemsAt<Told>(client, '/api/notifications')).map(({ title, path }) => `${title} ${path}`);
}

test('a source goes to the member who accepts it with its posts; both are told, and it is on record', async (t) => {
  const { ada, bob, carol } = await hubWith(t, ['ada', 'bob', 'carol']);
  const sourceId = await addNotes(bob, 'Notes', 'private');
  const postId = await addPost(bob, sourceId);

  const offer = await offerTo(bob, sourceId, 'CAROL');
  assert.deepEqual(await told(carol), [`“Notes” is offered to you /offers#source-${sourceId}`]);
  assert.equal((await carol.post(`/api/offers/${offer}/accept`)).status, 204);

  assert.deepEqual((await carol.get(`/api/sources/${sourceId}`)).json()['owner'], { id: 3, displayName: 'carol' });
  assert.equal((await carol.get(`/api/posts/${postId}`)).status, 200);
  assert.equal((await bob.get(`/api/posts/${postId}`)).status, 404, 'it is private to another now');
  assert.equal((await carol.patch(`/api/sources/${sourceId}`, { title: 'Hers' })).status, 200);
  assert.deepEqual(await told(bob), [
    '“Notes” now belongs to someone else /sources',
    `“Notes” is offered to someone; nothing changes until they accept /sources/${sourceId}`,
  ]);
  assert.deepEqual(await told(carol), [`“Notes” now belongs to you /sources/${sourceId}`]);
  const [, accepted, offered] = await itemsAt(ada, `/api/admin/audit?target=source:${sourceId}`);
  const target = { kind: 'source', id: sourceId, name: 'Notes' };
  assert.deepEqual([accepted?.['act'], accepted?.['actor'], accepted?.['target'], accepted?.['detail']],
    ['source.transferred', { id: 3, name: 'carol' }, target, { from: 2, to: 3, offer }]);
  assert.deepEqual([offered?.['act'], offered?.['actor'], offered?.['target'], offered?.['detail']],
    ['source.offered', { id: 2, name: 'bob' }, target, { to: 3 }]);
});

test('files that do not fit keep a member from accepting: the answer says how much is missing, and the offer stays', async (t) => {
  const { hub, bob, carol } = await hubWith(t, ['ada', 'bob', 'carol'], { UPLOAD_QUOTA_BYTES: '30' });
  const [hers, his, empty] = [await addNotes(carol), await addNotes(bob), await addNotes(bob, 'Empty')];
  const { id: postId } = await writePost(hub, { client: carol, sourceId: hers }, [{ filename: 'a.txt', data: 'twelve bytes' }]);
  await writePost(hub, { client: bob, sourceId: his }, [{ filename: 'a.txt', data: 'twelve bytes' }, { filename: 'b.txt', data: 'eight by' }]);
  const offer = await offerTo(bob, his, 'carol');

  const refused = await carol.post(`/api/offers/${offer}/accept`);
  assert.deepEqual([refused.status, refused.json()['bytesMissing']], [422, 2]);
  assert.match(refused.json<{ detail: string }>().detail, /space for files: 2 bytes are missing\.$/);
  assert.equal(sources(hub.handle).countOwned([2]).get(2), 2);

  await carol.delete(`/api/posts/${postId}`);
  assert.equal((await carol.post(`/api/offers/${offer}/accept`)).status, 204, 'it fits now');
  assert.equal(uploads(hub.handle).usageOf(3), 20);
  hub.handle.config = { ...hub.config, uploadQuotaBytes: 5 }; // as after a restart with a smaller one
  await giveTo(bob, empty, 'carol', carol);
});

test('an administrator is given a source at once, whatever they have already, so that everybody can leave', async (t) => {
  const hub = await startHub(t, { UPLOAD_QUOTA_BYTES: '20', SOURCES_MAX: '1' });
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Feed', [{ guid: 'a' }])) });
  const feed = { kind: 'feed', url: `${origin.url}/feed`, visibility: 'private' };
  const [ada, bob] = [await hub.person('ada'), await hub.person('bob')];
  const give = async (id: unknown) => (await bob.post(`/api/sources/${id}/transfer`, { username: 'ada' })).status;
  await ada.post('/api/sources', feed);
  for (let n = 0; n < 2; n++) {
    const sourceId = await addNotes(bob);
    await writePost(hub, { client: bob, sourceId }, [{ filename: 'a.txt', data: 'twelve bytes' }]);
    assert.equal(await give(sourceId), 200);
  }
  assert.equal(await give((await bob.post('/api/sources', feed)).json()['id']), 200);

  assert.equal(sources(hub.handle).countOwned([1]).get(1), 4);
  assert.equal(uploads(hub.handle).usageOf(1), 24);
  assert.match((await ada.page('/sources?show=mine')).text, /Mine\s*<span class="count">4</, 'all can be seen and managed');
});

test('the new owner of a webhook is told to make a new secret, and the one before that its secret goes along', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  const { id } = await makeWebhook(bob, 'Deploys');

  assert.match((await bob.page(`/sources/${id}/transfer`)).text, /You know its secret, so the new owner is asked to make a new one/);
  await bob.form(`/sources/${id}/transfer`, { username: 'ada' });

  const advice = 'Create a new secret: the previous owner knows the current secret';
  assert.deepEqual(await told(ada), [`“Deploys” now belongs to you. ${advice} /sources/${id}`]);
  assert.deepEqual(await told(bob), ['“Deploys” now belongs to someone else /sources']);
});

test('only the owner and administrators may give a source away, and only to an account that can take it', async (t) => {
  const { hub, ada, bob, carol } = await hubWith(t, ['ada', 'bob', 'carol', 'dan']);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Feed', [{ guid: 'a' }])) });
  setAccount(hub, 'dan', { disabledAt: 1 });
  const open = await addNotes(bob);
  const hidden = await addNotes(bob, 'Hidden', 'private');
  const feed = { kind: 'feed', url: `${origin.url}/feed`, visibility: 'private' };
  const [his] = await Promise.all([bob, carol].map((client) => client.post('/api/sources', feed)));
  const give = (client: typeof bob, id: number, username: unknown) =>
    client.post(`/api/sources/${id}/transfer`, { username });

  assert.equal((await give(carol, open, 'carol')).status, 403);
  for (const unknown of ['nobody', 'dan', '']) {
    assert.deepEqual(pointersOf(await give(bob, open, unknown)), ['/username'], unknown);
  }
  assert.equal((await give(bob, open, 'bob')).status, 409);
  const offer = await offerTo(bob, his?.json<{ id: number }>().id ?? 0, 'carol'); // says nothing of what she has
  assert.deepEqual((await carol.post(`/api/offers/${offer}/accept`)).status, 409, 'she has that feed already');
  assert.equal(sources(hub.handle).countOwned([2]).get(2), 3);
  await giveTo(ada, hidden, 'carol', carol);
});

test('a transfer that fails half-way changes nothing and tells nobody', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const sourceId = await addNotes(bob);
  failWrites(hub, 'INSERT', 'notifications');

  assert.equal((await bob.post(`/api/sources/${sourceId}/transfer`, { username: 'ada' })).status, 500);

  assert.equal(sources(hub.handle).find(sourceId)?.ownerId, 2);
  assert.deepEqual(await itemsAt(ada, '/api/admin/audit?act=source.transferred'), []);
  assert.deepEqual(await told(bob), []);
});
