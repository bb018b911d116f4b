// Protects search: scripts of all kinds are found, and the index itself keeps what is private from others' searches.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addNotes, addPost, foundTitles, giveTo } from '../../support/accounts.ts';
import { addPosts, indexedWords, indexPosts, storedPosts } from '../../support/stored-posts.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import type { Client } from '../../support/client.ts';
import type { Hub } from '../../support/hub.ts';

/** How many posts each term that begins with these letters leads to, and those of private posts by their owner. */
function indexed(hub: Hub, word: string): { open: number; owners: Record<number, number> } {
  const all = indexedWords(hub);
  const owners = all.flatMap(({ word: marked, posts }) => {
    const [, owner, rest] = marked.split('\ue000');
    return rest === word ? [[parseInt(owner ?? '', 36), posts] as const] : [];
  });
  return { open: all.find((one) => one.word === word)?.posts ?? 0, owners: Object.fromEntries(owners) };
}

const TEXTS = {
  Chinese: '东京都庁舎的展望台免费。RSS订阅号ABC',
  Japanese: 'カ\u3099ラスのコーヒーとｶﾞﾗｽ、人々',
  Korean: '서울특별시의 날씨',
  Thai: 'ที่นี่มีแมว',
  Hindi: 'हिन्दी में लिखा',
  Greek: 'Ελλάδα ωραία ΐ',
  Latin: 'ＦＵＬＬ width, ﬁne Über x²',
  German: 'Die Straße am Fluß',
  Shouted: 'IN DER STRASSE',
  Weather: '東京都の天気は晴れです',
  Emoji: 'party🎉 at 👩🏽‍🚀, I ❤️ 🇨🇭 and 🥹',
  Arabic: 'مُحَمَّد',
  Water: 'low water mark; a ferry',
  Ferry: 'a low ferry over the water',
};

const CASES: [typed: string, found: string[]][] = [
  ['京都', ['Chinese', 'Weather']], ['都庁', ['Chinese']], ['京都庁', ['Chinese']], ['東京', ['Weather']], ['東都', []], ['京展', []], ['台免费', ['Chinese']],
  ['号', ['Chinese']], ['订阅', ['Chinese']], ['RSS订', ['Chinese']], ['rss订阅号abc', ['Chinese']], ['号ABC', ['Chinese']],
  ['阅ABC', []], ['"展望台 免费"', []], ['ガラス', ['Japanese']], ['がらす', []], ['コーヒー', ['Japanese']], ['ヒー', ['Japanese']],
  ['ー', ['Japanese']], ['々', ['Japanese']], ['특별', ['Korean']], ['날', ['Korean']], ['시의 날씨', ['Korean']],
  ['นี่มี', ['Thai']], ['แมว', ['Thai']], ['หมา', []], ['हिन्दी', ['Hindi']], ['"ह"', []], ['ελλαδα', ['Greek']],
  ['ΕΛΛΆΔΑ', ['Greek']], ['ωραια', ['Greek']], ['full', ['Latin']], ['ｆｕｌｌ', ['Latin']], ['fine', ['Latin']],
  ['uber', ['Latin']], ['x2', ['Latin']],
  ['strasse', ['German', 'Shouted']], ['Straße', ['German', 'Shouted']], ['fluss', ['German']], ['天気', ['Weather']],
  ['🎉', ['Emoji']], ['party🎉', ['Emoji']], ['👩', ['Emoji']], ['👩🏽‍🚀', ['Emoji']], ['❤', ['Emoji']], ['🇨🇭', ['Emoji']],
  ['🇩🇪', []], ['🥹', ['Emoji']], ['-🎉 party', []], ['محمد', ['Arabic']],
  ['low water', ['Ferry', 'Water']], ['"low water"', ['Water']], ['“low water”', ['Water']], ['low -mark', ['Ferry']],
  ['low -"low water"', ['Ferry']], ['fer* low', ['Ferry', 'Water']], ['fer low', []], ['low -mar*', ['Ferry']],
  ['low -mar', ['Ferry', 'Water']], ['-mark', []], ['low -', ['Ferry', 'Water']], ['天気 -東京', []], ['low-water', ['Water']],
];

