// Protects the pair of row and file when web is killed in an upload.
import assert from 'node:assert/strict';
import { readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { countDangling } from '../../../src/features/attachments/attachment-store.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { addNotes } from '../../support/accounts.ts';
import { cookieOf } from '../../support/client.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { randomBelow } from '../../support/random.ts';
import { rawConnection } from '../../support/raw-exchange.ts';
import { sha256, sha256Of } from '../../support/sha256.ts';
import { filesIn, FORM_TYPE, formWith, uploadPath, uploadRows, writePost } from '../../support/uploads.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startWebWithAccount } from '../../support/web-with-account.ts';

const DAY_AND_HOUR = 25 * 3_600;

/** When to kill; `seen` are the files in uploads/ before. */
type Moment = (folder: string, seen: number, answered: Promise<unknown>) => Promise<unknown>;

function received(folder: string): number {
  const sizes = filesIn(folder).tmp.map((name) => statSync(join(folder, 'tmp', name), { throwIfNoEntry: false })?.size);
  return sizes.reduce((sum: number, size = 0) => sum + size, 0);
}

function once(condition: (folder: string, seen: number) => boolean): Moment {
  return async (folder, seen, answered) => {
    let isAnswered = false;
    void answered.finally(() => (isAnswered = true)).catch(() => {});
    while (!isAnswered && !condition(folder, seen)) await setImmediate();
  };
}

const below = randomBelow(3);

const MOMENTS: [string, Moment][] = [
  ['when a file is begun', once((folder) => filesIn(folder).tmp.length > 0)],
  ['when some of it is written', once((folder) => received(folder) > 500_000)],
  ['when most of it is written', once((folder) => received(folder) > 1_500_000)],
  ['when the second file is begun', once((folder) => filesIn(folder).tmp.length > 1)],
  ...Array.from({ length: 4 }, (_, n): [string, Moment] =>
    [`when the first is in its place (${n})`, once((folder, seen) => filesIn(folder).uploads.length > seen)]),
  ...Array.from({ length: 2 }, (_, n): [string, Moment] =>
    [`when the second is in its place (${n})`, once((folder, seen) => filesIn(folder).uploads.length > seen + 1)]),
  ...Array.from({ length: 6 }, (): [string, Moment] => {
    const delay = below(80);
    return [`after ${delay} ms`, () => sleep(delay)];
  }),
  ['after the answer', (_folder, _seen, answered) => answered],
];

test('kill -9 during an upload leaves no row without its file, and after a day no file without a row', async (t) => {
  const dataDir = temporaryDataDir(t);
  const { web, client } = await startWebWithAccount(t, dataDir);
  const sourceId = await addNotes(client);
  const { id } = await writePost({ address: await web.address() }, { client, sourceId });
  await web.end('SIGKILL');
  const acknowledged: string[] = [];

  for (const [round, [moment, wait]] of MOMENTS.entries()) {
    const files = [{ filename: 'a.txt', data: `${round} `.repeat(700_000) },
      { filename: 'b.txt', data: `small ${round}` }];
    const seen = filesIn(dataDir).uploads.length;
    const hub = startHubProcess(t, 'web', dataDir);
    const status = await uploadUntil(await hub.address(), cookieOf(client), id, formWith({}, files),
      (answered) => wait(dataDir, seen, answered));
    await hub.end('SIGKILL');
    if (status() === 201) acknowledged.push(...files.map(({ data }) => sha256(data)));
    assertRowsHaveFiles(dataDir, acknowledged, moment);
  }
  assert.ok(acknowledged.length > 0);

  const strays = makeOld(dataDir);
  const worker = startHubProcess(t, 'worker', dataDir);
  await waitUntil('the sweep is over', () => filesIn(dataDir).tmp.length === 0 && countStrays(dataDir) === 0);
  assert.ok(strays > 0, 'no moment left anything to sweep');
  assert.equal(await worker.end('SIGTERM'), 0);
  assertRowsHaveFiles(dataDir, acknowledged, 'at the end');
});

/** Sends the form until that has happened; returns how to ask for the status of the answer, if there was one. */
async function uploadUntil(
  address: string, cookie: string, id: number, form: Buffer, happened: (answered: Promise<unknown>) => Promise<unknown>,
): Promise<() => number | undefined> {
  const { write, answer } = await rawConnection(address);
  const headers = ['Host: localhost', `Content-Type: ${FORM_TYPE}`, `Content-Length: ${form.length}`, `Cookie: ${cookie}`,
    'Sec-Fetch-Site: same-origin'];
  write(`POST /api/posts/${id}/attachments HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  let status: number | undefined;
  const answered = answer().then((got) => (status = got.status), () => {});
  write(form);
  await happened(answered);
  return () => status;
}

function assertRowsHaveFiles(dataDir: string, acknowledged: string[], moment: string): void {
  const db = openDatabase(join(dataDir, 'hub.db'));
  try {
    const rows = uploadRows(db);
    for (const { sha256 } of rows) assert.equal(sha256Of(uploadPath(dataDir, sha256)), sha256, moment);
    const named = new Set(rows.filter(({ attachments }) => attachments > 0).map(({ sha256 }) => sha256));
    for (const sha256 of acknowledged) assert.ok(named.has(sha256), `${moment}: an acknowledged file has no row`);
    assert.deepEqual([countDangling({ db }), db.pragma('integrity_check')], [0, 'ok'], moment);
  } finally {
    db.close();
  }
}

/** Makes all files a day older; returns how many no row names. */
function makeOld(dataDir: string): number {
  const then = Date.now() / 1000 - DAY_AND_HOUR;
  const { uploads, tmp } = filesIn(dataDir);
  for (const sha256 of uploads) utimesSync(uploadPath(dataDir, sha256), then, then);
  for (const name of readdirSync(join(dataDir, 'tmp'))) utimesSync(join(dataDir, 'tmp', name), then, then);
  return countStrays(dataDir) + tmp.length;
}

function countStrays(dataDir: string): number {
  const db = openDatabase(join(dataDir, 'hub.db'));
  const named = new Set(uploadRows(db).map(({ sha256 }) => sha256));
  db.close();
  return filesIn(dataDir).uploads.filter((sha256) => !named.has(sha256)).length;
}
