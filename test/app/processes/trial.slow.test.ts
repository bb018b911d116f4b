// Protects posts that were acknowledged: while a version or a backup is on trial, nothing is stored that could be lost.
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { joinTrial } from '../../../src/app/processes/trial.ts';
import { hubRoutes } from '../../../src/app/routes.ts';
import { rehearseWorker } from '../../../src/app/schedule.ts';
import { acceptTrial, rejectTrial } from '../../../src/features/backups/restore-state.ts';
import { openRestored, rejectRestored, swapRestored, undoRestore } from '../../../src/features/backups/restore-steps.ts';
import { heartbeats } from '../../../src/features/hub/hub.ts';
import { isOnTrial } from '../../../src/features/hub/trial.ts';
import { MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { addNotes, addPost } from '../../support/accounts.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { hubctl } from '../../support/hubctl.ts';
import { appOf } from '../../support/reader-app.ts';
import { begin, restorableHub } from '../../support/restore-hub.ts';
import { sha256 } from '../../support/sha256.ts';
import { dropTable, namesOf, removeRows, rowsOf } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

type Followed = Awaited<ReturnType<typeof followedFeed>>;

/** What the scripts leave while a version or a backup is on trial. */
const files = (dataDir: string) =>
  ({ trial: join(dataDir, 'run/restore-probation.json'), guard: join(dataDir, 'run/restore-state.json') });

/** A hub with a post of a feed and a post of its own, whose process is on trial after an upgrade. */
async function hubOnTrial(t: TestContext, env: Record<string, string> = {}, phase = 'upgrade') {
  return onTrial(t, await followedFeed(t, [{ guid: 'a' }], env), phase);
}

async function onTrial(t: TestContext, followed: Followed, phase = 'upgrade') {
  const { hub, ada } = followed;
  await hub.work();
  const notes = await addNotes(ada);
  const post = await addPost(ada, notes, 'before');
  const { trial } = files(hub.dataDir);
  writeFileSync(trial, JSON.stringify({ phase, ...(phase === 'upgrade' && { seconds: 60 }) }));
  let isOver = false;
  t.after(joinTrial(hub.handle, () => (isOver = true), hub.now));
  return { ...followed, notes, post, trial, isOver: () => isOver };
}

function stored({ hub }: Pick<Followed, 'hub'>): Record<string, string> {
  const tables = namesOf(hub, 'table').filter((name) => name !== 'heartbeats');
  return Object.fromEntries(tables.map((name) => [name, sha256(JSON.stringify(rowsOf(hub, name)))]));
}

test('on trial every write of every route is refused with 503 and Retry-After, and changes nothing', async (t) => {
  const followed = await followedFeed(t, [{ guid: 'a' }]);
  const app = appOf(followed.hub, 'ada');
  const { hub, ada } = await onTrial(t, followed);
  const before = stored({ hub });

  for (const { method, path } of hubRoutes(hub.handle).filter((route) => route.method !== 'GET')) {
    const headers = path.startsWith('/reader/') ? app.headers : {};
    const answer = await ada.send(method, path.replace(/:[a-z]+/g, '1'), { headers });
    assert.equal(answer.status, 503, `${method} ${path}: ${answer.text}`);
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/, path);
  }
  assert.throws(() => removeRows(hub, 'posts'), /readonly/, 'SQLite refuses what no route would');
  const page = await ada.form('/write', { title: 'Lost?', content: 'Words' });
  assert.match(page.text, /checking a new version or a restored backup, and stores nothing until the check is done/);
  assert.deepEqual(stored({ hub }), before);
});

test('on trial hubctl changes nothing either, and still shows what there is', async (t) => {
  const { hub } = await hubOnTrial(t);
  const before = stored({ hub });

  const invited = await hubctl(hub.dataDir, 'invite');
  assert.deepEqual([invited.status, invited.stdout], [75, '']);
  assert.match(invited.stderr, /is on trial, and a rollback would undo this change: try again in a minute or two/);
  assert.equal((await hubctl(hub.dataDir, 'account', 'list')).status, 0);
  assert.deepEqual(stored({ hub }), before);
});

test('on trial people read as always, and reading marks nothing', async (t) => {
  const { hub, ada, post } = await hubOnTrial(t, {}, 'rehearsal'); // never ended by the hub
  hub.passTime(10 * MINUTE); // the last use of a session is noted this seldom
  const before = stored({ hub });

  // An export is recorded before it is given out, so that one has to wait.
  const reads = hubRoutes(hub.handle).filter(({ method, path }) => method === 'GET' && path !== '/api/account/export');
  for (const { path, access } of reads) {
    const address = path.replace(':id', String(post)).replace(/:[a-z]+/g, '1');
    const answer = await (access === 'public' ? hub.anybody : ada).send('GET', address);
    assert.ok(answer.status < 500, `GET ${address}: ${answer.status} ${answer.text}`);
    assert.ok((await ada.get(address)).status < 500, address);
  }
  assert.equal((await ada.page(`/posts/${post}`)).status, 200);
  assert.equal((await ada.get('/api/health')).json<{ ok: boolean }>().ok, true);
  assert.deepEqual(stored({ hub }), before);
  assert.deepEqual(hub.logged().filter(({ event }) => event === 'request failed'), []);
});

