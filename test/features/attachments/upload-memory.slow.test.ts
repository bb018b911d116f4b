// Protects the memory of web while a hundred large uploads come in at once.
import assert from 'node:assert/strict';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { hubOf, openHubDatabase } from '../../../src/app/processes/open-hub.ts';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { sessionCookie } from '../../../src/features/accounts/authenticate.ts';
import { sessions } from '../../../src/features/accounts/credential-store.ts';
import { loadConfig } from '../../../src/features/hub/read-config.ts';
import { createLog } from '../../../src/platform/log.ts';
import { addNotes } from '../../support/accounts.ts';
import { cookieOf, createClient, type Client } from '../../support/client.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { BOUNDARY, fieldHeaders, fileHeaders } from '../../support/multipart.ts';
import { peakMemory } from '../../support/peak-memory.ts';
import { FORM_TYPE, uploadPath, type PostAnswer } from '../../support/uploads.ts';

const UPLOADS = 100;
const BYTES = 20 * 1024 * 1024;
const BLOCK = Buffer.from('A line of text that goes on and on, again and again and again.\n'.repeat(1024)); // 63 KiB
const BLOCKS = Math.floor(BYTES / BLOCK.length);

/** The end that makes each file one of its own, and brings it to 20 MiB. */
function tailOf(n: number): Buffer {
  return Buffer.from(`${n}`.padStart(BYTES - BLOCKS * BLOCK.length, '.'));
}

function* content(n: number): Generator<Buffer> {
  for (let block = 0; block < BLOCKS; block++) yield BLOCK;
  yield tailOf(n);
}

function* form(sourceId: number, n: number): Generator<Buffer> {
  const part = (headers: string[]): string => `--${BOUNDARY}\r\n${headers.join('\r\n')}\r\n\r\n`;
  yield Buffer.from(`${part(fieldHeaders('sourceId'))}${sourceId}\r\n${part(fieldHeaders('title'))}${n}\r\n`);
  yield Buffer.from(part(fileHeaders('attachments', `${n}.txt`)));
  yield* content(n);
  yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
}

type Writer = { client: Client; sourceId: number };

/** People who are signed in and write; they have not joined, as passwords take memory that is not what is measured. */
async function writersAt(dataDir: string, address: string, many: number): Promise<Writer[]> {
  const config = loadConfig(hubEnvironment(dataDir));
  const db = openHubDatabase(config);
  const hub = hubOf('hubctl', config, db, createLog('test', 'error', Date.now, () => {}));
  const clients = Array.from({ length: many }, (_, n) => {
    const username = `writer-${n}`;
    const account = accounts(hub).create({ username, displayName: username, role: 'member', passwordHash: 'x' });
    const client = createClient(address);
    client.keep(sessionCookie(hub, sessions(hub).start(account?.id ?? NaN))['set-cookie']);
    return client;
  });
  db.close();
  return Promise.all(clients.map(async (client) => ({ client, sourceId: await addNotes(client) })));
}

/** Sends one form as fast as it is taken. */
async function upload(address: string, client: Client, sourceId: number, n: number): Promise<PostAnswer> {
  const headers = { 'content-type': FORM_TYPE, 'sec-fetch-site': 'same-origin', cookie: cookieOf(client) };
  const req = request(`${address}/api/posts`, { method: 'POST', agent: false, headers });
  const answered = new Promise<PostAnswer>((resolve, reject) => {
    req.on('error', reject).on('response', async (res) => {
      const text = Buffer.concat(await res.toArray()).toString();
      if (res.statusCode === 201) resolve(JSON.parse(text));
      else reject(new Error(`${res.statusCode} ${text}`));
    });
  });
  await Promise.all([answered, pipeline(Readable.from(form(sourceId, n)), req)]);
  return answered;
}

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

test('a hundred uploads of 20 MB at once need less than 200 MB of memory, and all arrive whole', async (t) => {
  const dataDir = temporaryDataDir(t);
  const web = startHubProcess(t, 'web', dataDir);
  const address = await web.address();
  const writers = await writersAt(dataDir, address, Math.ceil(UPLOADS / 6)); // six of each at once
  const same: Hash = createHash('sha256');
  for (let block = 0; block < BLOCKS; block++) same.update(BLOCK);

  const uploadOf = (n: number): Promise<PostAnswer> => {
    const one = writers[n % writers.length] ?? assert.fail();
    return upload(address, one.client, one.sourceId, n);
  };
  const numbers = Array.from({ length: UPLOADS }, (_, n) => n);
  const posts = await Promise.all(numbers.map((n) => uploadOf(n)));
  const peak = peakMemory(web.child.pid);
  t.diagnostic(`at most ${Math.round(peak / 1e6)} MB resident`);

  assert.ok(peak < 200_000_000, `the peak was ${peak} bytes`);
  for (const [n, post] of posts.entries()) {
    const expected = same.copy().update(tailOf(n)).digest('hex');
    assert.deepEqual(post.attachments.map(({ sha256, bytes }) => [sha256, bytes]), [[expected, BYTES]]);
    assert.equal(statSync(uploadPath(dataDir, expected)).size, BYTES);
    if (n % 10 === 0) assert.equal(await hashOfFile(uploadPath(dataDir, expected)), expected);
  }
});
