// Protects events as they become posts: made, changed and deleted as the last one says, and silence is noticed.
import assert from 'node:assert/strict';
import { Session, type Profiler } from 'node:inspector/promises';
import { test, type TestContext } from 'node:test';
import { receiveEvent, secretsOf } from '../../../src/features/webhooks/receive-event.ts';
import { webhooks } from '../../../src/features/webhooks/webhook-store.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { publicTitles } from '../../support/accounts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { rawConnection } from '../../support/raw-exchange.ts';
import { githubEvent, standardEvent } from '../../support/signed-events.ts';
import { eventBody, eventOf, hubWithWebhook, makeWebhook, metric, publish, sendEvent } from '../../support/webhooks.ts';

type Post = { id: number; title: string; contentHtml: string; url: string; attachments: { url: string }[] };

test('events make, change and delete posts, as items of feeds do: sanitised, searchable, with their files', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const posts = async (query = '') => (await ada.get(`/api/posts${query}`)).json<{ items: Post[] }>().items;

  await publish(hub, hook, 'post.published', {
    id: 'a', url: 'https://example.org/a', title: 'Owls', content_html: '<p onclick="x()">Barn <b>owls</b><script>1</script></p>',
    attachments: [{ url: 'https://example.org/owl.mp3', mime_type: 'audio/mpeg' }],
  });
  const [post] = await posts();
  assert.equal(post?.contentHtml, '<p>Barn <b>owls</b></p>');
  assert.equal(post?.url, 'https://example.org/a');
  assert.equal(post?.attachments.length, 1);

  await publish(hub, hook, 'post.updated', { id: 'a', title: 'Eagles', content_text: 'Golden & bald' });
  assert.deepEqual((await posts('?q=golden')).map(({ id, title }) => ({ id, title })), [{ id: post?.id, title: 'Eagles' }]);
  assert.deepEqual(await posts('?q=owls'), []);

  await publish(hub, hook, 'post.deleted', { id: 'a' });
  assert.deepEqual(await posts(), []);
  await publish(hub, hook, 'post.published', { id: 'a', title: 'Owls again' });
  assert.deepEqual((await posts()).map(({ title }) => title), ['Owls again']);
  assert.equal(await metric(hub, 'service_posts_ingested_total{kind="webhook"}'), 2);
});

test('a file that an event names twice is one, and goes when an update names it no more', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const file = { url: 'https://example.org/owl.mp3' };
  const urls = async () => (await ada.get('/api/posts')).json<{ items: Post[] }>().items[0]?.attachments.map(({ url }) => url);

  for (const title of ['first', 'second', 'third']) {
    await publish(hub, hook, 'post.updated', { id: 'a', title, attachments: [file, file] });
    assert.deepEqual(await urls(), [file.url], title);
  }
  await publish(hub, hook, 'post.updated', { id: 'a', title: 'without' });
  assert.deepEqual(await urls(), []);
});

test('of events of the same moment the one that arrives last counts', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const send = (type: string, title: string, at: number) => sendEvent(hub.address, hook.id, standardEvent(hook.secret, {
    id: `msg-${at}-${title.length}`, timestamp: Math.floor(hub.now() / SECOND), body: eventBody(type, { id: 'a', title }, at),
  }));

  assert.equal((await send('post.published', 'first', hub.now() - SECOND)).status, 202);
  assert.equal((await send('post.updated', 'same moment', hub.now() - SECOND)).status, 202);
  assert.deepEqual(await publicTitles(hub), ['same moment']);

  assert.equal((await send('post.deleted', 'at the same moment', hub.now() - SECOND)).status, 202);
  assert.deepEqual(await publicTitles(hub), []);
});

test('a signed event of another type counts as heard and makes no post, GitHub’s too', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  await publish(hub, hook, 'build.finished', { ok: true });
  for (const [index, name] of ['ping', 'push'].entries()) {
    const event = githubEvent(hook.secret, `{"zen":"Design for failure ${index}"}`, `delivery-${index}`);
    event.rawHeaders.push('X-GitHub-Event', name);
    assert.equal((await sendEvent(hub.address, hook.id, event)).status, 202);
  }

  assert.deepEqual(await publicTitles(hub), []);
  assert.equal(await metric(hub, 'service_webhook_events_total{result="accepted"}'), 3);
  assert.match((await ada.page(`/sources/${hook.id}/settings`)).text, /Last event<\/dt><dd><time datetime="2030-01-15T12:00:00/);

  const nameless = githubEvent(hook.secret, '{"zen":"no name"}', 'delivery-9');
  assert.equal((await sendEvent(hub.address, hook.id, nameless)).status, 400, 'without a name it has no type');
});

