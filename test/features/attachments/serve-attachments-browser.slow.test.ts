// Protects the hub from files in a real browser: nothing that one holds is run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../../support/browser.ts';
import { attachOne, hubWithOwnPosts } from '../../support/own-posts.ts';
import { gif, gifSubBlocks, png, pngChunk } from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';

const SIZE = { width: 16, height: 8 };
const SCRIPT = '<!doctype html><title>x</title><script>document.title = "ran"; window.ran = 1</script>';

test('a file by itself never runs anything in the hub\'s name, whatever it holds and however it is opened', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const browser = await openBrowser(t);
  const comment = Buffer.concat([Buffer.from('21fe', 'hex'), gifSubBlocks(Buffer.from(SCRIPT))]);
  const files: [name: string, content: Buffer | string][] = [
    ['page.txt', SCRIPT], ['page.md', SCRIPT], ['image.gif', gif(SIZE, [SIZE], comment)],
    ['image.png', png(SIZE, pngChunk('tEXt', Buffer.from(SCRIPT)))],
  ];
  for (const [name, content] of files) {
    const { path } = await attachOne(hub, ada, sourceId, name, content);
    await browser.goto(`${hub.address}/sources`);
    await browser.goto(hub.address + path).catch(() => {}); // a download opens no page
    assert.equal(await browser.run('return window.ran ?? null'), null, name);
    assert.notEqual(await browser.run('return document.title'), 'ran', name);
  }
});
