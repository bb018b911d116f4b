// Protects the start: a statement that cannot be prepared stops web and worker before they do anything.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir } from '../support/hub-process.ts';

for (const [program, table] of [['web', 'follows'], ['worker', 'follows'], ['web', 'history']] as const) {
  test(`a statement on ${table} that cannot be prepared ends ${program} before it begins`, async (t) => {
    const dataDir = temporaryDataDir(t);
    const db = openHubDatabase(loadConfig(hubEnvironment(dataDir)));
    db.exec(`DROP TABLE ${table}`);
    db.close();

    const started = startHubProcess(t, program, dataDir);

    assert.equal(await started.ended, 1);
    assert.match(started.stderr(), new RegExp(`no such table: (main\\.)?${table}`));
    assert.doesNotMatch(started.stderr(), /"event":"(listening|working)"/);
  });
}