test('posts can be sent in GitHub’s form too, but not ones so old that a repeated one could not be told', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const send = (at: number, id: string) =>
    sendEvent(hub.address, hook.id, githubEvent(hook.secret, eventBody('post.published', { id, title: id }, at), id));

  assert.equal((await send(hub.now() - DAY, 'new')).status, 202);
  const old = await send(hub.now() - 8 * DAY, 'old');
  assert.equal(old.status, 400);
  assert.match(old.text, /"pointer":"\/timestamp"/);
  assert.deepEqual(await publicTitles(hub), ['new']);
});

test('what cannot be an event is refused with the status that says why', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const native = (await ada.post('/api/sources', { kind: 'native', title: 'Notes' })).json<{ id: number }>().id;
  const good = () => eventOf(hub, hook.secret, 'post.published', { id: 'x', title: 'X' });
  const signed = (body: string) => standardEvent(hook.secret, { id: 'm', timestamp: hub.now() / SECOND, body });
  const status = async (...sent: Parameters<typeof sendEvent>) => (await sendEvent(...sent)).status;

  assert.equal(await status(hub.address, 999, good()), 404);
  assert.equal(await status(hub.address, native, good()), 404, 'a source of another kind');
  assert.equal(await status(hub.address, 'x', good()), 404);
  assert.equal(await status(hub.address, hook.id, good(), 'text/plain'), 415);
  assert.equal(await status(hub.address, hook.id, good(), null), 415);
  assert.equal(await status(hub.address, hook.id, good(), 'application/cloudevents+json; charset=utf-8'), 202);
  const empty = eventBody('build.finished', { log: '' }, hub.now());
  const filled = empty.replace('"log":""', `"log":"${'x'.repeat(1024 * 1024 - empty.length)}"`);
  assert.equal(await status(hub.address, hook.id, signed(filled)), 202, 'exactly 1 MiB');
  assert.equal(await status(hub.address, hook.id, signed(`${filled} `)), 413);
  assert.equal(await status(hub.address, hook.id, signed('{"type"')), 400);
  assert.equal(await status(hub.address, hook.id, signed('{"type":"post.deleted"}')), 400);
  assert.equal((await hub.anybody.get(`/api/webhooks/${hook.id}`)).status, 405);
  assert.equal(await metric(hub, 'service_webhook_events_total{result="rejected"}'), 8);

  const raw = await rawConnection(hub.address);
  raw.write('POST /api/webhooks/999 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n');
  raw.write('Content-Length: 1000000\r\n\r\n');
  assert.equal((await raw.answer()).status, 404, 'before anything of the body has come');
  raw.socket.destroy();
});

test('a paused webhook tells its senders to stop, and a deleted one too, with nothing of it left', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const send = async () => {
    const event = eventOf(hub, hook.secret, 'post.published', { id: 'a', title: 'A' });
    return (await sendEvent(hub.address, hook.id, event)).status;
  };
  assert.equal(await send(), 202);

  await ada.patch(`/api/sources/${hook.id}`, { paused: true });
  assert.equal(await send(), 410);
  await ada.patch(`/api/sources/${hook.id}`, { paused: false });
  assert.equal(await send(), 202);

  await ada.delete(`/api/sources/${hook.id}`);
  assert.equal(await send(), 410);
  hub.passTime(MINUTE);
  assert.equal(await send(), 410);
  const tables = ['webhooks', 'webhook_events', 'posts', 'post_tombstones'];
  assert.deepEqual(tables.map((table) => countRows(hub, table)), [0, 0, 0, 0]);
});

test('a secret that is replaced twice while an event arrives slowly no longer signs it', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const { rawHeaders, body } = eventOf(hub, hook.secret, 'build.finished', {});
  const raw = await rawConnection(hub.address);
  const headers = ['Host', 'localhost', 'Content-Type', 'application/json', 'Content-Length', String(body.length),
    'Expect', '100-continue', ...rawHeaders];
  raw.write(`POST /api/webhooks/${hook.id} HTTP/1.1\r\n${headers.map((text, n) => text + (n % 2 ? '\r\n' : ': ')).join('')}\r\n`);
  assert.equal((await raw.answer()).status, 100); // Node says that before the request has its turn
  await hub.anybody.get('/api/nothing'); // one sender's requests begin in the order in which they came

  hub.passTime(2 * SECOND);
  for (let time = 0; time < 2; time++) await ada.post(`/api/sources/${hook.id}/webhook/rotate`);
  raw.write(body.toString());
  assert.equal((await raw.answer()).status, 401);
  raw.socket.destroy();
});

test('a source has a rate limit of its own: 429 with Retry-After, and the event comes in when it is sent again', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const other = await makeWebhook(ada, 'Other');
  const nearlyFull = hub.now() + 10_000 * 10 - 5;
  webhooks(hub.handle).noteEvents(hook.id, hub.now(), nearlyFull);
  const event = eventOf(hub, hook.secret, 'post.published', { id: 'a', title: 'A' });

  const refused = await sendEvent(hub.address, hook.id, event);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers['retry-after'], '1');
  await publish(hub, other, 'build.finished', {});
  hub.passTime(SECOND);
  assert.equal((await sendEvent(hub.address, hook.id, event)).status, 202);
  assert.deepEqual(await publicTitles(hub), ['A']);
});