test('on trial nothing is fetched, while heartbeats go on; afterwards the sync that was due is done at once', async (t) => {
  const { hub, ada, notes, origin, trial, isOver } = await hubOnTrial(t, {}, 'rehearsal');
  const asked = origin.requests.length;
  hub.passTime(2 * 24 * 60 * MINUTE);
  const before = stored({ hub });

  await hub.tick();
  assert.equal(heartbeats(hub.handle).lastSeen('web'), hub.now());
  assert.deepEqual(stored({ hub }), before);

  rmSync(trial);
  await addPost(ada, notes, 'at once'); // nobody waits for the next look
  assert.equal(isOver(), true);
  await hub.work();
  assert.ok(origin.requests.length > asked, 'the feed is fetched');
});

test('a worker on trial does the SQL of its schedule and undoes it; it ends where any of that fails', async (t) => {
  const { hub, trial, isOver } = await hubOnTrial(t, {}, 'rehearsal');
  hub.passTime(2 * 24 * 60 * MINUTE);
  const before = stored({ hub });

  rehearseWorker(hub.handle);
  assert.deepEqual(stored({ hub }), before);

  rmSync(trial);
  await waitUntil('the trial is over', isOver);
  dropTable(hub, 'invitations');
  assert.throws(() => rehearseWorker(hub.handle), /no such table: invitations/);
});

test('web ends a trial after a minute whose script has died, and takes writes from then on', async (t) => {
  const { hub, ada, notes, trial, isOver } = await hubOnTrial(t);
  hub.passTime(MINUTE - SECOND);
  assert.equal((await ada.post('/api/posts', { sourceId: notes, title: 'early', content: '' })).status, 503);

  hub.passTime(SECOND);
  await waitUntil('web has ended the trial', isOver);
  assert.equal(isOnTrial(hub.handle), false);
  assert.equal(existsSync(trial), false);
  await addPost(ada, notes, 'after');
  assert.equal(await rejectTrial(hub.dataDir), false, 'nothing can go back any more');
});

test('an upgrade that version 1.0.0 has begun names no limit, and has the time that its script may need', async (t) => {
  const { hub, ada, trial, isOver } = await hubOnTrial(t);
  writeFileSync(trial, '{"phase":"upgrade"}');
  hub.passTime(179 * SECOND);
  assert.equal((await ada.post('/api/posts')).status, 503);
  hub.passTime(SECOND);
  await waitUntil('web has ended the trial', isOver);
});

test('a restored backup is on trial for RESTORE_HEALTH_SECONDS, and a rehearsal is never ended by the hub', async (t) => {
  const restored = await hubOnTrial(t, { RESTORE_HEALTH_SECONDS: '300' }, 'probation');
  restored.hub.passTime(299 * SECOND);
  assert.equal((await restored.ada.post('/api/posts')).status, 503);
  restored.hub.passTime(SECOND);
  await waitUntil('web has ended the trial', restored.isOver);

  const rehearsal = await hubOnTrial(t, {}, 'rehearsal');
  rehearsal.hub.passTime(24 * 60 * MINUTE);
  assert.equal((await rehearsal.ada.post('/api/posts')).status, 503);
  rmSync(rehearsal.trial);
  await waitUntil('the rehearsal is over', rehearsal.isOver);
});

test('a hub whose data is being brought back goes on refusing writes', async (t) => {
  const { hub, ada, isOver } = await hubOnTrial(t);
  assert.equal(await rejectTrial(hub.dataDir), true);
  hub.passTime(24 * 60 * MINUTE);

  assert.equal(await acceptTrial(hub.dataDir), false);
  assert.equal((await ada.post('/api/posts')).status, 503);
  assert.equal(isOver(), false);
  assert.ok(existsSync(files(hub.dataDir).guard), 'nothing starts on these data');
});

test('of the script that takes a restore back and the hub that accepts it only one succeeds', async (t) => {
  for (const first of ['script', 'hub']) {
    const { dataDir, backup } = await restorableHub(t);
    await begin(dataDir, backup);
    await swapRestored(dataDir);
    await openRestored(dataDir);
    if (first === 'hub') {
      assert.equal(await acceptTrial(dataDir), true);
      await assert.rejects(rejectRestored(dataDir), /no restore is in progress/);
      await assert.rejects(undoRestore(dataDir), /no restore is in progress/);
      assert.equal(existsSync(files(dataDir).guard), false);
    } else {
      await rejectRestored(dataDir);
      assert.equal(await acceptTrial(dataDir), false);
      assert.equal((await undoRestore(dataDir)).phase, 'undoing');
    }
  }
});
