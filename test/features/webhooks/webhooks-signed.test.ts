// Protects webhooks from forged and replayed events, and their secrets through rotation and sealing.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { auditRecords } from '../../../src/features/audit/audit-store.ts';
import { webhooks } from '../../../src/features/webhooks/webhook-store.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { publicTitles } from '../../support/accounts.ts';
import type { Hub } from '../../support/hub.ts';
import { randomBelow } from '../../support/random.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';
import { githubEvent, mutate, standardEvent, withHeader } from '../../support/signed-events.ts';
import { eventBody, eventOf, hubWithWebhook, metric, publish, sendEvent } from '../../support/webhooks.ts';

function watchWrites(t: TestContext, hub: Hub): () => boolean {
  const reader = openDatabase(hub.config.databasePath, { readonly: true });
  t.after(() => reader.close());
  const before = reader.pragma('data_version');
  return () => reader.pragma('data_version') !== before;
}

test('1,000 mutated signatures, headers and bodies are refused with one answer, and nothing is written', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const below = randomBelow(5);
  const hasWritten = watchWrites(t, hub);
  const answers = new Set<string>();

  for (let n = 0; n < 1_000; n++) {
    const body = eventBody('post.published', { id: `${n}`, title: 'Forged' }, hub.now());
    const event = n % 3 === 0 ? githubEvent(hook.secret, body, `delivery-${n}`)
      : standardEvent(hook.secret, { timestamp: hub.now() / 1_000, body });
    const mutated = mutate(event, below);
    const { status, text } = await sendEvent(hub.address, hook.id, mutated);
    answers.add(`${status} ${text}`);
    assert.equal(status, 401, JSON.stringify(mutated.rawHeaders));
  }

  assert.equal(answers.size, 1);
  assert.equal(hasWritten(), false);
  assert.deepEqual(await publicTitles(hub), []);
});

test('an event that is sent again is answered as before and changes nothing', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const event = eventOf(hub, hook.secret, 'post.published', { id: 'a', title: 'A' });
  const first = await sendEvent(hub.address, hook.id, event);
  await publish(hub, hook, 'post.updated', { id: 'a', title: 'B' });
  const hasWritten = watchWrites(t, hub);

  for (let n = 0; n < 20; n++) {
    hub.passTime(10_000);
    const again = await sendEvent(hub.address, hook.id, event);
    assert.deepEqual([again.status, again.text], [first.status, first.text]);
  }
  const sameId = standardEvent(hook.secret, {
    id: 'msg_same', timestamp: hub.now() / 1_000, body: eventBody('post.updated', { id: 'a', title: 'C' }, hub.now()),
  });
  assert.equal(hasWritten(), false);
  await sendEvent(hub.address, hook.id, sameId);
  const other = standardEvent(hook.secret, {
    id: 'msg_same', timestamp: hub.now() / 1_000, body: eventBody('post.updated', { id: 'a', title: 'D' }, hub.now()),
  });
  assert.equal((await sendEvent(hub.address, hook.id, other)).status, 202);

  assert.deepEqual(await publicTitles(hub), ['C']);
  assert.equal(await metric(hub, 'service_webhook_events_total{result="accepted"}'), 3);
  assert.equal(await metric(hub, 'service_webhook_events_total{result="duplicate"}'), 21);
});

test('in GitHub’s form, which does not sign the id, the same body under another id changes nothing either', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const body = (title: string): string => eventBody('post.updated', { id: 'a', title }, hub.now());
  const overheard = githubEvent(hook.secret, body('A'), 'one');
  assert.equal((await sendEvent(hub.address, hook.id, overheard)).status, 202);
  assert.equal((await sendEvent(hub.address, hook.id, githubEvent(hook.secret, body('B'), 'two'))).status, 202);
  const hasWritten = watchWrites(t, hub);

  for (let n = 0; n < 10; n++) {
    const headers = withHeader(overheard.rawHeaders, 'x-github-delivery', () => `other-${n}`);
    assert.equal((await sendEvent(hub.address, hook.id, { ...overheard, rawHeaders: headers })).status, 202);
  }

  assert.equal(hasWritten(), false);
  assert.deepEqual(await publicTitles(hub), ['B']);
});

