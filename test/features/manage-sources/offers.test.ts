// Protects members from being given sources that they did not ask for: a transfer to a member is an offer.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { addNotes, addPost, itemsAt, leave, notificationTitles, offerTo } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { setAccount } from '../../support/stored-accounts.ts';
import { countRows } from '../../support/stored-rows.ts';

test('sources that are offered to a member who did not ask use up none of the member’s limits, however many sources are offered', async (t) => {
  const { bob, carol } = await hubWith(t, ['ada', 'bob', 'carol'], { SOURCES_MAX: '12' });

  for (let n = 0; n < 12; n++) {
    const id = await addNotes(bob, `Unwanted ${n}`);
    const { status } = await bob.post(`/api/sources/${id}/transfer`, { username: 'carol' });
    assert.equal(status, n < 10 ? 202 : 422);
  }

  assert.equal((await carol.get('/api/sources')).json<{ items: { owner: { id: number } }[] }>().items
    .filter(({ owner }) => owner.id === 3).length, 0);
  await addNotes(carol, 'Her own');
});

const DAY = 86_400_000;
type Listed = { id: number; direction: string; source: object; from: object; to: object | null; expiresAt: string };

const offersOf = (client: Client) => itemsAt<Listed>(client, '/api/offers');
const idsOf = async (client: Client) => (await offersOf(client)).map(({ id }) => id);
const answer = async (client: Client, id: number, how: string) => (await client.post(`/api/offers/${id}/${how}`)).status;
const ownerOf = (hub: Hub, id: number) => sources(hub.handle).find(id)?.ownerId;

const hubWithThree = (t: TestContext, env: Record<string, string> = {}) => hubWith(t, ['ada', 'bob', 'carol'], env);

