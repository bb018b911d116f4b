// Protects what was acknowledged from the loss of the database's file under a running hub, and from the advice about it.
import assert from 'node:assert/strict';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDataDir } from '../../support/hub-process.ts';
import { hubctlProcess } from '../../support/hubctl.ts';
import { assertNothingLost, followAdvice, startWriting, type WritingHub } from '../../support/lost-database.ts';

/** How a file is lost; `says` is part of what health says then. */
const LOSSES: Record<string, { lose(hub: WritingHub): void; says: RegExp }> = {
  'rm': { lose: ({ database }) => rmSync(database), says: /^hub\.db was removed/ },
  'rm of database and log': {
    lose: ({ database }) => ['', '-wal', '-shm'].forEach((end) => rmSync(database + end)), says: /^hub\.db was removed/,
  },
  'mv away': { lose: ({ database, dataDir }) => renameSync(database, join(dataDir, 'hub.old')), says: /^hub\.db was removed/ },
  'mv of another file over it': {
    lose({ database }) {
      copyFileSync(database, `${database}.new`);
      renameSync(`${database}.new`, database);
    },
    says: /^hub\.db was replaced/,
  },
  'rm of the log': { lose: ({ database }) => rmSync(`${database}-wal`), says: /^hub\.db has lost its write-ahead log/ },
  'rm of the index of the log': { lose: ({ database }) => rmSync(`${database}-shm`), says: /^hub\.db has lost its write-ahead log/ },
};

for (const [how, { lose, says }] of Object.entries(LOSSES)) {
  test(`${how}: writes get 503 at once, and all that was acknowledged is in a copy, put in place by the advised commands`, async (t) => {
    const hub = await startWriting(t, temporaryDataDir(t));
    for (let n = 0; n < 30; n++) assert.equal(await hub.write(), 201);
    const writing = [hub.writeUntilRefused()];
    lose(hub);
    assert.deepEqual(await Promise.all(writing), [503]);
    const health = await hub.saved();
    assert.deepEqual([health.status, health.ok, health.error], [503, false, 'database-gone']);
    assert.match(health.problem ?? '', says);
    const { stdout, status } = await hubctlProcess(hub.dataDir, ['status']);
    assert.equal(status, 1);
    assert.match(stdout, new RegExp(`All that was stored is in ${health.rescue?.file}, which was verified`));
    assert.equal((await hub.client.get('/api/posts')).status, 200, 'reading goes on');
    await hub.processes[0]?.end('SIGTERM');
    await followAdvice(stdout);
    await assertNothingLost(t, hub);
  });
}
