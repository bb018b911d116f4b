// Protects the disk and the database from uploads that a client breaks off at any byte.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { cookieOf } from '../../support/client.ts';
import type { Hub } from '../../support/hub.ts';
import { randomBelow } from '../../support/random.ts';
import { rawConnection } from '../../support/raw-exchange.ts';
import { png } from '../../support/sample-files.ts';
import {
  addFiles, assertFilesMatchRows, assertNothingKept, filesIn, FORM_TYPE, formWith, hubWithWriter, openFilesIn,
  writePost,
} from '../../support/uploads.ts';
import { waitUntil } from '../../support/wait-until.ts';

type Leave = 'reset' | 'destroy' | 'end';

/** A hub with a post, to which `send` begins to upload and then goes away. */
async function hubToLeave(t: TestContext) {
  const { hub, ada } = await hubWithWriter(t);
  const { id } = await writePost(hub, ada);
  const path = `/api/posts/${id}/attachments`;

  /** Sends so much of the body, leaves, and waits until the hub is done with the request. */
  async function send(body: Buffer, bytes: number, leave: Leave): Promise<unknown> {
    const before = await answers(hub);
    const { socket, write } = await rawConnection(hub.address);
    const headers = [`Content-Type: ${FORM_TYPE}`, `Content-Length: ${body.length}`, `Cookie: ${cookieOf(ada.client)}`,
      'Sec-Fetch-Site: same-origin', 'Host: localhost'];
    write(`POST ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
    if (bytes > 0) await new Promise((resolve) => socket.write(body.subarray(0, bytes), resolve));
    // The upload has to begin first, since that of a sender who has gone never does. By the first answer it has been
    // read, by the second it has begun: requests of one sender begin in the order in which they came.
    for (let n = 0; n < 2; n++) await ada.client.get('/api/nothing');
    if (leave === 'reset') socket.resetAndDestroy();
    else if (leave === 'destroy') socket.destroy();
    else socket.end();
    let status: number | undefined;
    await waitUntil(`the hub is done after ${bytes} bytes`, async () => {
      status = [...await answers(hub)].find(([code, count]) => count > (before.get(code) ?? 0))?.[0];
      return status !== undefined;
    });
    if (!socket.closed) {
      socket.destroy();
      await once(socket, 'close');
    }
    return status;
  }

  return { hub, ada, id, send };
}

/** How many uploads were answered with each status; the log has no line for each of many refused requests. */
async function answers(hub: Hub): Promise<Map<number, number>> {
  const { text } = await hub.anybody.get('/api/metrics');
  const counted = text.matchAll(/^service_http_requests_total\{[^}]*route="[^"]*\/attachments",[^}]*code="(\d+)"\} (\d+)$/gm);
  return new Map(Array.from(counted, ([, code, count]) => [Number(code), Number(count)]));
}

for (const leave of ['destroy', 'end'] as const) {
  test(`a client that stops after any byte of a small form leaves nothing (${leave})`, async (t) => {
    const { hub, send } = await hubToLeave(t);
    const body = formWith({},
      [{ filename: 'a.png', data: png({ width: 2, height: 2 }) }, { filename: 'b.txt', data: 'b' }]);
    for (let bytes = 0; bytes < body.length - 4; bytes++) { // the last line may lack its end
      assert.equal(await send(body, bytes, leave), 400, `after ${bytes} bytes`);
      assert.deepEqual(filesIn(hub.dataDir), { uploads: [], tmp: [] }, `after ${bytes} bytes`);
      assert.deepEqual(openFilesIn(hub.dataDir), [], `after ${bytes} bytes`);
    }
    assertNothingKept(hub, 1);
    assert.deepEqual(hub.logged().filter(({ level }) => level === 'error'), []);
  });
}

test('a client that stops anywhere in a large form leaves nothing', async (t) => {
  const { hub, ada, id, send } = await hubToLeave(t);
  const files = [{ filename: 'a.txt', data: 'a'.repeat(700_000) }, { filename: 'b.txt', data: 'b'.repeat(700_000) }];
  const body = formWith({ title: 'x' }, files);
  const below = randomBelow(7);
  for (let round = 0; round < 40; round++) {
    const bytes = below(body.length - 4);
    const leave = (['destroy', 'reset', 'end'] as const)[round % 3] ?? 'end';
    assert.equal(await send(body, bytes, leave), 400, `${leave} after ${bytes} bytes`);
    assertNothingKept(hub, 1);
  }
  assert.equal((await addFiles(hub, ada.client, id, files)).status, 201);
  assertFilesMatchRows(hub);
});
