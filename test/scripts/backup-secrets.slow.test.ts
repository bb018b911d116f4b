// Protects secrets: none that the hub was told or has given out stands readable in a backup or a log.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { webhooks } from '../../src/features/webhooks/webhook-store.ts';
import { addNotes } from '../support/accounts.ts';
import { createClient, type Client } from '../support/client.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir, type HubProcess } from '../support/hub-process.ts';
import { reply, startOrigin } from '../support/origin.ts';
import { query } from '../support/restore-hub.ts';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { CLEAN } from '../support/scanner.ts';
import { standardEvent } from '../support/signed-events.ts';
import { writePost } from '../support/uploads.ts';
import { waitUntil } from '../support/wait-until.ts';
import { makeWebhook, sendEvent, type Hook } from '../support/webhooks.ts';

/** What must not be found, by what it is. */
type Secrets = Record<string, string>;

/** In a file and in an event: it has to be found, or the search would prove nothing. */
const KNOWN = 'Barn owls hunt at night, says the post.';

/** A text in the forms in which it may stand somewhere: as it is, in hex, and in base64 at any of its three places. */
function formsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const inBase64 = [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    // The characters at its ends depend on what stands before and after it.
    const [start, end] = [before === 0 ? 0 : before + 1, Math.floor((whole.length * 4) / 3)];
    const sure = (encoded: string): string => encoded.slice(start, end);
    return [sure(whole.toString('base64')), sure(whole.toString('base64url'))];
  });
  const hex = bytes.toString('hex');
  const texts = [hex, hex.toUpperCase(), encodeURIComponent(text), JSON.stringify(text).slice(1, -1), ...inBase64];
  return [bytes, Buffer.from(text, 'utf16le'), ...texts.map((form) => Buffer.from(form))];
}

/** The same, and the bytes that a secret of random bytes was written from. */
function formsOfSecret(secret: string): Buffer[] {
  const raw = Buffer.from(secret.replace(/^[a-z]+_/, ''), 'base64');
  return [...formsOf(secret), ...(raw.length >= 16 ? [raw, ...formsOf(raw.toString('hex'))] : [])];
}

/** Which of the secrets stand where. */
function found(places: Record<string, Buffer>, secrets: Secrets): string[] {
  return Object.entries(places).flatMap(([place, bytes]) => Object.entries(secrets)
    .filter(([, secret]) => formsOfSecret(secret).some((form) => bytes.includes(form)))
    .map(([name]) => `${name} in ${place}`));
}

/** Every byte of a backup, its archive unpacked. */
function bytesOf(backup: string): Record<string, Buffer> {
  const files = readdirSync(backup).map((name) => [name, readFileSync(join(backup, name))] as const);
  return Object.fromEntries(files.map(([name, bytes]) => [name, name.endsWith('.gz') ? gunzipSync(bytes) : bytes]));
}

