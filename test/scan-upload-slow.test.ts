import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { receivingFiles } from '../src/features/attachments/receive-files.ts';
import { createUploadFiles } from '../src/features/attachments/upload-files.ts';
import type { MemberRequest, Viewer } from '../src/platform/http/router.ts';
import { send } from './support/form-server.ts';
import { temporaryDataDir } from './support/hub-process.ts';
import { filesIn, formWith } from './support/uploads.ts';

const IDLE_MS = 300;

const VIEWER: Viewer = {
  id: 1, username: 'ada', displayName: 'Ada', role: 'member', via: 'token', credentialId: 1,
};

test('a scan that takes longer than a connection may be silent does not cost the answer', async (t) => {
  const dataDir = temporaryDataDir(t);
  for (const folder of ['uploads', 'tmp']) mkdirSync(join(dataDir, folder));
  const receive = receivingFiles({
    uploadFiles: createUploadFiles(dataDir),
    maxBytes: 1000,
    bytesLeft: () => 1000,
    dropUnnamed: () => {},
    scan: () => sleep(3 * IDLE_MS, { verdict: 'clean' as const }),
    scanRequired: true,
    onScan: () => {},
  });
  const server = createServer(async (stream, res) => {
    const request: MemberRequest = {
      id: '1', method: 'POST', path: '/', query: new URLSearchParams(), params: {}, headers: stream.headers,
      viewer: VIEWER, address: '127.0.0.1', stream, recheck() {},
    };
    const { files, discard } = await receive(request);
    await discard();
    res.end(files.map(({ scan }) => scan).join());
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
