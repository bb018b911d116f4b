// Protects the removal of files that nobody names: not before their day is over, and never during a backup.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { uploadFiles } from '../../../src/features/attachments/upload-files.ts';
import { backupLock, takeFileLock } from '../../../src/features/hub/data-locks.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addNotes, leave } from '../../support/accounts.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { sha256 } from '../../support/sha256.ts';
import { countRows } from '../../support/stored-rows.ts';
import {
  assertFilesMatchRows, filesIn, hubWithWriter, uploadPath, uploadRows, writePost, writer,
} from '../../support/uploads.ts';

const DAY_AND_HOUR = 25 * HOUR;

async function daysPass(hub: Hub, days: number): Promise<void> {
  for (let day = 0; day < days; day++) {
    await hub.work(DAY_AND_HOUR);
  }
}

function file(name: string) {
  return { filename: `${name}.txt`, data: name };
}

/** A file where uploads lie that no row names, as old as told by the hub's clock. */
function strayFile(hub: Hub, content: string, age: number): string {
  const path = uploadPath(hub.dataDir, sha256(content));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  setAge(hub, path, age);
  return path;
}

function setAge(hub: Hub, path: string, age: number): void {
  utimesSync(path, (hub.now() - age) / 1000, (hub.now() - age) / 1000);
}

for (const [what, remove] of [
  ['an attachment', (_source: number, _post: number, attachment: number) => `/api/attachments/${attachment}`],
  ['a post', (_source: number, post: number) => `/api/posts/${post}`],
  ['a source', (source: number) => `/api/sources/${source}`],
] as const) {
  test(`deleting ${what} takes its rows at once and its files after a day in which nobody named them`, async (t) => {
    const { hub, ada } = await hubWithWriter(t);
    const other = { client: ada.client, sourceId: await addNotes(ada.client) };
    await hub.work();
    const post = await writePost(hub, ada, [file('gone'), file('shared')].slice(0, what === 'an attachment' ? 1 : 2));
    await writePost(hub, other, [file('shared')]);
    const all = filesIn(hub.dataDir).uploads;

    const path = remove(ada.sourceId, post.id, post.attachments[0]?.id ?? 0);
    assert.equal((await ada.client.delete(path)).status, 204);
    assert.equal((await hub.anybody.get(new URL(post.attachments[0]?.url ?? '').pathname)).status, 404);
    await hub.work();
    assert.deepEqual(filesIn(hub.dataDir).uploads, all);
    await daysPass(hub, 1); // notices
    assert.deepEqual(filesIn(hub.dataDir).uploads, all);
    await daysPass(hub, 1);
    assert.deepEqual(filesIn(hub.dataDir).uploads, [sha256('shared')]);
    assert.deepEqual(uploadRows(hub.db).map(({ sha256, attachments }) => [sha256, attachments]),
      [[sha256('shared'), 1]]);
    await daysPass(hub, 2);
    assertFilesMatchRows(hub);
  });
}

test('of an account that is deleted no file is left, and of its place for files nothing', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  const bob = await writer(hub, 'bob');
  await writePost(hub, ada, [file('shared')]);
  await writePost(hub, bob, [file('gone'), file('shared')]);
  assert.equal((await bob.client.delete(`/api/sources/${bob.sourceId}`)).status, 204);
  assert.equal((await leave(hub, bob.client)).status, 204);

  await daysPass(hub, 3);
  assert.deepEqual(filesIn(hub.dataDir).uploads, [sha256('shared')]);
  assertFilesMatchRows(hub);
  assert.equal(countRows(hub, 'upload_usage'), 1);
});

test('an uploaded file stays for 24 hours after no row was found to name it, also across a restart', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  const post = await writePost(hub, ada, [file('gone')]);
  await ada.client.delete(`/api/posts/${post.id}`);
  await hub.work(); // notices at once: it has just started

  const day = 24 * HOUR;
  for (const [elapsed, stays] of [[day - MINUTE, true], [day, true], [day + MINUTE, false]] as const) {
    const restarted = await startHub(t, { DATA_DIR: hub.dataDir });
    restarted.passTime(elapsed);
    await restarted.work();
    assert.deepEqual(filesIn(hub.dataDir).uploads.length === 1, stays, `after ${elapsed / HOUR} h`);
  }
});

test('a file that is attached again in between stays, and its day begins anew when it is deleted again', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  const first = await writePost(hub, ada, [file('back')]);
  await ada.client.delete(`/api/posts/${first.id}`);
  await daysPass(hub, 1);

  const second = await writePost(hub, ada, [file('back')]);
  await daysPass(hub, 3);
  assert.equal((await hub.anybody.get(new URL(second.attachments[0]?.url ?? '').pathname)).text, 'back');
  await ada.client.delete(`/api/posts/${second.id}`);
  await daysPass(hub, 1);
  assertFilesMatchRows(hub);
  assert.equal(filesIn(hub.dataDir).uploads.length, 1);
  await daysPass(hub, 1);
  assert.equal(filesIn(hub.dataDir).uploads.length, 0);
});

test('a file that was named for a moment between two sweeps has its whole day before it', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  const nameForAMoment = async (): Promise<void> => {
    const { id } = await writePost(hub, ada, [file('back')]);
    await ada.client.delete(`/api/posts/${id}`);
  };
  await nameForAMoment();
  await daysPass(hub, 1);
  await nameForAMoment();
  await daysPass(hub, 1);
  assert.equal(filesIn(hub.dataDir).uploads.length, 1);
  await daysPass(hub, 1);
  assert.equal(filesIn(hub.dataDir).uploads.length, 0);
});

