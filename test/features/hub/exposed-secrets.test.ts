// Protects secrets in files from other accounts of the machine: the hub says which files everybody can read.
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exposedSecrets } from '../../../src/features/hub/read-config.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { hubEnvironment } from '../../support/hub-process.ts';
import { hubctl } from '../../support/hubctl.ts';
import { startHub } from '../../support/hub.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';

test('a .env with secrets that every account can read is named, and neither a private one nor one without secrets', (t) => {
  const folder = temporaryFolder(t);
  for (const [text, mode, found] of [
    ['METRICS_TOKEN=abcdefghijklmnopqrstuvwxyz\n', 0o644, ['.env']], ['METRICS_TOKEN=abcdefghijklmnopqrstuvwxyz\n', 0o604, ['.env']],
    ['METRICS_TOKEN=abcdefghijklmnopqrstuvwxyz\n', 0o600, []], ['METRICS_TOKEN=abcdefghijklmnopqrstuvwxyz\n', 0o640, []],
    ['ALERT_WEBHOOK_URL=https://hooks.example/SECRET\n', 0o644, ['.env']], ['PORT=8081\nMETRICS_TOKEN_FILE=token\n', 0o644, []],
    ['BACKUP_RESTIC_REPOSITORY=rest:https://me:pass@far.example/hub\n', 0o644, ['.env']], ['no line of a .env\n', 0o644, []],
  ] as const) {
    writeFiles(folder, { '.env': text });
    chmodSync(join(folder, '.env'), mode);
    assert.deepEqual(exposedSecrets({ projectRoot: folder, secretFiles: [] }), found.map((name) => join(folder, name)), `${text} ${mode.toString(8)}`);
  }
});

test('the overview and doctor name a file of a secret that every account can read, and what to do, until it is private', async (t) => {
  const key = join(temporaryFolder(t), 'key');
  writeFiles(join(key, '..'), { key: 'k'.repeat(40) });
  chmodSync(key, 0o644);
  const env = { HUB_SECRET_KEY_FILE: key };
  const hub = await startHub(t, env);
  const ada = await hub.person('ada');
  const told = async () => [
    conditionsOn(hub.handle, 'Settings').includes('secrets-readable'), (await ada.page('/admin')).text.includes('can read'),
    /can read .*key[^]*chmod 600/.test((await hubctl(hubEnvironment(hub.dataDir, env), 'doctor')).stdout),
  ];
  assert.deepEqual(await told(), [true, true, true]);

  chmodSync(key, 0o600);
  assert.deepEqual(await told(), [false, false, false]);
});
