import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { benchFolder, newHub } from './bench-hub.ts';
import { alternate, moreRow, type BenchRow } from './bench-row.ts';
import { runClient, startWeb, type RunningServer } from './bench-servers.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SOURCES = 8; // of one comparison; each has a rate limit of its own
const ROUNDS = 5;

/** Events of one round: few enough that no rate limit is met. */
const EVENTS = { 1: 1_000, 64: 12_000 };

type Senders = keyof typeof EVENTS;

/**
 * Signed events that a real web process takes and acknowledges per second, over HTTP, each verified, remembered and on
 * the disk before its 202. Beside a bare loop in this process without HTTP: one HMAC and one durable insert each. Rounds
 * alternate, and the medians are compared.
 */
export async function benchWebhooks(): Promise<BenchRow[]> {
  using folder = benchFolder('webhooks');
  prepare(folder.path);
  await using hub = await startWeb(folder.path);
  using bare = openBareLoop(join(folder.path, 'bare.db'));
  return [
    await compare(hub, bare, { name: 'signed events, 64 senders', senders: 64, kind: 'heard', want: '>= 2', first: 1 }),
    await compare(hub, bare, { name: 'signed events, 1 sender', senders: 1, kind: 'heard', want: '>= 0.3', first: 11 }),
    await compare(hub, bare, { name: 'signed posts, 64 senders', senders: 64, kind: 'posts', want: '>= 0.3', first: 21 }),
  ];
}

type Comparison = { name: string; senders: Senders; kind: 'heard' | 'posts'; want: string; first: number };

async function compare(hub: RunningServer, bare: BareLoop, comparison: Comparison): Promise<BenchRow> {
  const { name, want } = comparison;
  const [ours = NaN, peerFigure = NaN] = await alternate([() => send(hub, comparison), () => bare.run(2_000)], ROUNDS);
  return moreRow({ name, ours, peer: 'bare loop of an HMAC and a durable insert', peerFigure, unit: 'events/s', want });
}

async function send({ port }: RunningServer, { senders, kind, first }: Comparison): Promise<number> {
  return Number(await runClient('webhook-client.ts', [port, SECRET, first, SOURCES, EVENTS[senders], senders, kind]));
}

type BareLoop = ReturnType<typeof openBareLoop>;

function openBareLoop(path: string) {
  const db = openDatabase(path);
  db.exec('CREATE TABLE events (id TEXT PRIMARY KEY, received_at INTEGER NOT NULL) STRICT, WITHOUT ROWID');
  const insert = db.prepare<[string, number]>('insert event', 'INSERT INTO events (id, received_at) VALUES (?, ?)');
  const key = createSecretKey(Buffer.from(SECRET.slice('whsec_'.length), 'base64'));
  const body = Buffer.from(JSON.stringify({ type: 'build.finished', data: { id: 1, ok: true } }));
  const hmac = (id: string): Buffer => createHmac('sha256', key).update(id).update(body).digest();
  let count = 0;

  /** Events per second. */
  function run(events: number): number {
    const started = performance.now();
    for (let n = 0; n < events; n++) {
      const id = `msg_${count++}.${Date.now()}.`;
      const expected = hmac(id);
      if (timingSafeEqual(expected, expected)) insert.run(id, Date.now());
    }
    return (events / (performance.now() - started)) * 1_000;
  }

  return { run, [Symbol.dispose]: db.close };
}

function prepare(folder: string): void {
  const ids = Array.from({ length: 30 }, (_, index) => index + 1);
  const db = newHub(join(folder, 'hub.db'));
  db.exec(`
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at)
      SELECT value, 1, 'webhook', 'Hook', 0, 0 FROM json_each('${JSON.stringify(ids)}');
    INSERT INTO webhooks (source_id, secret, quiet_since_at, created_at)
      SELECT id, 'plain:${SECRET}', 0, 0 FROM sources`);
  db.close();
}

