// Protects uploads with a real ClamAV behind the bridge.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBridge } from '../../support/clamd-bridge.ts';
import { BAD_WORDS, BAD_WORDS_NAME, EICAR, EICAR_NAME, startClamd } from '../../support/clamd.ts';
import { pdf } from '../../support/sample-files.ts';
import { fileActs } from '../../support/scanner.ts';
import { requireTool } from '../../support/tools.ts';
import { addFiles, assertFilesMatchRows, filesIn, hubWithWriter, writePost } from '../../support/uploads.ts';

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
