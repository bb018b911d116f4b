// Protects the lists of settings: README, handbook and `hubctl config` say what they say, and secrets stay secret.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError, readConfig } from '../../../src/features/hub/read-config.ts';
import { SETTINGS, type Setting } from '../../../src/features/hub/settings.ts';
import { hubctl } from '../../support/hubctl.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { PROJECT_ROOT } from '../../support/run-program.ts';
import { BRIDGE_ONLY, envExample, settingsTable, tableOf } from '../../support/settings-texts.ts';

const ALL: Setting<unknown>[] = Object.values(SETTINGS);
const SECRETS = ALL.filter(({ secret }) => secret !== undefined);

test('README, handbook and .env.example say of every setting what the lists say', () => {
  const advice = 'run: node test/support/settings-texts.ts';
  assert.equal(settingsTable('README.md'), tableOf(SETTINGS), advice);
  assert.equal(settingsTable('scripts/REFERENCE.md'), tableOf(BRIDGE_ONLY));
  assert.equal(readFileSync(join(PROJECT_ROOT, '.env.example'), 'utf8'), envExample(), advice);
});

test('the places in the handbook that settings lead to are there', () => {
  const headings = [...readFileSync(join(PROJECT_ROOT, 'scripts/README.md'), 'utf8').matchAll(/^#+ (.*)$/gm)];
  const anchors = headings.map(([, heading = '']) => heading.toLowerCase().replaceAll(' ', '-'));
  for (const { seeHandbook } of ALL) assert.ok(seeHandbook === undefined || anchors.includes(seeHandbook), seeHandbook);
});

test('every setting has a name of its own, a meaning, and a default that its own parser takes', () => {
  assert.equal(new Set(ALL.map(({ name }) => name)).size, ALL.length);
  for (const { name, parse, meaning, default: text } of ALL) {
    assert.match(name, /^[A-Z][A-Z_]+$/);
    assert.match(meaning, /^[^|\n]+[^|\n.]$/, 'one sentence, in a cell of a table');
    if (text !== null) assert.doesNotThrow(() => parse(text, '/srv/hub'), name);
  }
});

test('hubctl config shows every setting but secrets and lists', async () => {
  const lists = ['TRUSTED_PROXIES', 'OUTBOUND_ALLOW'];
  for (const { name, secret, default: text } of ALL) {
    const { status, stdout: shown } = await hubctl({ DATA_DIR: '/srv/data' }, 'config', name);
    const hidden = secret !== undefined || lists.includes(name);
    assert.equal(status, hidden ? 2 : 0, name);
    const derived = { DATA_DIR: '/srv/data', BACKUP_DIR: '/srv/data/backups', BASE_URL: 'http://127.0.0.1:8080' };
    const expected = new Map(Object.entries(derived)).get(name) ?? text ?? '';
    assert.equal(shown, hidden ? '' : `${expected}\n`, name);
  }
});

test('a secret that is wrong is not repeated, wherever it came from', () => {
  const source = { projectRoot: PROJECT_ROOT, readFile: () => 'hunter2 \u0000' };
  for (const { name, secret } of SECRETS) {
    const places = secret === 'bytes' ? [`${name}_FILE`] : [name, `${name}_FILE`];
    for (const place of places) {
      assert.throws(() => readConfig({ [place]: 'hunter2 \u0000' }, source), (error) =>
        error instanceof ConfigError && error.message.includes(place) && !error.message.includes('hunter2'), place);
    }
  }
});

test('no secret of a running hub is in its log, its command line or its title', async (t) => {
  const secrets = {
    METRICS_TOKEN: 'token-hunter2',
    VIRUS_SCAN_URL: 'http://scanner:hunter2@127.0.0.1:8/scan',
    ALERT_WEBHOOK_URL: 'http://127.0.0.1:8/hooks/hunter2',
    HEARTBEAT_URL: 'http://127.0.0.1:8/ping/hunter2',
  };
  const texts = SECRETS.filter(({ secret }) => secret === 'text');
  assert.deepEqual(texts.map(({ name }) => name).toSorted(), Object.keys(secrets).toSorted(), 'all of them');

  const web = startHubProcess(t, 'web', temporaryDataDir(t), { LOG_LEVEL: 'debug', ...secrets });
  await fetch(`${await web.address()}/api/health`);
  const { pid } = web.child;
  const shown = ['cmdline', 'comm'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
  assert.equal(await web.end('SIGTERM'), 0);

  for (const text of [web.stdout(), web.stderr(), ...shown]) assert.doesNotMatch(text, /hunter2/);
  assert.match(web.stderr(), /"event":"listening"/);
});