test('an overheard event is refused once five minutes have passed, by either clock', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const event = eventOf(hub, hook.secret, 'build.finished', {});
  hub.passTime(5 * MINUTE + 1_000);
  assert.equal((await sendEvent(hub.address, hook.id, event)).status, 401);
  hub.passTime(-11 * MINUTE);
  assert.equal((await sendEvent(hub.address, hook.id, event)).status, 401);
  hub.passTime(2 * MINUTE);
  assert.equal((await sendEvent(hub.address, hook.id, event)).status, 202);
});

test('after a rotation both secrets are valid for 24 hours, and never more than two', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const rotate = async (): Promise<string> =>
    (await ada.post(`/api/sources/${hook.id}/webhook/rotate`)).json<{ webhook: { secret: string } }>().webhook.secret;
  const status = async (secret: string): Promise<number> =>
    (await sendEvent(hub.address, hook.id, eventOf(hub, secret, 'build.finished', {}))).status;

  assert.equal(await status(hook.secret), 202);
  const second = await rotate();
  assert.deepEqual([await status(hook.secret), await status(second)], [202, 202]);
  const third = await rotate();
  assert.deepEqual([await status(hook.secret), await status(second), await status(third)], [401, 202, 202]);
  hub.passTime(DAY - MINUTE);
  assert.deepEqual([await status(second), await status(third)], [202, 202]);
  hub.passTime(MINUTE);
  assert.deepEqual([await status(second), await status(third)], [401, 202]);

  await hub.work();
  assert.equal(webhooks(hub.handle).secrets(hook.id)?.previousSecret, null, 'a secret that is not valid any more is not kept');
});

test('a new secret and a pause hold from the next event on, also just after refused events', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const status = async (secret: string): Promise<number> =>
    (await sendEvent(hub.address, hook.id, eventOf(hub, secret, 'build.finished', {}))).status;
  const forged = `whsec_${randomBytes(24).toString('base64')}`;

  assert.equal(await status(forged), 401);
  const rotated = await ada.post(`/api/sources/${hook.id}/webhook/rotate`);
  const { secret } = rotated.json<{ webhook: { secret: string } }>().webhook;
  assert.equal(await status(secret), 202);
  assert.equal(await status(forged), 401);
  await ada.patch(`/api/sources/${hook.id}`, { paused: true });
  assert.equal(await status(forged), 410);
});

test('a clock set back does not make a replaced secret valid for longer', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  hub.passTime(10 * DAY);
  await ada.post(`/api/sources/${hook.id}/webhook/rotate`);
  hub.passTime(-10 * DAY);

  assert.equal((await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, 'a', {}))).status, 401);
});

test('a clock set right by a few minutes after a rotation neither ends the old secret nor makes it last', async (t) => {
  for (const { ahead, answer } of [{ ahead: 5 * MINUTE, answer: 202 }, { ahead: 6 * MINUTE, answer: 401 }]) {
    const { hub, ada, hook } = await hubWithWebhook(t);
    const status = async (): Promise<number> => {
      hub.passTime(2_000); // secrets are read once a second
      return (await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, 'a', {}))).status;
    };
    const rotatedAt = hub.now();
    hub.passTime(ahead);
    await ada.post(`/api/sources/${hook.id}/webhook/rotate`);
    assert.equal(await status(), 202);
    hub.passTime(rotatedAt - hub.now());
    await hub.work(); // forgets what is valid no longer
    assert.equal(await status(), answer, `${ahead / MINUTE} minutes ahead`);

    hub.passTime(rotatedAt + DAY + ahead - 4_000 - hub.now());
    assert.equal(await status(), answer);
    hub.passTime(2_000);
    assert.equal(await status(), 401, 'no longer than was promised, by the clock of the rotation');
  }
});

