import { spawn } from 'node:child_process';
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import type { BenchRow } from './bench-row.ts';
import { startWeb, type RunningServer } from './bench-servers.ts';
import { median } from './median.ts';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');
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
  const folder = mkdtempSync(join(tmpdir(), 'bench-webhooks-'));
  prepare(folder);
  const hub = await startWeb(folder);
  const bare = openBareLoop(join(folder, 'bare.db'));
  try {
    return [
      await compare(hub, bare, { name: 'signed events, 64 senders', senders: 64, kind: 'heard', want: '>= 2', first: 1 }),
      await compare(hub, bare, { name: 'signed events, 1 sender', senders: 1, kind: 'heard', want: '>= 0.3', first: 11 }),
      await compare(hub, bare, { name: 'signed posts, 64 senders', senders: 64, kind: 'posts', want: '>= 0.3', first: 21 }),
    ];
  } finally {
    bare.close();
    await hub.stop();
    rmSync(folder, { recursive: true });
  }
}

type Comparison = { name: string; senders: Senders; kind: 'heard' | 'posts'; want: string; first: number };

async function compare(hub: RunningServer, bare: BareLoop, comparison: Comparison): Promise<BenchRow> {
  const { name, want } = comparison;
  const rates: [number[], number[]] = [[], []];
  for (let round = -1; round < ROUNDS; round++) {
    const [ours, theirs] = [await send(hub, comparison), bare.run(2_000)];
    if (round < 0) continue; // the first round warms up
    rates[0].push(ours);
    rates[1].push(theirs);
  }
  const [ours, peerFigure] = [median(rates[0]), median(rates[1])];
  const peer = 'bare loop of an HMAC and a durable insert';
  return { name, ours, peer, peerFigure, unit: 'events/s', ratio: ours / peerFigure, want };
}

async function send({ port }: RunningServer, { senders, kind, first }: Comparison): Promise<number> {
  const file = join(import.meta.dirname, 'webhook-client.ts');
  const args = [file, port, SECRET, first, SOURCES, EVENTS[senders], senders, kind].map(String);
  const client = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  client.stdout.on('data', (chunk) => (printed += chunk));
  const [code] = await once(client, 'exit');
  if (code !== 0) throw new Error('an event was not accepted');
  return Number(printed);
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

  return { run, close: db.close };
}

function prepare(folder: string): void {
  const ids = Array.from({ length: 30 }, (_, index) => index + 1);
  const db = openDatabase(join(folder, 'hub.db'));
  migrate(db, readMigrations(MIGRATIONS), Date.now);
  db.exec(`
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0);
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at)
      SELECT value, 1, 'webhook', 'Hook', 0, 0 FROM json_each('${JSON.stringify(ids)}');
    INSERT INTO webhooks (source_id, secret, quiet_since_at, created_at)
      SELECT id, 'plain:${SECRET}', 0, 0 FROM sources`);
  db.close();
}

