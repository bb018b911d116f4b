// Protects acknowledged events when web is killed: none lost and none doubled.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createSecret } from '../../../src/features/webhooks/verify-signature.ts';
import { createCounters } from '../../../src/platform/metrics/counters.ts';
import { hubEnvironment, temporaryDataDir, watchHubProcess, type HubProcess } from '../../support/hub-process.ts';
import { storedPosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { standardEvent } from '../../support/signed-events.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { eventBody, openWithWebhook, sendEvent } from '../../support/webhooks.ts';

/** WEBHOOK_KILLS=50 is how many it was tried with. */
const KILLS = Number(process.env['WEBHOOK_KILLS'] ?? 15);
const SENDERS = 12;

function startWeb(t: TestContext, dataDir: string): HubProcess {
  const file = join(PROJECT_ROOT, 'src/bin/web.ts');
  const env = hubEnvironment(dataDir, { NODE_COMPILE_CACHE: join(dataDir, 'tmp/compiled') });
  return watchHubProcess(t, spawn(process.execPath, [file], { env, stdio: 'pipe' }));
}

/** One that ends well leaves its compiled code behind, so that the others start in half the time. */
async function startOnce(t: TestContext, dataDir: string): Promise<void> {
  const web = startWeb(t, dataDir);
  await web.logged('listening');
  assert.equal(await web.end('SIGTERM'), 0);
}

/** Sends event after event, each until it is acknowledged, as senders do: with the same id, to the web that runs. */
function startSender(web: () => HubProcess, secret: string, name: string) {
  const acknowledged: string[] = [];
  let stopping = false;
  let repeated = 0;

  async function deliver(id: string): Promise<void> {
    const now = Date.now();
    const body = eventBody('post.published', { id, title: `Post ${id}`, content_text: 'x'.repeat(300) }, now);
    const event = standardEvent(secret, { id, timestamp: Math.floor(now / 1_000), body });
    for (;;) {
      const sent = await web().address().then((address) => sendEvent(address, 1, event)).catch(() => undefined);
      if (sent?.status === 202) break;
      assert.ok(sent === undefined || sent.status >= 500, sent?.text); // cut off, or the database was busy
      repeated++;
    }
    acknowledged.push(id);
  }

  async function run(): Promise<void> {
    for (let n = 0; !stopping; n++) await deliver(`${name}-${n}`);
  }

  const running = run();
  return {
    acknowledged,
    repeated: () => repeated,
    stop: () => {
      stopping = true;
      return running;
    },
  };
}

test('kills of web under a stream of events lose no acknowledged event and double no event', async (t) => {
  const dataDir = temporaryDataDir(t);
  const secret = createSecret();
  const db = openWithWebhook(dataDir, secret);
  t.after(() => db.close());
  await startOnce(t, dataDir);
  let web = startWeb(t, dataDir);
  const senders = Array.from({ length: SENDERS }, (_, index) => startSender(() => web, secret, `sender${index}`));
  const total = (): number => senders.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);

  for (let kill = 0; kill < KILLS; kill++) {
    await web.logged('listening');
    const before = total();
    await waitUntil('events come in', () => total() >= before + 10 + kill % 7);
    web.child.kill('SIGKILL');
    await web.ended;
    web = startWeb(t, dataDir);
  }
  await Promise.all(senders.map(({ stop }) => stop()));
  assert.equal(await web.end('SIGTERM'), 0);

  const ids = senders.flatMap(({ acknowledged }) => acknowledged);
  const stored = new Set(storedPosts({ db }).map(({ guid }) => guid));
  t.diagnostic(`${ids.length} events, ${senders.reduce((sum, { repeated }) => sum + repeated(), 0)} sent again`);
  assert.ok(ids.length > KILLS * 10);
  assert.deepEqual(ids.filter((id) => !stored.has(id)), [], 'no acknowledged event is lost');
  assert.equal(countRows({ db }, 'posts'), ids.length, 'none is there that nobody sent');
  assert.equal(countRows({ db }, 'webhook_events'), ids.length);
  const counts = createCounters(db).read();
  assert.equal(counts.value('webhook_events_total', 'accepted'), ids.length, 'none was taken twice');
  assert.deepEqual(counts.labels('posts_ingested_total').map((kind) => counts.value('posts_ingested_total', kind)), [ids.length]);
  assert.equal(db.pragma('integrity_check'), 'ok');
});
