// Protects the start: a statement that cannot be prepared ends web and worker before they begin.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHubDatabase } from '../src/app/processes/open-hub.ts';
import { loadConfig } from '../src/features/hub/read-config.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir } from './support/hub-process.ts';

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
