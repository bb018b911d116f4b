// Protects the recovery kit: from it and the copies elsewhere alone a hub comes back, and it tells no secret.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startHubProcess } from '../support/hub-process.ts';
import { putDatabase } from '../support/migrated-database.ts';
import { makeKey } from '../support/off-site.ts';
import { tileOf } from '../support/overview.ts';
import { freePort } from '../support/ports.ts';
import { runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryFolder, temporaryProject } from '../support/temporary-project.ts';
import { requireTool } from '../support/tools.ts';
import { startWebWithAccount } from '../support/web-with-account.ts';
import { eventBody, makeWebhook, sendEvent } from '../support/webhooks.ts';
import { standardEvent } from '../support/signed-events.ts';

const PARTS = ['scripts', 'src', 'migrations', 'package.json', 'node_modules/better-sqlite3', 'node_modules/node-addon-api'];
const PASSWORD = 'the password of the repository';

/** A hub of its own project, with a secret key, whose copies go to a restic repository; and an age key elsewhere. */
async function keptHub(t: TestContext) {
  for (const tool of ['age', 'restic']) if (!requireTool(t, tool)) return undefined;
  const project = temporaryProject(t, PARTS);
  const machine = mkdtempSync(join(tmpdir(), 'hub machine ')); // without a comma, of which Node warns in DATA_DIR
  t.after(() => rmSync(machine, { recursive: true, force: true }));
  const safe = temporaryFolder(t);
  const [dataDir, secretKey, password] = ['data', 'etc/secret key', 'etc/password'].map((name) => join(machine, name)) as
    [string, string, string];
  const repository = join(safe, 'repository');
  mkdirSync(dirname(secretKey));
  writeFileSync(secretKey, randomBytes(32));
  writeFileSync(password, `${PASSWORD}\n`);
  writeFileSync(join(project, '.env'), `DATA_DIR="${dataDir}"\nPORT=${await freePort()}\nHUB_SECRET_KEY_FILE="${secretKey}"\n` +
    `METRICS_TOKEN=a-token-of-the-test\nBACKUP_RESTIC_REPOSITORY="${repository}"\nBACKUP_RESTIC_PASSWORD_FILE="${password}"\n`);
  const env = { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath, HOME: machine };
  const sh = (script: string, cwd = project): Promise<Outcome> => runProgram('sh', ['-ec', script], { env, cwd });
  const made = await sh(`restic -q -r '${repository}' --password-file '${password}' init`);
  assert.equal(made.status, 0, made.stderr);
  return { project, machine, safe, dataDir, secretKey, key: makeKey(safe), sh, env };
}

test('from the kit, its age key and the repository alone a hub comes back on another machine, with sealed webhooks', async (t) => {
  const hub = await keptHub(t);
  if (!hub) return;
  const settings = { HUB_SECRET_KEY_FILE: hub.secretKey };
  const { web, client, address } = await startWebWithAccount(t, hub.dataDir, settings);
  const hook = await makeWebhook(client);
  const health = async (at: string): Promise<{ recoveryKit: { ageSeconds: number } | null }> =>
    (await (await fetch(`${at}/api/health`)).json()) as { recoveryKit: { ageSeconds: number } | null };
  assert.equal((await health(address)).recoveryKit, null);

  const backup = await hub.sh('./scripts/backup.sh');
  assert.match(backup.stdout, /result=verified off-site=done/, backup.stderr);
  const printed = await hub.sh(`./scripts/hubctl recovery-kit --recipient ${hub.key.recipient} >'${hub.safe}/kit.txt'`);
  assert.deepEqual([printed.status, printed.stderr], [0, '']);
  const { recoveryKit } = await health(address);
  assert.ok(recoveryKit && recoveryKit.ageSeconds < 60);
  const { state, more } = await tileOf(client, 'Recovery kit');
  assert.equal(state, 'printed');
  assert.match(more, /^<time datetime=/);
  await web.end('SIGTERM');

  const kit = readFileSync(join(hub.safe, 'kit.txt'), 'utf8');
  for (const secret of [PASSWORD, 'a-token-of-the-test', hub.key.secret]) assert.ok(!kit.includes(secret));
  for (const place of [hub.project, hub.machine]) renameSync(place, join(hub.safe, `lost-${place.length}-${place.slice(-3)}`));
  mkdirSync(hub.machine);
  const name = /name=(\S+)/.exec(backup.stdout)?.[1] ?? '';
  const steps = [...kit.matchAll(/^ {4}(.*)$/gm)].map(([, step = '']) => step)
    .filter((step) => !/^git clone|set-up\.sh$/.test(step)) // done by this copy
    .map((step) => step.replace('NAME', name).replace(/\bKIT\b/, '../kit').replace(/\bKEY$|\bKEY(?= )/, '../key'));
  // In the account of the hub: with root's rights what lies outside of the clone and of one's home, such as in /etc.
  const outside = steps.filter((step) => step.startsWith('sudo install -D -m 0600 -o "$(id -un)" '));
  assert.deepEqual(outside.map((step) => step.includes(hub.machine)), [true, true]);
  const next = temporaryProject(t, PARTS);
  writeFileSync(join(next, '../kit'), kit);
  renameSync(hub.key.path, join(next, '../key'));
  for (const step of steps) {
    const { status, stdout, stderr } = await hub.sh(step.replace('sudo ', ''), next);
    assert.equal(status, 0, `${step}\n${stdout}${stderr}`);
    if (step.includes('--list')) assert.match(stdout, new RegExp(`--restic NAME\n  ${name} `));
  }

  const again = startHubProcess(t, 'web', hub.dataDir, settings);
  const event = standardEvent(hook.secret, {
    id: 'msg_after', timestamp: Math.floor(Date.now() / 1_000),
    body: eventBody('post.published', { id: 'one', title: 'After the fire', content: 'Here again.' }, Date.now()),
  });
  const received = await sendEvent(await again.address(), hook.id, event);
  assert.equal(received.status, 202, received.text);
});

