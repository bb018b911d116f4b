import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import type { TestContext } from 'node:test';
import { accounts } from '../../src/features/accounts/account-store.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { sources } from '../../src/features/sources/source-store.ts';
import { webhooks } from '../../src/features/webhooks/webhook-store.ts';
import { metricFamilies, readMetrics } from '../../src/features/health/metrics.ts';
import { renderPrometheus } from '../../src/platform/metrics/exposition.ts';
import { sealSecret } from '../../src/platform/secrets.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import type { Client } from './client.ts';
import { hubEnvironment } from './hub-process.ts';
import { hubWith, type Hub } from './hub.ts';
import { standardEvent, type SignedEvent } from './signed-events.ts';

type Sent = { status: number; headers: Record<string, string | string[] | undefined>; text: string };

export type Hook = { id: number; url: string; secret: string };

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** A hub whose `ada`, its administrator, has a webhook. */
export async function hubWithWebhook(t: TestContext, env: Record<string, string> = {}) {
  const { hub, ada } = await hubWith(t, ['ada'], env);
  return { hub, ada, hook: await makeWebhook(ada) };
}

export async function makeWebhook(client: Client, title = 'Hook', visibility = 'public'): Promise<Hook> {
  const made = await client.post('/api/sources', { kind: 'webhook', title, visibility });
  assert.equal(made.status, 201, made.text);
  const { id, webhook } = made.json<{ id: number; webhook: { url: string; secret: string } }>();
  return { id, ...webhook };
}

/** The database of a hub that is yet to be started, with webhook 1 of that secret. */
export function openWithWebhook(dataDir: string, secret: string): Db {
  const db = openHubDatabase(loadConfig(hubEnvironment(dataDir)));
  const hub = { db, clock: Date.now };
  accounts(hub).create({ username: 'ada', displayName: 'Ada', role: 'admin', passwordHash: '' });
  sources(hub).create({ ownerId: 1, kind: 'webhook', title: 'Hook', titleIsOwn: true, visibility: 'public' }, null);
  webhooks(hub).create(1, sealSecret(secret, null, ''));
  return db;
}

/** Sends headers and body as they are, duplicates too. Calls `onSent` when the kernel has the whole request. */
export function sendEvent(
  address: string, sourceId: number | string, { rawHeaders, body }: SignedEvent, type: string | null = 'application/json',
  onSent = (): void => {},
): Promise<Sent> {
  const contentType = type === null ? [] : ['Content-Type', type];
  const headers = ['Host', new URL(address).host, ...contentType, 'Content-Length', String(body.length), ...rawHeaders];
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, headers, setHost: false };
    const req = httpRequest(`${address}/api/webhooks/${sourceId}`, options, async (res) => {
      const text = Buffer.concat(await res.toArray()).toString();
      resolve({ status: res.statusCode ?? 0, headers: res.headers, text });
    });
    req.on('error', reject);
    req.end(body, onSent);
  });
}

/** The body of an event. */
export function eventBody(type: string, data: object, at: number): string {
  return JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
}

let count = 0;

/** An event of now by the hub's clock, with an id of its own, signed with the secret. */
export function eventOf(hub: Hub, secret: string, type: string, data: object, id = `msg_${count++}`): SignedEvent {
  return standardEvent(secret, { id, timestamp: Math.floor(hub.now() / 1_000), body: eventBody(type, data, hub.now()) });
}

/** Sends an event of now; the answer must be 202. */
export async function publish(hub: Hub, hook: Hook, type: string, data: object, id?: string): Promise<void> {
  const sent = await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, type, data, id));
  assert.equal(sent.status, 202, sent.text);
}

/** One series of the hub's metrics as they are now; `/api/metrics` may be a moment older. */
export async function metric({ handle }: Hub, series: string): Promise<number> {
  const text = renderPrometheus(metricFamilies(readMetrics(handle)));
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length));
}
