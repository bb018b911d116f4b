// Protects the memory of web and the time of others from a member who asks for large answers and reads none of them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
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
import { peakMemory } from '../../support/peak-memory.ts';
import { formOf, sendForm } from '../../support/uploads.ts';

const MIB = 1024 * 1024;
const ASKED = 100;

/** People who are signed in; they have not joined, as passwords take memory that is not what is measured. */
function membersAt(dataDir: string, address: string, names: string[]): Client[] {
  const config = loadConfig(hubEnvironment(dataDir));
  const db = openHubDatabase(config);
  const hub = hubOf('hubctl', config, db, createLog('test', 'error', Date.now, () => {}));
  const clients = names.map((username) => {
    const account = accounts(hub).create({ username, displayName: username, role: 'member', passwordHash: 'x' });
    const client = createClient(address);
    client.keep(sessionCookie(hub, sessions(hub).start(account?.id ?? NaN))['set-cookie']);
    return client;
  });
  db.close();
  return clients;
}

async function askAndNotRead(address: string, client: Client, path: string): Promise<Socket> {
  const { port, hostname } = new URL(address);
  const socket = connect(Number(port), hostname).on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nCookie: ${cookieOf(client)}\r\n\r\n`);
  return socket;
}

test('a hundred unread answers of a post or a draft at its longest take little memory, and others are answered', async (t) => {
  const dataDir = temporaryDataDir(t);
  const web = startHubProcess(t, 'web', dataDir);
  const address = await web.address();
  const [mallory, bob] = membersAt(dataDir, address, ['mallory', 'bob']) as [Client, Client];
  const sourceId = await addNotes(mallory);
  const fields = { sourceId: String(sourceId), title: 'x', contentType: 'text/html', url: '' };
  const send = (more: Record<string, string>) =>
    sendForm({ address }, mallory, '/write', formOf({ ...fields, ...more }, []), 'text/html');
  assert.equal((await send({ content: `<p>${'"'.repeat(399_000)}</p>` })).status, 303);
  assert.equal((await send({ content: `&<"'`.repeat(475_000) })).status, 422);
  await bob.page('/'); // pages are loaded by now
  const before = peakMemory(web.child.pid);

  for (const path of ['/write', `/sources/${sourceId}.atom`, '/posts/1/edit', '/api/posts?limit=100']) {
    const sockets = await Promise.all(Array.from({ length: ASKED }, () => askAndNotRead(address, mallory, path)));
    for (let n = 0; n < 5; n++) assert.equal((await bob.page('/')).status, 200);
    assert.equal((await fetch(`${address}/api/health?probe=live`)).status, 200);
    t.diagnostic(`${path}: ${Math.round(peakMemory(web.child.pid) / MIB)} MiB, before ${Math.round(before / MIB)} MiB`);
    for (const socket of sockets) socket.destroy();
    assert.equal((await mallory.page('/')).status, 200, 'who has gone waits no longer');
  }
  assert.ok(peakMemory(web.child.pid) - before < 200 * MIB, `${peakMemory(web.child.pid)} bytes, before ${before}`);
});
