import assert from 'node:assert/strict';
import { HOUR } from '../../src/platform/clock.ts';
import type { Made, Used } from './used-api.ts';

/** Posts that are shown, published later, joined, muted and taken back, by rules and searches of their readers. */
export async function useRules(used: Used): Promise<void> {
  const { hub, api, ada, bob, call } = used;
  const addPond = async (title: string): Promise<number> => {
    const { id } = (await api.ask(ada, 'POST /api/sources', { body: { kind: 'native', title } })).json<Made>();
    await api.ask(bob, 'PUT /api/sources/{id}/follow', { id, body: { folder: 'Ponds' } });
    return id;
  };
  const [sourceId, other] = [await addPond('Toads'), await addPond('Newts')];
  await call(bob, 'POST /api/preview', { body: { content: '*Hoot*', contentType: 'text/markdown' } });
  const later = { title: 'Later', content: 'Croak', contentType: 'text/plain', url: null };
  await call(ada, 'POST /api/posts', { body: { sourceId, ...later, publishAt: new Date(hub.now() + HOUR).toISOString() } });
  await keepRules(used, sourceId);
  const link = { content: 'Croak', url: 'https://a.test/croak' };
  const toad = (await api.ask(ada, 'POST /api/posts', { body: { sourceId, title: 'Toad', ...link } })).json<Made>();
  await call(bob, 'POST /api/rules/preview', { body: { match: 'toad', sourceId: null, folder: 'Ponds' } });
  const newt = (await api.ask(ada, 'POST /api/posts', { body: { sourceId: other, title: 'Newt', ...link } })).json<Made>();
  await api.ask(bob, 'GET /api/posts/{id}', { id: toad.id });
  await call(bob, 'GET /api/searches');
  await takeBack(used, toad.id, newt.id);
  await call(bob, 'GET /api/account/export');
  await removeRules(used);
}

/** Bob's searches and rules, also imported; one rule mutes newts. */
async function keepRules({ api, bob, call }: Used, sourceId: number): Promise<void> {
  await call(bob, 'POST /api/searches', { body: { q: 'croak', name: 'Croaks' } });
  assert.equal((await api.ask(bob, 'POST /api/searches', { body: { q: 'toad OR is:unread' } })).status, 422);
  const rule = { match: 'toad', act: 'star', sourceId, folder: null };
  const { id } = (await call(bob, 'POST /api/rules', { body: rule })).made;
  await call(bob, 'PATCH /api/rules/{id}', { id, body: { ...rule, match: 'toads' } });
  const searches = [{ q: 'newt', name: 'Newts' }];
  const rules = [{ match: 'newt', act: 'mute', sourceId: null, folder: 'Ponds' }];
  const imported = await call(bob, 'POST /api/rules/import', { body: { rules, searches } });
  assert.deepEqual(imported.json(), { rules: 1, searches: 1, leftOut: 0 });
  await call(bob, 'GET /api/rules');
}

/** Bob has starred a post that Ada makes a draft again; the post `changed` has a draft of a change. */
async function takeBack({ api, ada, bob, call }: Used, id: number, changed: number): Promise<void> {
  assert.equal((await api.ask(bob, 'PUT /api/posts/{id}/star', { id })).status, 204);
  await call(ada, 'POST /api/posts/{id}/withdraw', { id });
  assert.equal((await ada.post(`/posts/${changed}/edit/draft`, { title: 'Newts' })).status, 200);
  assert.equal((await api.ask(ada, 'POST /api/posts/{id}/withdraw', { id: changed })).status, 409);
}

async function removeRules({ bob, call }: Used): Promise<void> {
  for (const list of ['rules', 'searches']) {
    const { items } = (await call(bob, `GET /api/${list}`)).made;
    for (const { id } of items) await call(bob, `DELETE /api/${list}/{id}`, { id });
  }
}