test('no file is removed while a backup is made; unnamed files are removed in the hour after the backup', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  const post = await writePost(hub, ada, [file('gone')]);
  const stray = strayFile(hub, 'stray', 2 * DAY_AND_HOUR);
  await ada.client.delete(`/api/posts/${post.id}`);
  const lock = takeFileLock(backupLock(hub.dataDir)) ?? assert.fail('the lock is taken');
  await daysPass(hub, 4);
  assert.deepEqual([filesIn(hub.dataDir).uploads.length, existsSync(stray)], [2, true]);
  assert.equal(uploadRows(hub.db).length, 1);
  assert.ok(hub.logged().some(({ event }) => event === 'sweep of uploads postponed: a backup is running'));

  lock.release();
  await hub.work(HOUR);
  assert.deepEqual([existsSync(stray), uploadRows(hub.db).length], [false, 1]); // seen unnamed only now
  await daysPass(hub, 1);
  assert.deepEqual([filesIn(hub.dataDir).uploads, uploadRows(hub.db)], [[], []]);
});

test('no backup begins while files are being removed, and one may right after', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  const { id } = await writePost(hub, ada, ['a', 'b', 'c'].map(file));
  await ada.client.delete(`/api/posts/${id}`);
  await daysPass(hub, 1);
  const files = uploadFiles(hub.handle);
  const { removeNow } = files;
  const locks: unknown[] = [];
  files.removeNow = (sha256) => {
    locks.push(takeFileLock(backupLock(hub.dataDir)));
    removeNow(sha256);
  };
  await daysPass(hub, 1);

  assert.deepEqual(locks, [undefined, undefined, undefined]);
  assert.deepEqual(filesIn(hub.dataDir).uploads, []);
  const lock = takeFileLock(backupLock(hub.dataDir)) ?? assert.fail('the sweep still holds the lock');
  lock.release();
});

test('files without a row are removed once they are a day old; whatever else lies there is left alone', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  await writePost(hub, ada, [file('named')]);
  const [old, young] = [strayFile(hub, 'old', 24 * HOUR + MINUTE), strayFile(hub, 'young', 23 * HOUR)];
  const names = ['README', 'zz/file', 'ab/notes.txt', `ab/${sha256('old')}`];
  const foreign = names.map((name) => join(hub.dataDir, 'uploads', name));
  for (const path of foreign) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'mine');
    setAge(hub, path, 9 * DAY_AND_HOUR);
  }
  setAge(hub, uploadPath(hub.dataDir, sha256('named')), 9 * DAY_AND_HOUR);

  await hub.work();
  assert.deepEqual([existsSync(old), existsSync(young)], [false, true]);
  assert.deepEqual(foreign.map((path) => existsSync(path)), [true, true, true, true]);
  assert.ok(existsSync(uploadPath(hub.dataDir, sha256('named'))));
  const [line] = hub.logged().filter(({ event }) => event === 'uploads swept');
  assert.deepEqual([line?.['removed'], line?.['strays']], [0, 1]);
});

test('what cut-off requests left in tmp/ goes after three hours; what others put there stays', async (t) => {
  const hub = await startHub(t);
  const tmp = join(hub.dataDir, 'tmp');
  const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e';
  for (const [name, age] of [
    [`upload-${uuid}`, 3 * HOUR + MINUTE], [`upload-${uuid.replace('0', '1')}`, 2 * HOUR + MINUTE], [`cache-${uuid}`, 4 * HOUR],
    ['upload-mine', 9 * HOUR], ['notes', 9 * HOUR],
  ] as const) {
    writeFileSync(join(tmp, name), '');
    setAge(hub, join(tmp, name), age);
  }

  await hub.work();
  assert.deepEqual(readdirSync(tmp).sort(), ['notes', `upload-${uuid.replace('0', '1')}`, 'upload-mine'].sort());
  await hub.work(HOUR + MINUTE);
  assert.deepEqual(readdirSync(tmp).sort(), ['notes', 'upload-mine']);
});

test('missing and shortened files are reported in the log each day, and their rows stay', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  await writePost(hub, ada, ['a', 'b', 'c'].map(file));
  rmSync(uploadPath(hub.dataDir, sha256('a')));
  truncateSync(uploadPath(hub.dataDir, sha256('b')), 0);

  await daysPass(hub, 2);
  const lines = hub.logged().filter(({ event }) => event === 'uploads missing');
  assert.deepEqual(lines.map(({ level, count }) => [level, count]), [['error', 2], ['error', 2]]);
  assert.ok([sha256('a'), sha256('b')].includes(String(lines[0]?.['first'])));
  assert.equal(uploadRows(hub.db).length, 3);
});

test('a file that was noticed to be unnamed while the clock was ahead goes a day after that is right', async (t) => {
  const { hub, ada } = await hubWithWriter(t);
  const post = await writePost(hub, ada, [file('gone')]);
  assert.equal((await ada.client.delete(`/api/posts/${post.id}`)).status, 204);
  hub.passTime(300 * DAY);
  await hub.work(); // notices
  await hub.work(-300 * DAY);
  assert.deepEqual(filesIn(hub.dataDir).uploads, [sha256('gone')]);
  await daysPass(hub, 2);
  assert.deepEqual(filesIn(hub.dataDir).uploads, []);
});
