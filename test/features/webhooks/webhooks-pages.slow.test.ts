// Protects the pages of webhooks: their state, their secrets shown once, and an example that works.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { DAY, HOUR } from '../../../src/platform/clock.ts';
import { createClient } from '../../support/client.ts';
import { runProgram, type Outcome } from '../../support/run-program.ts';
import { unescaped } from '../../support/sanitized-markup.ts';
import { requireTool } from '../../support/tools.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { hubWithWebhook, makeWebhook, publish } from '../../support/webhooks.ts';

function exampleOn(page: string): string {
  return unescaped(/<pre><code>([^]*?)<\/code><\/pre>/.exec(page)?.[1] ?? assert.fail('the page shows no example'));
}

function inShell(t: TestContext, commands: string): Promise<Outcome> | undefined {
  if (!['curl', 'openssl'].every((tool) => requireTool(t, tool))) return undefined;
  return runProgram('/bin/sh', ['-eu', '-c', commands], { env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' } });
}

async function joinedClient(address: string, setUpLink: string) {
  const client = createClient(address);
  const invitation = setUpLink.split('/').at(-1);
  const joined = await client.post('/api/accounts', { invitation, username: 'ada', password: 'correct horse battery' });
  assert.equal(joined.status, 201, joined.text);
  return client;
}

test('the example on the page makes a post when it is run in a shell', async (t) => {
  const hub = startHubProcess(t, 'start', temporaryDataDir(t));
  const address = await hub.address();
  await waitUntil('the link is printed', () => hub.stdout().includes('/join/'));
  const link = /http\S+\/join\/\S+/.exec(hub.stdout())?.[0] ?? '';
  const ada = await joinedClient(address, link);
  const made = await ada.form('/sources', { kind: 'webhook', title: 'Deployments' });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.get('cache-control'), 'no-store');

  const commands = exampleOn(made.text).replace(/^url=.*$/m, `url='${address}/api/webhooks/1'`);
  const outcome = await inShell(t, commands);
  if (!outcome) return;
  assert.deepEqual(outcome, { status: 0, stdout: '{"accepted":true}', stderr: '' });
  const { items } = (await createClient(address).get('/api/posts')).json<{ items: { title: string; summary: string }[] }>();
  assert.deepEqual(items.map(({ title, summary }) => ({ title, summary })), [{ title: 'Hello', summary: 'It works.' }]);

  const forged = commands.replace(/secret='whsec_..../, 'secret=\'whsec_AAAA');
  assert.match((await inShell(t, forged))?.stdout ?? '', /"status":401/);
});

test('administrators see all webhooks and which are heard, by the API and on a page, and never a secret', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const quiet = await makeWebhook(await hub.person('bob'), 'Quiet', 'private');
  const paused = await makeWebhook(ada, 'Paused');
  await ada.patch(`/api/sources/${paused.id}`, { paused: true });
  hub.passTime(7 * DAY + HOUR);
  await publish(hub, hook, 'build.finished', {});
  await hub.work();

  const list = await ada.get('/api/admin/webhooks?limit=2');
  const { items, next } = list.json<{ items: Record<string, unknown>[]; next: string }>();
  const rest = (await ada.get(`/api/admin/webhooks?limit=2&cursor=${next}`)).json<{ items: Record<string, unknown>[] }>();
  assert.deepEqual([...items, ...rest.items].map(({ source, ownerId, state, lastEventAt }) => ({ source, ownerId, state, lastEventAt })), [
    { source: { id: hook.id, title: 'Hook' }, ownerId: 1, state: 'active', lastEventAt: new Date(hub.now()).toISOString() },
    { source: { id: quiet.id, title: 'Quiet' }, ownerId: 2, state: 'silent', lastEventAt: null },
    { source: { id: paused.id, title: 'Paused' }, ownerId: 1, state: 'disabled', lastEventAt: null },
  ]);
  const { text } = await ada.page('/admin/webhooks');
  for (const [title, state] of [['Hook', 'active'], ['Quiet', 'silent'], ['Paused', 'disabled']]) {
    assert.match(text, new RegExp(`>${title}</a></td>\\s*<td><span class="tag[^"]*">${state}<`));
  }
  for (const answer of [list.text, text]) assert.doesNotMatch(answer, /whsec_|plain:/);
});