test('before accepting, a member sees the title of a private source and who offers it, and nothing else of it', async (t) => {
  const { hub, ada, bob, carol } = await hubWithThree(t);
  const id = await addNotes(bob, 'Diary', 'private');
  const post = await addPost(bob, id, 'Monday');

  const offered = await bob.post(`/api/sources/${id}/transfer`, { username: 'carol' });
  const expiresAt = new Date(hub.now() + 14 * DAY).toISOString();
  const offer = { id: 1, source: { id, title: 'Diary' }, to: { id: 3, displayName: 'carol' }, expiresAt };
  assert.deepEqual([offered.status, offered.json()], [202, { offer }]);
  const listed = { ...offer, from: { id: 2, displayName: 'bob' }, offeredAt: new Date(hub.now()).toISOString() };
  assert.deepEqual(await offersOf(carol), [{ ...listed, direction: 'received' }]);
  assert.deepEqual(await offersOf(bob), [{ ...listed, direction: 'sent' }]);
  for (const path of [`/api/sources/${id}`, `/api/posts/${post}`]) assert.equal((await carol.get(path)).status, 404);
  const { text } = await carol.page('/offers');
  assert.match(text, /Offered to you[^]*<span class="title"><span dir="auto">Diary<[^]*from <bdi>bob</);
  assert.doesNotMatch(text, /Monday|href="\/sources\/\d/);
  assert.match((await carol.page('/sources')).text, /Sources<\/span><span class="count" *>1[^]*You are offered 1 source\./);
  assert.match((await bob.page(`/sources/${id}`)).text, /Offered to <bdi>carol<[^]*action="\/offers\/1\/withdraw"/);
  assert.match((await bob.page('/settings/delete')).text, /Diary<\/a> <span class="state off">offered/);

  assert.deepEqual([await idsOf(ada), await answer(ada, 1, 'accept'), await answer(bob, 1, 'accept'), await answer(carol, 2, 'decline')],
    [[], 404, 404, 404], 'an offer is for its two accounts alone');
  assert.equal((await carol.delete('/api/offers/1')).status, 404);
  assert.equal((await bob.post(`/api/sources/${id}/transfer`, { username: 'carol' })).status, 409, 'one offer at a time');
});

test('an offer ends after 14 days: nobody can accept it any more, its sender is told, and its place is free', async (t) => {
  const { hub, bob, carol } = await hubWithThree(t);
  const id = await addNotes(bob);
  const offer = await offerTo(bob, id, 'carol');

  hub.passTime(14 * DAY - 1);
  assert.deepEqual(await idsOf(carol), [offer]);
  hub.passTime(1);
  assert.deepEqual([await idsOf(carol), await answer(carol, offer, 'accept')], [[], 410]);
  await hub.work();
  await hub.work();
  assert.deepEqual((await notificationTitles(bob))[0], 'The offer of “Notes” has expired without an answer');
  assert.equal((await notificationTitles(bob)).length, 2, 'it is told once');
  const again = await offerTo(bob, id, 'carol');
  assert.equal(await answer(carol, again, 'accept'), 204);
  assert.equal(ownerOf(hub, id), 3);
});

test('an offer lasts no longer because the clock was wrong, and is forgotten 90 days after its end', async (t) => {
  const { hub, bob, carol } = await hubWithThree(t);
  await offerTo(bob, await addNotes(bob), 'carol');
  await hub.work(-400 * DAY);
  assert.equal((await offersOf(carol))[0]?.expiresAt, new Date(hub.now() + 14 * DAY).toISOString());
  for (const [days, left] of [[14, 1], [89, 1], [2, 0]] as const) {
    await hub.work(days * DAY);
    assert.equal(countRows(hub, 'source_offers'), left);
  }
});

test('a sender has ten open offers at most, and each that ends makes room for another', async (t) => {
  const { bob, carol } = await hubWithThree(t);
  const made: number[] = [];
  for (let n = 0; n < 10; n++) made.push(await offerTo(bob, await addNotes(bob), 'carol'));
  const more = await addNotes(bob, 'More');

  const refused = await bob.post(`/api/sources/${more}/transfer`, { username: 'carol' });
  assert.deepEqual([refused.status, refused.json()['detail']], [422, 'You may have at most 10 open offers. Withdraw one, or wait.']);
  assert.match((await bob.form(`/sources/${more}/transfer`, { username: 'carol' })).text, /at most 10 open offers/);
  assert.equal((await carol.post(`/api/sources/${await addNotes(carol)}/transfer`, { username: 'bob' })).status, 202);

  assert.equal((await bob.delete(`/api/offers/${made[0]}`)).status, 204);
  assert.equal((await notificationTitles(carol)).filter((title) => title.endsWith('to you')).length, 9, 'her notification goes too');
  await offerTo(bob, more, 'carol');
  for (const how of ['accept', 'decline']) assert.equal(await answer(carol, made[0] ?? 0, how), 410);
  assert.equal((await bob.delete(`/api/offers/${made[0]}`)).status, 410);
  const page = (await itemsAt(carol, '/api/offers?limit=2')).length + (await carol.get('/api/offers?limit=2')).json<{ next: string }>().next;
  assert.match(page, /^2\S+/);
  assert.equal((await carol.form(`/offers/${made[1]}/decline`)).headers.get('location'), '/offers?said=offer-declined');
  assert.equal((await bob.form(`/offers/${made[2]}/withdraw`)).headers.get('location'), '/sources/3?said=offer-withdrawn');
  assert.deepEqual(await notificationTitles(bob, '?limit=1'), ['The offer of “Notes” was declined']);
});

test('who meets a limit by accepting is told which; the offer stays, and can be accepted once there is room', async (t) => {
  const { hub, ada, bob, carol } = await hubWithThree(t, { SOURCES_MAX: '1' });
  const [hers, his] = [await addNotes(carol), await addNotes(bob, 'His')];
  const offer = await offerTo(bob, his, 'carol');

  const refused = await carol.post(`/api/offers/${offer}/accept`);
  assert.deepEqual([refused.status, refused.json()['detail']],
    [422, 'An account may have at most 1 sources on this hub. Delete a source first.']);
  assert.match((await carol.form(`/offers/${offer}/accept`)).text, /role="alert">[^]*: An account may have at most 1 sources/);
  assert.deepEqual(await idsOf(carol), [offer]);
  await carol.delete(`/api/sources/${hers}`);
  const both = await Promise.all([answer(carol, offer, 'accept'), answer(carol, offer, 'accept')]);
  assert.deepEqual(both.toSorted(), [204, 410], 'two at once give it once');
  assert.deepEqual([ownerOf(hub, his), (await itemsAt(ada, '/api/admin/audit?act=source.transferred')).length], [3, 1]);
});

type Three = Awaited<ReturnType<typeof hubWithThree>> & { sourceId: number };
const govern = ({ hub, ada }: Three, id: number, change: object) =>
  ada.patch(`/api/admin/accounts/${id}`, { ...change, currentPassword: hub.password });

/** What ends an offer of Bob's source, which he or another administrator, Dan, has made to Carol. */
const ENDS: [how: string, by: 'bob' | 'dan', end: (three: Three, dan: Client) => Promise<{ status: number }>][] = [
  ['the source is deleted', 'bob', ({ bob, sourceId }) => bob.delete(`/api/sources/${sourceId}`)],
  ['the source is given to another', 'bob', ({ bob, sourceId }) => bob.post(`/api/sources/${sourceId}/transfer`, { username: 'ada' })],
  ['the sender is disabled', 'bob', (three) => govern(three, 2, { disabled: true })],
  ['the sender leaves', 'dan', ({ hub }, dan) => leave(hub, dan)],
  ['the sender is no longer an administrator', 'dan', (three) => govern(three, 4, { role: 'member' })],
  ['the receiver is disabled', 'bob', (three) => govern(three, 3, { disabled: true })],
  ['the receiver leaves', 'bob', ({ hub, carol }) => leave(hub, carol)],
];

test('an offer ends for good with its source, with either account, and with the right to give it away', async (t) => {
  for (const [how, by, end] of ENDS) {
    const three = await hubWithThree(t);
    const { hub, bob, carol } = three;
    const dan = await hub.person('dan');
    setAccount(hub, 'dan', { role: 'admin' });
    const sourceId = await addNotes(bob);
    const offer = await offerTo(by === 'bob' ? bob : dan, sourceId, 'carol');

    const { status, text } = await end({ ...three, sourceId }, dan) as Answer;
    assert.ok(status < 300, `${how}: ${text}`);
    await hub.work();
    for (const { username } of accounts(hub.handle).list(0, 10)) setAccount(hub, username, { disabledAt: null });
    assert.equal(countRows(hub, 'source_offers'), 0, how);
    assert.ok([410, 401].includes(await answer(carol, offer, 'accept')), how);
    assert.equal(sources(hub.handle).ownsAny(3), false, how);
    if (how === 'the source is deleted') assert.deepEqual(await notificationTitles(carol), [], 'its title is gone too');
  }
});

test('an administrator’s offer of another’s source is told to the owner, who may withdraw it', async (t) => {
  const { ada, bob, carol } = await hubWithThree(t);
  const id = await addNotes(bob);
  const offer = await offerTo(ada, id, 'carol');

  assert.match((await notificationTitles(bob)).join(), /“Notes” is offered to someone/);
  assert.equal((await bob.delete(`/api/offers/${offer}`)).status, 204);
  assert.deepEqual([await notificationTitles(carol), await idsOf(carol)], [[], []]);
  const acts = (await itemsAt<{ act: string; actor: object }>(ada, `/api/admin/audit?target=source:${id}`));
  assert.deepEqual(acts.map(({ act }) => act), ['source.offer-withdrawn', 'source.offered', 'source.created']);
  assert.deepEqual(acts[0]?.actor, { id: 2, name: 'bob' });
});

test('transfers take turns, so that not even an administrator is flooded', async (t) => {
  const { bob } = await hubWithThree(t);
  const statuses: number[] = [];
  for (let n = 0; n < 61; n++) {
    statuses.push((await bob.post(`/api/sources/${await addNotes(bob)}/transfer`, { username: 'ada' })).status);
  }
  assert.deepEqual(statuses, [...Array.from({ length: 60 }, () => 200), 429]);
});

test('an export has the title of an ended offer only for who may see the source', async (t) => {
  const { bob, carol } = await hubWithThree(t);
  const id = await addNotes(bob, 'Diary', 'private');
  await bob.post(`/api/sources/${id}/transfer`, { username: 'carol' });
  const titles = async (client: Client) => (await client.get('/api/account/export'))
    .json<{ offers: { source: { title: string | null } }[] }>().offers.map(({ source }) => source.title);
  assert.deepEqual([await titles(bob), await titles(carol)], [['Diary'], ['Diary']]);

  assert.equal(await answer(carol, 1, 'decline'), 204);
  assert.equal((await bob.patch(`/api/sources/${id}`, { title: 'Illness' })).status, 200);
  assert.deepEqual([await titles(bob), await titles(carol)], [['Illness'], [null]]);
  await bob.patch(`/api/sources/${id}`, { visibility: 'public' });
  assert.deepEqual(await titles(carol), ['Illness']);
});

test('an offer that is made just after another has expired is still told to its receiver when that one is ended', async (t) => {
  const { hub, bob, carol } = await hubWithThree(t);
  const dave = await hub.person('dave');
  const id = await addNotes(bob, 'Owls');
  await bob.post(`/api/sources/${id}/transfer`, { username: 'carol' });
  hub.passTime(14 * DAY + 1);
  assert.equal((await bob.post(`/api/sources/${id}/transfer`, { username: 'dave' })).status, 202);
  await hub.work();

  assert.ok((await notificationTitles(bob)).some((title) => title.includes('expired')));
  assert.deepEqual(await notificationTitles(dave), ['“Owls” is offered to you']);
  assert.deepEqual(await notificationTitles(carol), []);
});