/** A hub with a receiver of alerts, a scanner, and settings that hold secrets; `said` is what its processes logged. */
async function hubWithSecrets(t: TestContext) {
  const folder = temporaryDataDir(t);
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const away = await startOrigin(t, (request, response) =>
    (request.path.startsWith('/alerts') ? reply(500, {}) : CLEAN)(request, response));
  const random = (): string => randomBytes(24).toString('base64url');
  const key = randomBytes(32);
  writeFileSync(join(folder, 'key'), key, { mode: 0o600 });
  const secrets: Secrets = {
    password: `the password ${random()}`, 'mistyped password': `not the ${random()}`,
    'key file': key.toString('base64url'),
    METRICS_TOKEN: random(), 'ALERT_WEBHOOK_URL path': random(), 'ALERT_WEBHOOK_URL query': random(),
    'HEARTBEAT_URL path': random(), 'HEARTBEAT_URL password': random(),
    'VIRUS_SCAN_URL user': random(), 'VIRUS_SCAN_URL password': random(), 'VIRUS_SCAN_URL query': random(),
  };
  const [user, password, query] = ['user', 'password', 'query'].map((part) => secrets[`VIRUS_SCAN_URL ${part}`]);
  const env = {
    LOG_LEVEL: 'debug', METRICS_TOKEN: secrets['METRICS_TOKEN'] ?? '', ALERT_WEBHOOK_FORMAT: 'json',
    ALERT_WEBHOOK_URL:
      `${away.url}/alerts/${secrets['ALERT_WEBHOOK_URL path']}?key=${secrets['ALERT_WEBHOOK_URL query']}`,
    HEARTBEAT_URL: `${away.url.replace('//', `//hub:${secrets['HEARTBEAT_URL password']}@`)}/ping/` +
      secrets['HEARTBEAT_URL path'],
    VIRUS_SCAN_URL: `${away.url.replace('//', `//${user}:${password}@`)}/scan?token=${query}`,
  };
  const sealed = { ...env, HUB_SECRET_KEY_FILE: join(folder, 'key') };
  let said = '';
  const run = async (program: string, args: string[], settings: Record<string, string> = sealed) => {
    const outcome = await runProgram(join(PROJECT_ROOT, 'scripts', program), args, {
      env: { ...hubEnvironment(dataDir, settings), PATH: '/usr/bin:/bin', HUB_NODE: process.execPath }, cwd: folder,
    });
    said += outcome.stderr;
    return outcome;
  };
  const stop = async (...processes: HubProcess[]): Promise<void> => {
    for (const one of processes) {
      await one.end('SIGTERM');
      said += one.stderr();
    }
  };
  return { dataDir, env, sealed, secrets, away, run, stop, said: () => said };
}

type HubWithSecrets = Awaited<ReturnType<typeof hubWithSecrets>>;

/** Ada joins by a link, and does what brings each kind of secret into the hub. */
async function useEverything(hub: HubWithSecrets, address: string): Promise<{ ada: Client; hook: Hook }> {
  const { secrets } = hub;
  const link = (await hub.run('hubctl', ['invite'], hub.env)).stdout.trim();
  secrets['link of an invitation'] = link.slice(link.lastIndexOf('/') + 1);
  const unused = (await hub.run('hubctl', ['invite'], hub.env)).stdout.trim();
  secrets['link that nobody followed'] = unused.slice(unused.lastIndexOf('/') + 1);
  const ada = createClient(address);
  const joined = await ada.post('/api/accounts', { invitation: link, username: 'ada', password: secrets['password'] });
  assert.equal(joined.status, 201, joined.text);
  const anybody = createClient(address);
  assert.equal((await anybody.page(new URL(unused).pathname)).status, 200);
  const mistyped = { username: 'ada', password: secrets['mistyped password'] };
  assert.equal((await anybody.post('/api/session', mistyped)).status, 401);
  for (const [name, value] of ada.cookies) secrets[`cookie ${name}`] = value;

  secrets['API token'] = (await ada.post('/api/tokens', { name: 'script', currentPassword: secrets['password'] })).json<{ token: string }>().token;
  const asScript = await anybody.get('/api/account', { authorization: `Bearer ${secrets['API token']}` });
  assert.equal(asScript.status, 200, asScript.text);
  const metrics = await anybody.get('/api/metrics', { authorization: `Bearer ${secrets['METRICS_TOKEN']}` });
  assert.equal(metrics.status, 200, metrics.text);
  const writer = { client: ada, sourceId: await addNotes(ada) };
  await writePost({ address }, writer, [{ filename: 'owls.txt', data: KNOWN }]);
  const hook = await makeWebhook(ada);
  secrets['webhook secret before there was a key'] = hook.secret;
  await receive(address, hook);
  return { ada, hook };
}

