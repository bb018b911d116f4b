// Protects what people write during an upgrade: on trial it is refused, and nothing that was taken is lost.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../support/client.ts';
import { testWith } from '../support/tools.ts';
import { upgradableHub } from '../support/upgradable-hub.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('git');

/** In the place of the worker's first import: it works beside the hub, where DATA_DIR is given, and hangs in its place. */
const HANGING = `if (!process.env['DATA_DIR']) { setInterval(() => {}, 1000); await new Promise(() => {}); }\nimport`;

/** Posts without pause until \`stop\`. Keeps the titles that the hub acknowledged, and the refusals. */
function writeOn(ada: Client, sourceId: number) {
  const taken: string[] = [];
  const refused = new Set<string>();
  let isOver = false;
  const writing = (async () => {
    for (let n = 1; !isOver; n++) {
      const title = `post ${n}`;
      const answer = await ada.post('/api/posts', { sourceId, title, content: 'Text', contentType: 'text/plain' })
        .catch(() => undefined); // nobody listens while the versions are swapped
      if (answer?.status === 201) taken.push(title);
      else if (answer) refused.add(`${answer.status} ${answer.headers.get('retry-after')}`);
    }
  })();
  return { taken, refused, stop: (): Promise<void> => ((isOver = true), writing) };
}

test('a version whose worker hangs is taken back, and no acknowledged post is lost', async (t) => {
  const hub = await upgradableHub(t, 'RESTORE_HEALTH_SECONDS=10');
  hub.releaseWith({ 'src/bin/worker.ts': [/^import/m, HANGING] });
  const writer = writeOn(hub.ada, hub.notes);

  const { status, stderr } = await hub.upgrade();
  const atTheEnd = writer.taken.length;
  await waitUntil('the old version takes posts again', () => writer.taken.length > atTheEnd);
  await writer.stop();

  assert.equal(status, 1, stderr);
  assert.match(stderr, /worker did not write to the database within \d+ s\n.*going back to/);
  assert.deepEqual([...writer.refused], ['503 10']);
  const kept = new Set(await hub.everyTitle());
  assert.deepEqual(writer.taken.filter((title) => !kept.has(title)), []);
  await hub.hub.interrupt();
});

test('after kill -9 of the script the hub ends the trial by itself, takes posts, and nothing goes back any more', async (t) => {
  const hub = await upgradableHub(t, 'RESTORE_HEALTH_SECONDS=10');
  hub.releaseWith({ 'src/bin/worker.ts': [/^import/m, HANGING] });
  const trial = join(hub.data, 'run/restore-probation.json');
  const script = spawn('./scripts/upgrade.sh', { cwd: hub.place('hub'), env: hub.env, detached: true, stdio: 'ignore' });
  const phase = (): string => /^phase=.*$/m.exec(readFileSync(join(hub.place('hub'), '.runtime/upgrade/state'), 'utf8'))?.[0] ?? '';
  await waitUntil('the new version is on trial', () => existsSync(trial));
  process.kill(-(script.pid ?? 0), 'SIGKILL');
  await once(script, 'close');

  const write = () => hub.ada.post('/api/posts', { sourceId: hub.notes, title: 'after', content: '', contentType: 'text/plain' })
    .then(({ status }) => status, () => 0);
  await waitUntil('the new version answers', async () => await write() !== 0);
  assert.equal(await write(), 503);
  await waitUntil('the trial is over', async () => await write() === 201);
  assert.equal(existsSync(trial), false);
  assert.equal(phase(), 'phase=trial');

  const recovered = await hub.upgrade('--recover');
  assert.equal(recovered.status, 0, recovered.stderr);
  assert.match(recovered.stderr, /the hub has ended the trial by itself: 99\.1\.0 .* stays/);
  assert.match(recovered.stdout, /^UPGRADED from /);
  assert.deepEqual([(await hub.posts())[0], hub.leftovers()], ['after', []]);
  await hub.hub.interrupt();
});

test('where nobody runs the hub, web and worker of the new version are tried too, and a worker that ends is taken back', async (t) => {
  const hub = await upgradableHub(t, 'RESTORE_HEALTH_SECONDS=8');
  const before = hub.git('rev-parse HEAD');
  await hub.hub.interrupt();
  hub.releaseWith({ 'src/bin/worker.ts': [/^import/m, `if (!process.env['DATA_DIR']) throw new Error('of the worker');\nimport`] });

  const { status, stderr } = await hub.upgrade();

  assert.equal(status, 1, stderr);
  assert.match(stderr, /of the worker[^]*going back to/);
  assert.deepEqual([hub.git('rev-parse HEAD'), hub.leftovers()], [before, []]);
});
