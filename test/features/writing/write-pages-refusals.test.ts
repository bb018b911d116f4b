// Protects the words typed into a form whose files are refused or which cannot be stored.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { countRows } from '../../support/stored-rows.ts';
import { hubWithOwnPosts, submitForm } from '../../support/own-posts.ts';
import type { SentFile } from '../../support/uploads.ts';
import { pdf } from '../../support/sample-files.ts';
import { INFECTED, startScanner } from '../../support/scanner.ts';
import type { Hub } from '../../support/hub.ts';

const TYPED = { sourceId: '1', title: 'Owls at dusk', content: 'Five of them.\nTwo young.' };

function assertKept(status: number, text: string, wanted: number, message: RegExp): void {
  assert.equal(status, wanted, text);
  assert.match(text, message);
  assert.match(text, /value="Owls at dusk"/);
  assert.match(text, /Five of them\.\r?\nTwo young\./);
}

function assertNothingStored(hub: Hub): void {
  assert.deepEqual(readdirSync(join(hub.dataDir, 'tmp')), []);
  assert.equal(countRows(hub, 'posts'), 0);
}

test('too many files, or an infected one, are refused on the page with a message, and what was typed stays', async (t) => {
  const scanner = await startScanner(t, INFECTED);
  const { hub, ada } = await hubWithOwnPosts(t, { VIRUS_SCAN_URL: `${scanner.url}/scan` });
  const send = (files: SentFile[]) =>
    submitForm(hub, ada, '/write', TYPED, files);

  const many = await send(Array.from({ length: 11 }, (_, n) => ({ filename: `${n}.pdf`, data: pdf() })));
  assertKept(many.status, many.text, 413, /at most 10 files/);
  const infected = await send([{ filename: 'bad.pdf', data: pdf() }]);
  assertKept(infected.status, infected.text, 422, /bad\.pdf is infected/);
  assertNothingStored(hub);
});

test('when the database cannot grow, the page says so, keeps what was typed, and takes it once there is space', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const send = () => submitForm(hub, ada, '/write', { ...TYPED, content: `${TYPED.content}\n\n${'x'.repeat(90_000)}` }, []);
  const before = Number(hub.db.pragma('max_page_count'));
  hub.db.pragma(`max_page_count = ${String(hub.db.pragma('page_count'))}`);

  const refused = await send();
  assertKept(refused.status, refused.text, 503, /cannot store or read its data right now/);
  assert.equal(refused.headers.get('retry-after'), '30');
  assertNothingStored(hub);
  assert.ok(hub.logged().some(({ event }) => event === 'post not stored'), 'the operator is told');

  hub.db.pragma(`max_page_count = ${before}`);
  assert.equal((await send()).status, 303);
});
