// Protects the answer to an upload whose scan takes longer than a connection may be silent.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { receiveUpload } from '../../../src/features/attachments/receive-upload.ts';
import { HttpError } from '../../../src/platform/http/http-error.ts';
import { DEFAULT_PREFERENCES } from '../../../src/features/hub/preferences.ts';
import type { MemberRequest, Viewer } from '../../../src/platform/http/router.ts';
import { send } from '../../support/form-server.ts';
import { startHub } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { filesIn, formWith } from '../../support/uploads.ts';

const IDLE_MS = 300;

const VIEWER: Viewer = {
  id: 1, username: 'ada', displayName: 'Ada', role: 'member', via: 'token', credentialId: 1,
  preferences: DEFAULT_PREFERENCES,
};

test('a scan that takes longer than a connection may be silent does not cost the answer', async (t) => {
  const scanner = await startOrigin(t, async (_request, response) => {
    await sleep(3 * IDLE_MS);
    response.end('{"clean":true}');
  });
  const { handle, dataDir } = await startHub(t, { VIRUS_SCAN_URL: scanner.url, VIRUS_SCAN_REQUIRED: '1' });
  const server = createServer(async (stream, res) => {
    const request: MemberRequest = {
      id: '1', method: 'POST', path: '/', query: new URLSearchParams(), params: {}, headers: stream.headers,
      viewer: VIEWER, address: '127.0.0.1', stream, recheck() {}, guard() {},
      memory: { take() {}, free() {}, tooLong: (limit) => new HttpError(413, String(limit)) },
    };
    res.end(await receiveUpload(handle, request, async ({ files }) => files.map(({ scan }) => scan).join()));
  });
  server.timeout = IDLE_MS;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());

  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = await send(address, formWith({}, [{ filename: 'a.txt', data: 'a' }]));
  assert.deepEqual(answer, { status: 200, text: 'clean' });
  assert.deepEqual(filesIn(dataDir), { uploads: [], tmp: [] });
});