for (const visibility of ['public', 'private']) {
  test(`${visibility} posts in scripts with and without spaces are found by any part, however written`, async (t) => {
    const { ada, sourceId } = await hubWithOwnPosts(t, {}, visibility);
    for (const [title, content] of Object.entries(TEXTS)) await addPost(ada, sourceId, title, content);

    for (const [typed, found] of CASES) {
      assert.deepEqual(await foundTitles(ada, typed), found, typed);
      assert.deepEqual(await foundTitles(ada, typed, `&source=${sourceId}`), found, typed);
    }
  });
}

test('the index holds words of private posts under their owner only, however they are written', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const [ben, eve] = [await hub.person('ben'), await hub.person('eve')];
  const bens = await addNotes(ben, 'Notes', 'private');
  await addPost(ada, sourceId, 'Open', 'an owl');
  for (const title of ['One', 'Two', 'Three']) await addPost(ben, bens, title, 'an owl');

  assert.deepEqual(indexed(hub, 'owl'), { open: 1, owners: { 2: 3 } });
  assert.deepEqual(await foundTitles(eve, 'owl'), ['Open']);
  assert.deepEqual(await foundTitles(ben, 'owl'), ['One', 'Open', 'Three', 'Two']);
  assert.deepEqual(await foundTitles(ada, 'owl', `&source=${bens}`), ['One', 'Three', 'Two'], 'administrators see sources');
  for (const typed of ['\ue0002\ue000owl', '"\ue0002\ue000owl"']) assert.deepEqual(await foundTitles(eve, typed), [], typed);
  await addPost(ada, sourceId, 'Forged', '\ue0002\ue000newt');
  assert.deepEqual(await foundTitles(eve, 'newt'), ['Forged'], 'no text can pretend to be private');
});

test('what becomes private, public or another’s is found by its new readers and by nobody else', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  await addPost(ada, sourceId, 'Post', 'an owl');
  const path = `/api/sources/${sourceId}`;
  const everybody = () => Promise.all([ada, ben, hub.anybody].map((client) => foundTitles(client, 'owl')));

  await ada.patch(path, { visibility: 'private' });
  assert.deepEqual(await everybody(), [['Post'], [], []]);
  assert.deepEqual(indexed(hub, 'owl'), { open: 0, owners: { 1: 1 } });
  await giveTo(ada, sourceId, 'ben', ben);
  assert.deepEqual(await everybody(), [[], ['Post'], []]);
  assert.deepEqual(indexed(hub, 'owl'), { open: 0, owners: { 2: 1 } });
  await ben.patch(path, { visibility: 'public' });
  assert.deepEqual(await everybody(), [['Post'], ['Post'], ['Post']]);
  assert.deepEqual(indexed(hub, 'owl'), { open: 1, owners: {} });
});

test('a large source changes its readers at once, and its posts follow in steps that a stop only puts off', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const [ben, path] = [await hub.person('ben'), `/api/sources/${sourceId}`];
  addPosts(hub, sourceId, 300, () => ({ title: 'Old', content: 'an owl' }));
  indexPosts(hub.handle, 'an owl');
  const shown = async (client: Client) => (await foundTitles(client, '')).length;

  await ada.patch(path, { visibility: 'private' });
  assert.equal(storedPosts(hub).filter(({ isPublic }) => isPublic === 1).length, 250, 'the newest ones at once');
  assert.deepEqual([await shown(hub.anybody), await shown(ben)], [0, 0], 'nobody sees what does not follow yet');
  assert.deepEqual([await foundTitles(ben, 'owl'), (await foundTitles(ada, 'owl')).length], [[], 30], 'nor finds it');
  assert.equal((await ben.get('/api/posts/1')).status, 404);
  assert.equal(await shown(ada), 30, 'a page of those that follow');
  assert.equal((await ada.get('/api/posts/1')).status, 200);
  await giveTo(ada, sourceId, 'ben', ben);
  assert.deepEqual([await shown(ada), await shown(ben), await shown(hub.anybody)], [0, 30, 0]);
  await hub.work();
  assert.equal(storedPosts(hub).filter(({ isPublic, ownerId }) => isPublic === 0 && ownerId === 2).length, 300);
  assert.deepEqual(indexed(hub, 'owl'), { open: 0, owners: { 2: 300 } });
  assert.deepEqual([await shown(ada), await shown(ben), await shown(hub.anybody)], [0, 30, 0]);
});