test('without a recipient the files are named and not included, and what cannot be kept whole is said', async (t) => {
  const hub = await keptHub(t);
  if (!hub) return;
  mkdirSync(hub.dataDir, { mode: 0o700 });
  putDatabase(join(hub.dataDir, 'hub.db'));
  const { status, stdout } = await hub.sh('ALERT_WEBHOOK_URL=https://example.org/secret ./scripts/hubctl recovery-kit');
  assert.equal(status, 0);
  assert.match(stdout, /\/\.env {3}\(NOT included: keep a copy\)\n.*secret key {3}\(NOT included/);
  assert.match(stdout, /^ {2}ALERT_WEBHOOK_URL {3}\(set in the environment, not in \.env: keep a note\)$/m);
  assert.match(stdout, /^ {4}git clone '?<this project>'? content-hub && cd content-hub && git checkout -q '?v\d+\.\d+\.\d+'?$/m);
  assert.doesNotMatch(stdout, /WARNING/);
  await hub.sh('git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git remote add origin /srv/hub.git');
  const local = (await hub.sh('./scripts/hubctl recovery-kit')).stdout;
  assert.match(local, /^ {2}WARNING: \/srv\/hub\.git is a folder of this machine: take the project from where it is published\.$/m);
  assert.match(local, /^ {4}git clone .*\/srv\/hub\.git'? content-hub && cd content-hub && git checkout -q '?[0-9a-f]{40}'?$/m);
  await hub.sh('git tag v9.9.9 && git remote set-url origin https://example.net/hub.git');
  const tagged = (await hub.sh('./scripts/hubctl recovery-kit')).stdout;
  assert.match(tagged, /^ {4}git clone .*example\.net\/hub\.git'? content-hub && cd content-hub && git checkout -q '?v9\.9\.9'?$/m);
  assert.doesNotMatch(tagged, /WARNING/);
  assert.doesNotMatch(stdout, /BEGIN AGE|example\.org|a-token-of-the-test|the password of/);
  const note = join(hub.dataDir, 'run/recovery-kit.json');
  assert.ok(Math.abs(Date.now() - (JSON.parse(readFileSync(note, 'utf8')) as { at: number }).at) < 60_000);
  rmSync(note);

  for (const [recipient, why] of [['age1nonsense', /age refuses --recipient: /], ['-o', /^Usage: hubctl recovery-kit/]] as const) {
    const refused = await hub.sh(`./scripts/hubctl recovery-kit --recipient '${recipient}'`);
    assert.equal(refused.stdout, '', recipient);
    assert.match(refused.stderr, why);
  }
  rmSync(note, { force: true });
  rmSync(join(hub.machine, 'etc/password'));
  const lacking = await hub.sh(`./scripts/hubctl recovery-kit --recipient ${hub.key.recipient}`);
  assert.deepEqual([lacking.status, lacking.stdout], [1, '']);
  assert.match(lacking.stderr, /etc\/password cannot be read by \w+: run this as root/);
  await assert.rejects(async () => readFileSync(note), { code: 'ENOENT' });
});