test('a webhook that is not heard for more than 7 days is silent, its owner is told once, and an event ends it', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const notices = async () => (await ada.get('/api/notifications')).json<{ items: { kind: string; count: number }[] }>()
    .items.reduce((sum, { kind, count }) => sum + (kind === 'webhook.silent' ? count : 0), 0);
  const silent = () => metric(hub, 'service_webhooks{state="silent"}');

  await hub.work(7 * DAY);
  assert.equal(await silent(), 0, '7 days are not more than 7 days');
  await hub.work(HOUR);
  assert.equal(await silent(), 1);
  assert.equal(await notices(), 1);
  for (let day = 0; day < 3; day++) {
    await hub.work(DAY);
  }
  assert.equal(await notices(), 1);

  await publish(hub, hook, 'build.finished', {});
  assert.equal(await silent(), 0);
  await hub.work(7 * DAY + HOUR);
  assert.equal(await silent(), 1);
  assert.equal(await notices(), 2);
});

test('a refused event, a repeated one or a pause does not make a webhook heard; a resumed one has a week again', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const event = eventOf(hub, hook.secret, 'build.finished', {});
  await sendEvent(hub.address, hook.id, event);
  hub.passTime(4 * MINUTE);
  assert.equal((await sendEvent(hub.address, hook.id, event)).status, 202);
  await sendEvent(hub.address, hook.id, { ...event, body: Buffer.from('{}') });
  assert.equal(webhooks(hub.handle).find(hook.id)?.lastEventAt, hub.now() - 4 * MINUTE);

  await ada.patch(`/api/sources/${hook.id}`, { paused: true });
  await hub.work(30 * DAY);
  assert.equal(await metric(hub, 'service_webhooks{state="silent"}'), 0, 'a paused one is not silent');
  await ada.patch(`/api/sources/${hook.id}`, { paused: false });
  await hub.work(7 * DAY);
  assert.equal(await metric(hub, 'service_webhooks{state="silent"}'), 0);
});

test('a clock that was ahead when an event came does not hide a silence for as long', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  hub.passTime(300 * DAY);
  await publish(hub, hook, 'build.finished', {});
  await hub.work(-300 * DAY);
  await hub.work(7 * DAY + HOUR);

  assert.equal(await metric(hub, 'service_webhooks{state="silent"}'), 1);
});

test('ids of events are forgotten after 7 days, and those of younger ones are not', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const count = () => countRows(hub, 'webhook_events');
  await publish(hub, hook, 'build.finished', {});
  hub.passTime(6 * DAY);
  await publish(hub, hook, 'build.finished', {});
  await hub.work();
  assert.equal(count(), 2);
  await hub.work(DAY + HOUR);
  assert.equal(count(), 1);
});

/** How often a function of that file has been called since; Node itself counts, so that nothing is put in its place. */
async function countCalls(t: TestContext, file: string, functionName: string): Promise<() => Promise<number>> {
  const session = new Session();
  session.connect();
  t.after(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let calls = 0;

  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage'); // counts begin anew each time
    const script = result.find(({ url }: Profiler.ScriptCoverage) => url.endsWith(file));
    const found = script?.functions.find((one: Profiler.FunctionCoverage) => one.functionName === functionName);
    calls += found?.ranges[0]?.count ?? 0;
    return calls;
  };
}

test('a long post that is repeated or beyond the rate limit is not sanitised first', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const prepared = await countCalls(t, '/posts/ingest-posts.ts', 'hashOf');
  const content_html = 'long '.repeat(1_000);
  const first = eventOf(hub, hook.secret, 'post.published', { id: 'a', title: 'A', content_html });
  const receive = ({ rawHeaders, body }: typeof first): Promise<void> =>
    receiveEvent(hub.handle, { sourceId: hook.id, secrets: secretsOf(hub.handle, hook.id), rawHeaders, body, headerType: null });

  for (let time = 0; time < 3; time++) await receive(first);
  assert.equal(await prepared(), 1);
  webhooks(hub.handle).noteEvents(hook.id, hub.now(), hub.now() + 10_000 * 10);
  await receive(first);
  const second = eventOf(hub, hook.secret, 'post.published', { id: 'b', title: 'B', content_html });
  await assert.rejects(receive(second), { status: 429 });
  assert.equal(await prepared(), 1);
  webhooks(hub.handle).noteEvents(hook.id, hub.now(), hub.now() + 20_000 * 10);
  await receive(second);
  assert.equal(await prepared(), 2, 'what a clock ahead has left is no limit');
});
