// Protects the start: no statement that cannot be prepared, and no more files before web listens than that needs.
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openHubDatabase } from '../src/app/processes/open-hub.ts';
import { loadConfig } from '../src/features/hub/read-config.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir } from './support/hub-process.ts';
import { SOURCES } from './support/source-tree.ts';

for (const program of ['web', 'worker'] as const) {
  test(`a statement that cannot be prepared, though nobody needs it yet, ends ${program} before it begins`, async (t) => {
    const dataDir = temporaryDataDir(t);
    const db = openHubDatabase(loadConfig(hubEnvironment(dataDir)));
    db.exec('DROP TABLE follows');
    db.close();

    const started = startHubProcess(t, program, dataDir);

    assert.equal(await started.ended, 1);
    assert.match(started.stderr(), /no such table: (main\.)?follows/);
    assert.doesNotMatch(started.stderr(), /"event":"(listening|working)"/);
  });
}

test('one that only the overview needs ends web as soon as it is loaded', async (t) => {
  const dataDir = temporaryDataDir(t);
  const db = openHubDatabase(loadConfig(hubEnvironment(dataDir)));
  db.exec('DROP TABLE history');
  db.close();

  const started = startHubProcess(t, 'web', dataDir);

  assert.equal(await started.ended, 1);
  assert.match(started.stderr(), /no such table: history/);
});

test('web prepares its statements before it listens, and loads the handlers after that', () => {
  const loaded = loadedWith('src/bin/web.ts');

  assert.ok(loaded.has('src/features/posts/post-store.ts'), 'statements are prepared before');
  assert.ok(!loaded.has('src/features/reading/post-routes.ts'));
});

test('node:http is taken from the one file that does not load fetch with it', () => {
  const takers = SOURCES.filter(({ text }) => /^import (?!type )[^;]*from 'node:http';|getBuiltinModule/m.test(text));

  assert.deepEqual(takers.map(({ name }) => name), ['src/platform/node-http.ts']);
});

/** The files that are loaded with one: by its imports and theirs, but not those of types alone or at a later time. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  loaded.add(file);
  const text = SOURCES.find(({ name }) => name === file)?.text ?? '';
  for (const [, target = ''] of text.matchAll(/^(?:import|export) (?!type )(?:[^;']* from )?'(\.[^']+)';$/gm)) {
    const path = join(dirname(file), target);
    if (!loaded.has(path)) loadedWith(path, loaded);
  }
  return loaded;
}
