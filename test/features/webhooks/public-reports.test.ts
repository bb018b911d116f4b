// Protects what events of webhooks do, as public reports tell of senders: each signed event has its effect once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webTasks } from '../../../src/app/schedule.ts';
import { DAY, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { itemsAt } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { githubEvent, standardEvent, withHeader, type SignedEvent } from '../../support/signed-events.ts';
import { eventBody, makeWebhook, sendEvent, type Hook } from '../../support/webhooks.ts';

/** Rows that stay as they are, each with the reason; the answer is clear. */
const STAYS = {
  K05: 'Headers of Svix’s own names are no form that the hub’s pages name: 401, as for anything that is not signed.',
  K09: 'GitHub’s default form is a form field, not JSON: 415 says which type an event must have.',
  K16: 'The text that is signed is cut at full stops, so that an id with one could be read in two ways: 401.',
};

type World = { hub: Hub; ada: Client; hook: Hook };
type Send = { type?: string; id?: string; data?: object; at?: number; body?: string | Buffer; contentType?: string };

let sent = 0;

/** An event that happened `at` ms from now. */
function eventFor({ hub, hook }: World, { type = 'post.published', at = 0, data, body, id }: Send): SignedEvent {
  const said = body ?? eventBody(type, data ?? { id: 'x', title: 'Owls' }, hub.now() + at);
  return standardEvent(hook.secret, { id: id ?? `event_${sent++}`, timestamp: Math.floor(hub.now() / SECOND), body: said });
}

async function send(world: World, event: Send | SignedEvent): Promise<number> {
  const signed = 'rawHeaders' in event ? event : eventFor(world, event);
  const type = 'contentType' in event ? event.contentType : undefined;
  return (await sendEvent(world.hub.address, world.hook.id, signed, type)).status;
}

async function accepted(world: World, ...events: (Send | SignedEvent)[]): Promise<void> {
  for (const event of events) assert.equal(await send(world, event), 202);
}

async function titles({ ada, hook }: World): Promise<string[]> {
  return (await itemsAt<{ title: string }>(ada, `/api/posts?source=${hook.id}`)).map(({ title }) => title);
}

/** What the list of deliveries says of each, newest first. */
async function deliveries({ hub, ada, hook }: World): Promise<string[]> {
  await webTasks(hub.handle).find(({ name }) => name === 'note deliveries')?.run(new AbortController().signal);
  const { text } = await ada.page(`/sources/${hook.id}`);
  return Array.from(text.slice(text.indexOf(`class="runs"`)).matchAll(/<p><span class="state [^"]*">([^<]*)</g), ([, words = '']) => words);
}

const deleted: Send = { type: 'post.deleted', data: { id: 'x' } };
const [OUTDATED, AGAIN] = ['The event is outdated: a later change of the post had arrived before.',
  '1 new post. It had been deleted, and is published again.'];

const CASES: Record<string, (world: World) => Promise<unknown>> = {
  'K01 (Ghost#24333, Umbraco.Cloud#337): a post that was unpublished is published again': async (world) => {
    await accepted(world, { at: -3 }, { ...deleted, at: -2 }, { at: -1 });
    assert.deepEqual(await titles(world), ['Owls']);
    assert.deepEqual(await deliveries(world), [AGAIN, '1 post removed', '1 new post']);
  },
  'K01c: an earlier event that the deletion overtook publishes nothing': async (world) => {
    await accepted(world, { ...deleted, at: -2 }, { at: -3 });
    assert.deepEqual(await titles(world), []);
    assert.deepEqual(await deliveries(world), [OUTDATED, 'Nothing to change']);
  },
  'K01c: an event of before the deletion publishes nothing, even after a week': async (world) => {
    await accepted(world, { ...deleted, at: -2 * MINUTE });
    world.hub.passTime(8 * DAY);
    await world.hub.tick(); // forgets old events
    await accepted(world, { at: -9 * DAY });
    assert.deepEqual(await titles(world), []);
    assert.deepEqual((await deliveries(world))[0], OUTDATED);
  },
  'K01d: a later post.updated publishes what was deleted': async (world) => {
    await accepted(world, { at: -3 }, { ...deleted, at: -2 }, { type: 'post.updated', at: -1 });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K01d: an event of the same second as the deletion publishes, if it arrives later': async (world) => {
    await accepted(world, { at: -3 }, { ...deleted, at: -2 }, { at: -2 });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K01c: an earlier event publishes nothing, also where the sender’s clock is ahead': async (world) => {
    await accepted(world, { ...deleted, at: 2 * MINUTE }, { at: MINUTE });
    assert.deepEqual(await titles(world), []);
  },
  'K01d: a deletion before any event of the post is no reason against a later one': async (world) => {
    await accepted(world, { ...deleted, at: -2 }, { at: -1 }, { ...deleted, at: 0 });
    assert.deepEqual(await titles(world), []);
  },
  'K01d: a deletion that arrives after a later event changes nothing': async (world) => {
    await accepted(world, { at: -3 }, { at: -1 }, { ...deleted, at: -2 });
    assert.deepEqual(await titles(world), ['Owls']);
    assert.deepEqual((await deliveries(world))[0], OUTDATED);
  },
  'K01d: what its owner deleted here stays deleted, whatever happens later': async (world) => {
    await accepted(world, { at: -3 });
    const [post] = await itemsAt<{ id: number }>(world.ada, `/api/posts?source=${world.hook.id}`);
    assert.equal((await world.ada.delete(`/api/posts/${post?.id}`)).status, 204);
    await accepted(world, { at: -2 }, { ...deleted, at: -1 }, { at: 0 });
    assert.deepEqual(await titles(world), []);
    assert.deepEqual((await deliveries(world))[0], 'The post was deleted here, for good.');
  },
  'K01e: another id with the same address is another post': async (world) => {
    const data = (id: string) => ({ id, title: 'Owls', url: 'https://blog.example/owls' });
    await accepted(world, { data: data('x'), at: -3 }, { ...deleted, at: -2 }, { data: data('y'), at: -3 });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K01f: the list of deliveries says that an event was too late': async (world) => {
    await accepted(world, { at: -1 }, { at: -2 });
    assert.deepEqual(await deliveries(world), [OUTDATED, '1 new post']);
  },
  'K01g: the list of deliveries says that a post was removed': async (world) => {
    await accepted(world, { at: -3 }, { ...deleted, at: -2 });
    assert.deepEqual(await deliveries(world), ['1 post removed', '1 new post']);
  },
  'K02 (rcfox/Discourse#2): an update of an unknown post makes it': async (world) => {
    await accepted(world, { type: 'post.updated' });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K03 (strapi#9590): an id that comes twice counts once': async (world) => {
    await accepted(world, { id: 'once' }, { id: 'once', data: { id: 'y', title: 'Another' } });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K03b (strapi#9590): two deliveries of one post are one post': async (world) => {
    await accepted(world, {}, {});
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K04 (standard-webhooks#235): one good signature in a list of others is enough': async (world) => {
    const { rawHeaders, body } = eventFor(world, {});
    const listed = (value: string): string => `v1a,${'A'.repeat(88)} v1,${'A'.repeat(43)}= ${value}`;
    await accepted(world, { rawHeaders: withHeader(rawHeaders, 'webhook-signature', listed), body });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  [`K05 (nextly#227) stays: ${STAYS.K05}`]: async (world) => {
    const { rawHeaders, body } = eventFor(world, {});
    const svix = rawHeaders.map((text) => text.replace(/^webhook-/i, 'svix-'));
    assert.equal(await send(world, { rawHeaders: svix, body }), 401);
  },
  'K06: a time in milliseconds is not signed as the standard asks': async (world) => {
    const [now, body] = [world.hub.now(), eventBody('post.published', { id: 'x', title: 'Owls' }, world.hub.now())];
    assert.equal(await send(world, standardEvent(world.hook.secret, { timestamp: now, body })), 401);
  },
  'K07: a byte order mark before the JSON is read over': async (world) => {
    await accepted(world, { body: `\ufeff${eventBody('post.published', { id: 'x', title: 'Owls' }, world.hub.now())}` });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K08: GitHub’s ping is heard': async (world) => {
    const event = githubEvent(world.hook.secret, '{"zen":"Design for failure."}');
    event.rawHeaders.push('X-GitHub-Event', 'ping');
    await accepted(world, event);
  },
  [`K09 stays: ${STAYS.K09}`]: async (world) => {
    const event = { ...githubEvent(world.hook.secret, 'payload=%7B%7D'), contentType: 'application/x-www-form-urlencoded' };
    assert.equal(await send(world, event), 415);
  },
  'K10: an event without a time is refused': async (world) => {
    assert.equal(await send(world, { body: '{"type":"post.published","data":{"id":"x","title":"Owls"}}' }), 400);
  },
  'K11: a time with an offset and microseconds is read': async (world) => {
    const timestamp = '2030-01-15T13:00:00.123456+01:00';
    await accepted(world, { body: JSON.stringify({ type: 'post.published', timestamp, data: { id: 'x', title: 'Owls' } }) });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K12: a date that is a number, or only a day, is refused': async (world) => {
    for (const date_published of [1_800_000_000, '2026-03-14']) {
      assert.equal(await send(world, { data: { id: 'x', title: 'Owls', date_published } }), 400);
    }
  },
  'K13: members that are null are left out': async (world) => {
    const nothing = { url: null, summary: null, author: null, authors: null, tags: null, image: null, attachments: null };
    await accepted(world, { data: { id: 'x', title: null, content_text: 'Owls', ...nothing } });
    assert.deepEqual(await titles(world), ['Owls']);
  },
  'K14: JSON is taken with a charset too, and nothing else': async (world) => {
    await accepted(world, { ...eventFor(world, {}), contentType: 'application/json; charset=UTF-8' });
    assert.equal(await send(world, { ...eventFor(world, {}), contentType: 'text/plain' }), 415);
  },
  'K15: after a new secret the old one is good for a day': async (world) => {
    const before = eventFor(world, {});
    assert.equal((await world.ada.post(`/api/sources/${world.hook.id}/webhook/rotate`)).status, 200);
    await accepted(world, before);
  },
  [`K16 stays: ${STAYS.K16}`]: async (world) => {
    assert.equal(await send(world, { id: 'msg.2bX' }), 401);
  },
  'K17: types in other words are refused or change no post': async (world) => {
    assert.equal(await send(world, { type: 'post-published' }), 400);
    assert.equal(await send(world, { type: 'posts/created' }), 400);
    await accepted(world, { type: 'POST.PUBLISHED' });
    assert.deepEqual(await titles(world), []);
  },
  'K18: a relative address is refused with its place': async (world) => {
    const body = eventBody('post.published', { id: 'x', title: 'Owls', url: '/owls' }, world.hub.now());
    const { status, text } = await sendEvent(world.hub.address, world.hook.id, eventFor(world, { body }));
    assert.equal(status, 400);
    assert.match(text, /"\/data\/url"/);
  },
};

test('events of webhooks', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  for (const [name, run] of Object.entries(CASES)) {
    await t.test(name, async () => {
      hub.passTime(MINUTE); // sources are made at a limited rate
      await run({ hub, ada, hook: await makeWebhook(ada, 'Hook', 'private') });
    });
  }
});