test('only those who may change a source get a new secret, and an audit record tells of it without the secret', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const bob = await hub.person('bob');
  const path = `/api/sources/${hook.id}/webhook/rotate`;

  assert.equal((await bob.post(path)).status, 403);
  const rotated = await ada.post(path);
  const { secret } = rotated.json<{ webhook: { secret: string } }>().webhook;

  const byForm = await ada.form(`/sources/${hook.id}/webhook/rotate`);
  assert.match(byForm.text, /whsec_[A-Za-z0-9+/=]+/, 'the new secret is shown');
  for (const { headers } of [rotated, byForm]) assert.equal(headers.get('cache-control'), 'no-store');
  const acts = auditRecords(hub.handle).list({}, undefined, 100);
  assert.ok(acts.some(({ act }) => act === 'webhook.rotated'));
  const told = JSON.stringify(acts) + JSON.stringify(hub.logged());
  for (const one of [hook.secret, secret]) assert.equal(told.includes(one), false);
  for (const shown of [await ada.get(`/api/sources/${hook.id}`), await ada.page(`/sources/${hook.id}`)]) {
    assert.equal(shown.text.includes(secret), false, 'a secret is shown once');
  }
});

function databaseBytes(hub: Hub): string {
  const files = [hub.config.databasePath, `${hub.config.databasePath}-wal`].filter((path) => existsSync(path));
  return files.map((path) => readFileSync(path, 'latin1')).join('');
}

function keyFile(t: TestContext): string {
  const folder = temporaryFolder(t);
  writeFiles(folder, { key: randomBytes(32).toString('hex') });
  return join(folder, 'key');
}

test('with a key file no secret stands in the database, rotated ones neither; without one it does', async (t) => {
  const sealed = await hubWithWebhook(t, { HUB_SECRET_KEY_FILE: keyFile(t) });
  const rotated = await sealed.ada.post(`/api/sources/${sealed.hook.id}/webhook/rotate`);
  const second = rotated.json<{ webhook: { secret: string } }>().webhook.secret;
  await publish(sealed.hub, sealed.hook, 'build.finished', {});
  await publish(sealed.hub, { ...sealed.hook, secret: second }, 'build.finished', {});

  for (const secret of [sealed.hook.secret, second]) {
    assert.equal(databaseBytes(sealed.hub).includes(secret.slice('whsec_'.length)), false);
  }
  const plain = await hubWithWebhook(t);
  assert.equal(databaseBytes(plain.hub).includes(plain.hook.secret), true, 'the search finds what is there');
});

test('secrets from before there was a key are sealed by the worker and stay valid', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t, { HUB_SECRET_KEY_FILE: keyFile(t) });
  await ada.post(`/api/sources/${hook.id}/webhook/rotate`);
  const plain = `plain:${hook.secret}`;
  webhooks(hub.handle).replaceSecrets({ sourceId: hook.id, secret: plain, previousSecret: plain });
  hub.db.pragma('wal_checkpoint(TRUNCATE)');
  assert.ok(readFileSync(join(hub.dataDir, 'hub.db')).includes(hook.secret), 'it was in the file');
  await hub.work(HOUR);

  const { secret, previousSecret } = webhooks(hub.handle).secrets(hook.id) ?? {};
  for (const sealed of [secret, previousSecret]) assert.match(sealed ?? '', /^aes-256-gcm-v1:/);
  hub.db.pragma('wal_checkpoint(TRUNCATE)');
  assert.equal(readFileSync(join(hub.dataDir, 'hub.db')).includes(hook.secret), false, 'nothing is left in the file');
  await publish(hub, hook, 'build.finished', {});
});

test('sealed secrets without their key are no reason to refuse an event for good: 503, and the log says why', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  webhooks(hub.handle).replaceSecrets({ sourceId: hook.id, secret: 'aes-256-gcm-v1:AAAA', previousSecret: null });
  const answer = await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, 'a', {}));

  assert.equal(answer.status, 503);
  assert.ok(answer.headers['retry-after']);
  const [line] = hub.logged().filter(({ event }) => event === 'webhook secrets cannot be read');
  assert.match(String(line?.['error']), /HUB_SECRET_KEY_FILE/);
});
