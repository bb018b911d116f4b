// Protects the copy of a lost database from a full disk, from kills and stops while it is written, and from a restart.
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readDatabaseNote } from '../../../src/features/hub/database-note.ts';
import { searchSavedPosts } from '../../../src/features/posts/saved-posts-store.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { hubctlProcess } from '../../support/hubctl.ts';
import { assertNothingLost, followAdvice, holdRescue, startWriting, type WritingHub } from '../../support/lost-database.ts';
import { startReceiver } from '../../support/receiver.ts';
import { PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { fillDisk, startOnSmallDisk } from '../../support/small-disk.ts';
import { waitUntil } from '../../support/wait-until.ts';

const post = async (hub: WritingHub): Promise<void> => {
  for (let n = 0; n < 10; n++) assert.equal(await hub.write(), 201);
};

const statusOf = async ({ dataDir }: WritingHub): Promise<string> => (await hubctlProcess(dataDir, ['status'])).stdout;

/** The whole hub is stopped at once after the loss, before anybody could have written a copy. */
test('a stop right after the loss waits until the copy is verified, and the next start refuses until it is in place', async (t) => {
  const hub = await startWriting(t, temporaryDataDir(t));
  await post(hub);
  rmSync(hub.database);
  assert.equal(await hub.processes[0]?.end('SIGTERM'), 0);
  assert.equal(readDatabaseNote(hub.dataDir)?.rescue?.verified, true);
  const refused = startHubProcess(t, 'start', hub.dataDir);
  assert.notEqual(await refused.ended, 0);
  assert.match(refused.stderr(), /All that was stored is in rescued-/);
  assert.doesNotMatch(refused.stderr(), /npm start/);
  await followAdvice(await statusOf(hub));
  await assertNothingLost(t, hub);
});

for (const killed of ['web', 'worker'] as const) {
  test(`a kill of ${killed} while the copy is written loses nothing: the other has it written before it ends`, async (t) => {
    const hub = await startWriting(t, temporaryDataDir(t), ['web', 'worker']);
    await post(hub);
    const release = holdRescue(hub.dataDir);
    rmSync(hub.database);
    await waitUntil('the loss is noted', () => readDatabaseNote(hub.dataDir) !== null);
    const [web, worker] = hub.processes;
    await (killed === 'web' ? web : worker)?.end('SIGKILL');
    const again = startHubProcess(t, killed, hub.dataDir); // as systemd does
    assert.notEqual(await again.ended, 0, 'a process that is started beside a lost database refuses it');
    const left = killed === 'web' ? worker : web;
    const ended = left?.end('SIGTERM');
    release();
    await ended;
    assert.equal(readDatabaseNote(hub.dataDir)?.rescue?.verified, true);
    await followAdvice(await statusOf(hub));
    await assertNothingLost(t, hub);
  });
}

test('the health check restarts nothing, and the alert says where the copy is and what to do', async (t) => {
  const receiver = await startReceiver(t);
  const port = 20_000 + (process.pid % 20_000);
  const env = { ALERT_WEBHOOK_URL: receiver.url, ALERT_WEBHOOK_FORMAT: 'json', PORT: String(port) };
  const hub = await startWriting(t, temporaryDataDir(t), ['start'], env);
  await post(hub);
  const check = (...args: string[]) => runProgram('/bin/sh', [join(PROJECT_ROOT, 'scripts/healthcheck.sh'), ...args],
    { env: { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath, DATA_DIR: hub.dataDir, PORT: String(port) } });
  assert.equal((await check()).status, 0);
  rmSync(hub.database);
  const { rescue } = await hub.saved();
  assert.deepEqual([(await check()).status, (await check('--worker')).status], [75, 75]);
  const backup = await hubctlProcess(hub.dataDir, ['backup']);
  assert.deepEqual([backup.status, backup.stdout], [1, 'result=failed\n'], 'what stands in the place is not backed up');
  assert.match(backup.stderr, /hub\.db was removed while the hub runs/);
  await waitUntil('the alert has come', () => receiver.alerts().some(({ text }) => text.includes(rescue?.file ?? '-')));
  const [alert] = receiver.alerts().filter(({ text }) => text.includes(rescue?.file ?? '-'));
  assert.deepEqual([alert?.event, alert?.severity], ['database-gone', 'error']);
  await hub.processes[0]?.end('SIGTERM');
  await followAdvice(alert?.text.replaceAll('\n', ' ') ?? '');
  await assertNothingLost(t, hub);
});

test('on a full disk health says what is missing, the hub tries again, and writes the copy once there is room', async (t) => {
  const hub = await startOnSmallDisk(t, 40);
  if (!hub) return;
  const source = (await hub.client.post('/api/sources', { kind: 'native', title: 'Notes' })).json<{ id: number }>();
  const post = { sourceId: source.id, title: 'Kept', content: 'x', contentType: 'text/plain' };
  assert.equal((await hub.client.post('/api/posts', post)).status, 201);
  fillDisk(join(hub.folder, 'ballast'));
  rmSync(join(hub.folder, 'hub.db'));
  const health = async () => (await hub.client.get('/api/health')).json<Partial<Record<'error' | 'problem' | 'whatToDo', string>>>();
  await waitUntil('health knows why', async () => (await health()).problem?.includes('not enough disk space') ?? false);
  assert.match((await health()).whatToDo ?? '', /^Do not stop the hub and do not restore a backup before the copy is verified\. Mend that/);
  rmSync(join(hub.folder, 'ballast'));
  await waitUntil('the copy is verified', async () => (await health()).problem?.includes('which was verified') ?? false, 60_000);
  const [file = ''] = readdirSync(hub.folder).filter((name) => name.startsWith('rescued-'));
  const copied = join(temporaryDataDir(t), 'copy.db');
  copyFileSync(join(hub.folder, file), copied);
  const copy = openDatabase(copied, { readonly: true });
  assert.equal(searchSavedPosts(copy, 'Kept', 2).length, 1);
  copy.close();
});
