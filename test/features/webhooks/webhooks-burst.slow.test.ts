// Protects acknowledged events: committed before the answer, also when many share a transaction.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createSecret } from '../../../src/features/webhooks/verify-signature.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { standardEvent } from '../../support/signed-events.ts';
import { storedPosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { eventBody, openWithWebhook, sendEvent } from '../../support/webhooks.ts';

const SENDERS = 64;
const EVENTS_EACH = 20;

/** A real web process with a webhook, on a file whose log keeps every frame from now on. */
async function webWithWebhook(t: TestContext) {
  const dataDir = temporaryDataDir(t);
  const secret = createSecret();
  const db = openWithWebhook(dataDir, secret);
  t.after(() => db.close());
  const { address: addressOf, child } = startHubProcess(t, 'web', dataDir);
  const address = await addressOf();

  const reader = openDatabase(join(dataDir, 'hub.db'), { readonly: true });
  t.after(() => reader.close());
  reader.exec('BEGIN');
  countRows({ db: reader }, 'posts'); // while it reads this state, the log is not begun anew

  async function send(id: string, onSent?: () => void): Promise<void> {
    const now = Date.now();
    const body = eventBody('post.published', { id, title: `Post ${id}`, content_text: 'x'.repeat(300) }, now);
    const event = standardEvent(secret, { id, timestamp: Math.floor(now / 1_000), body });
    const { status, text } = await sendEvent(address, 1, event, undefined, onSent);
    assert.equal(status, 202, text);
  }

  /** Sends events while web is stopped, so that web finds them all when it goes on. */
  async function sendAtOnce(ids: string[]): Promise<void> {
    let sent = 0;
    child.kill('SIGSTOP');
    const answers = Promise.all(ids.map((id) => send(id, () => void sent++)));
    await waitUntil('all are sent', () => sent === ids.length);
    child.kill('SIGCONT');
    await answers;
  }

  return { send, sendAtOnce, commits: countingCommits(join(dataDir, 'hub.db')), guids: () => storedPosts({ db }).map(({ guid }) => guid).sort() };
}

test('one sender after the other has each event committed by itself before it is acknowledged', async (t) => {
  const { send, commits, guids } = await webWithWebhook(t);
  for (let n = 1; n <= 20; n++) {
    await send(`event-${n}`);
    assert.ok(commits() >= n, `${commits()} commits for ${n} events`);
    assert.equal(guids().length, n);
  }
});

test('the events of 64 senders at once share transactions, far fewer than events, and all that are acknowledged are there', async (t) => {
  const { sendAtOnce, commits, guids } = await webWithWebhook(t);
  const ids: string[] = [];
  for (let n = 0; n < EVENTS_EACH; n++) {
    const round = Array.from({ length: SENDERS }, (_, sender) => `${sender}-${n}`);
    await sendAtOnce(round);
    ids.push(...round);
  }

  t.diagnostic(`${ids.length} events in ${commits()} transactions`);
  assert.deepEqual(guids(), ids.sort());
  assert.ok(commits() > 0 && commits() <= ids.length / 4, `${commits()} transactions for ${ids.length} events`);
});

const HEADER = 32; // bytes; of the file and of each frame: "The SQLite database file format", section 4.1
const FRAME_HEADER = 24;

/** Counts the transactions that are committed to a database in WAL mode, whoever commits them, by its log's frames. */
function countingCommits(databasePath: string): () => number {
  const before = readLog(`${databasePath}-wal`);
  return () => {
    const now = readLog(`${databasePath}-wal`);
    return now.salts === before.salts ? now.commits - before.commits : now.commits;
  };
}

/** Commits since the log was last begun anew, which gives it other salts. */
function readLog(path: string): { salts: string; commits: number } {
  const log = readFileSync(path);
  const salts = log.toString('hex', 16, 24);
  const frame = FRAME_HEADER + log.readUInt32BE(8);
  let commits = 0;
  for (let at = HEADER; at + frame <= log.length && log.toString('hex', at + 8, at + 16) === salts; at += frame) {
    if (log.readUInt32BE(at + 4) > 0) commits++; // the size of the database after a commit, else 0
  }
  return { salts, commits };
}