/** An event with the secret that is valid now, and one that is forged. */
async function receive(address: string, { id, secret }: Hook): Promise<void> {
  const timestamp = Math.floor(Date.now() / 1_000);
  const data = { id: randomBytes(8).toString('hex'), title: KNOWN };
  const body = JSON.stringify({ type: 'post.published', timestamp: new Date().toISOString(), data });
  const event = standardEvent(secret, { id: randomBytes(8).toString('hex'), timestamp, body });
  const sent = await sendEvent(address, id, event);
  assert.equal(sent.status, 202, sent.text);
  const forged = standardEvent('whsec_' + randomBytes(24).toString('base64'), { timestamp, body });
  assert.equal((await sendEvent(address, id, forged)).status, 401);
}

test('no byte of a backup, and no line of a log, holds a secret that the hub was told or has given out', async (t) => {
  const hub = await hubWithSecrets(t);
  const { dataDir, secrets, env, sealed } = hub;
  const open = startHubProcess(t, 'web', dataDir, env);
  const { ada, hook } = await useEverything(hub, await open.address());
  await hub.run('backup.sh', [], env);
  await hub.stop(open);
  const before = found(bytesOf(newestBackup(dataDir)), secrets);
  assert.deepEqual(before, ['webhook secret before there was a key in hub.db'], 'as the handbook warns');

  const storedBefore = storedSecret(dataDir);
  const web = startHubProcess(t, 'web', dataDir, sealed);
  const address = await web.address();
  const worker = startHubProcess(t, 'worker', dataDir, sealed);
  await waitUntil('the secret is sealed', () => storedSecret(dataDir) !== storedBefore);
  const again = createClient(address);
  for (const [name, value] of ada.cookies) again.cookies.set(name, value);
  await receive(address, hook);
  for (const name of ['after one rotation', 'after two']) {
    const rotated = await again.post(`/api/sources/${hook.id}/webhook/rotate`);
    assert.equal(rotated.status, 200, rotated.text);
    const { webhook: { secret } } = rotated.json<{ webhook: { secret: string } }>();
    secrets[`webhook secret ${name}`] = secret;
    await receive(address, { ...hook, secret });
  }
  assert.notEqual((await hub.run('hubctl', ['alerts', 'test'])).status, 0, 'the receiver fails');
  for (const name of ['ALERT_WEBHOOK_URL query', 'VIRUS_SCAN_URL query']) {
    assert.ok(hub.away.requests.some(({ path }) => path.includes(secrets[name] ?? '')), `${name} was used`);
  }
  assert.equal((await hub.run('nightly-backup.sh', [])).status, 0, hub.said());
  assert.equal(hub.away.requests.at(-1)?.path, `/ping/${secrets['HEARTBEAT_URL path']}`);
  await hub.stop(web, worker);

  const backup = bytesOf(newestBackup(dataDir));
  assert.deepEqual(found(backup, { KNOWN }).sort(), ['KNOWN in hub.db', 'KNOWN in uploads.tar.gz']);
  assert.deepEqual(found(backup, secrets), []);
  const logs = { 'the logs': Buffer.from(hub.said()), 'nightly.log': readFileSync(join(dataDir, 'backups/nightly.log')) };
  assert.ok(logs['the logs'].includes('"program":"worker"') && logs['nightly.log'].includes('VERIFIED'));
  assert.deepEqual(found(logs, secrets), []);
  assert.deepEqual(found(filesIn(join(dataDir, 'run')), secrets), []);
});

function storedSecret(dataDir: string): string | undefined {
  return query(dataDir, (db) => webhooks({ db, clock: Date.now }).secretsBeginningWith('', 1)[0]?.secret);
}

function newestBackup(dataDir: string): string {
  const name = readdirSync(join(dataDir, 'backups')).filter((one) => /^\d{8}-\d{6}$/.test(one)).sort().at(-1);
  return join(dataDir, 'backups', name ?? 'none');
}

function filesIn(folder: string): Record<string, Buffer> {
  const paths = readdirSync(folder).map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path)]));
}
