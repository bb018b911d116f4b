// Protects uploads with a real ClamAV behind the bridge.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../../src/platform/clock.ts';
import { startBridge } from '../../support/clamd-bridge.ts';
import { BAD_WORDS, BAD_WORDS_NAME, EICAR, EICAR_NAME, startClamd } from '../../support/clamd.ts';
import { startHub } from '../../support/hub.ts';
import { pdf } from '../../support/sample-files.ts';
import { fileActs, scanCounts } from '../../support/scanner.ts';
import { requireTool } from '../../support/tools.ts';
import {
  addFiles, assertFilesMatchRows, filesIn, hubWithWriter, writePost, writer, type PostAnswer,
} from '../../support/uploads.ts';

test('with ClamAV behind the bridge clean files are taken and infected ones refused', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const clamd = await startClamd(t);
  const bridge = await startBridge(t, { address: clamd.address });
  const { hub, ada } = await hubWithWriter(t, { VIRUS_SCAN_URL: `${bridge.url}/scan`, VIRUS_SCAN_REQUIRED: '1' });
  const clean = [{ filename: 'plan.pdf', data: pdf() }, { filename: 'words.txt', data: 'Good words.' }];
  const post = await writePost(hub, ada, clean);
  assert.deepEqual(post.attachments.map(({ scan }) => scan), ['clean', 'clean']);

  const bad = [
    { file: { filename: 'eicar.txt', data: EICAR }, signature: EICAR_NAME },
    { file: { filename: 'letter.pdf', data: pdf(Buffer.from(BAD_WORDS)) }, signature: BAD_WORDS_NAME },
  ];
  for (const { file } of bad) assert.equal((await addFiles(hub, ada.client, post.id, [...clean, file])).status, 422);
  assert.deepEqual(fileActs(hub).map(({ name, detail }) => [name, detail['signature']]),
    bad.map(({ file, signature }) => [file.filename, signature]));
  assert.deepEqual([filesIn(hub.dataDir).uploads.length, filesIn(hub.dataDir).tmp], [2, []]);
  assertFilesMatchRows(hub);

  await clamd.kill();
  assert.equal((await addFiles(hub, ada.client, post.id, clean)).status, 503);
});

test('what came while clamd was not there is found when it is back', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const clamd = await startClamd(t);
  const { url } = await startBridge(t, { address: clamd.address });
  const away = await startBridge(t, { address: { path: '/nonexistent/clamd.sock' } });
  const before = await startHub(t, { VIRUS_SCAN_URL: `${away.url}/scan` });
  const ada = await writer(before, 'ada');
  const post = await writePost(before, ada,
    [{ filename: 'eicar.txt', data: EICAR }, { filename: 'good.txt', data: 'good' }]);
  assert.deepEqual(post.attachments.map(({ scan }) => scan), ['unscanned', 'unscanned']);

  const hub = await startHub(t, { VIRUS_SCAN_URL: `${url}/scan`, DATA_DIR: before.dataDir });
  await hub.work(HOUR);
  const { attachments } = (await hub.anybody.get(`/api/posts/${post.id}`)).json<PostAnswer>();
  assert.deepEqual(attachments.map(({ filename, scan }) => [filename, scan]), [['good.txt', 'clean']]);
  assert.deepEqual(await scanCounts(hub), { clean: 1, infected: 1, unavailable: 2 });
});
