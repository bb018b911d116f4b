// Protects the bridge to ClamAV: a file that was not scanned as a whole is never called clean.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readBridgeConfig } from '../../../src/app/clamd-bridge/bridge-settings.ts';
import { ConfigError } from '../../../src/features/hub/read-config.ts';
import {
  BAD_WORDS, BAD_WORDS_NAME, EICAR, EICAR_NAME, onWholeStream, socketFolder, startClamd,
} from '../../support/clamd.ts';
import { assertNotScanned, connectionsTo, healthOf, postTo, startBridge } from '../../support/clamd-bridge.ts';
import { watchHubProcess, type HubProcess } from '../../support/hub-process.ts';
import { startRawOrigin } from '../../support/origin.ts';
import { freePort } from '../../support/ports.ts';
import { PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { temporaryProject, writeFiles } from '../../support/temporary-project.ts';
import { requireTool } from '../../support/tools.ts';
import { waitUntil } from '../../support/wait-until.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const LAUNCH = join(PROJECT_ROOT, 'src/bin/launch.ts');
const CLEAN = { clean: true };
const BAD = { clean: false, signature: BAD_WORDS_NAME };

/** A file of that size with the bad words at that place. */
function infected(bytes: number, at = 0): Buffer {
  const file = Buffer.alloc(bytes, 'a');
  file.write(BAD_WORDS, at);
  return file;
}

test('clamd finds what is in its signatures, wherever it stands in a file, and calls the rest clean', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const { address } = await startClamd(t);
  const bridge = await startBridge(t, { address });
  const { post, log } = bridge;

  assert.equal(await healthOf(bridge), 200);
  assert.deepEqual((await post('Barn owls hunt at night.')).body, CLEAN);
  assert.deepEqual((await post('')).body, CLEAN);
  assert.deepEqual((await post(randomBytes(MIB))).body, CLEAN);
  assert.deepEqual((await post(EICAR)).body, { clean: false, signature: EICAR_NAME });
  for (const at of [0, 65_536 - 10, MIB - BAD_WORDS.length]) {
    assert.deepEqual((await post(infected(MIB, at))).body, BAD);
  }
  assert.match(log(), /"event":"scanned","clean":false,"signature":"Hub\.BadWords\.UNOFFICIAL"/);
});

test('clamd may be reached over TCP, and bytes may come without a declared length', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const { address } = await startClamd(t, ['ExtendedDetectionInfo yes'], await freePort());
  const bridge = await startBridge(t, { address });
  const { post } = bridge;

  assert.equal(await healthOf(bridge), 200);
  const pieces = [...infected(700, 300)].map((byte) => Buffer.from([byte]));
  assert.deepEqual((await post(ReadableStream.from(pieces))).body, BAD);
  assert.deepEqual((await post(ReadableStream.from([Buffer.from('clean')]))).body, CLEAN);
});

test('a file over the stream limit of clamd comes back as not scanned', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const { address } = await startClamd(t, ['StreamMaxLength 100K']);
  const { post } = await startBridge(t, { address, maxBytes: 8 * MIB });

  assert.deepEqual((await post(infected(100 * KIB))).body, BAD);
  for (const size of [100 * KIB + 1, 200 * KIB, 8 * MIB]) {
    assertNotScanned(await post(Buffer.alloc(size)), /INSTREAM size limit exceeded|clamd broke off|clamd closed/);
  }
});

test('a file that clamd skips for its size is never called clean', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const { address } = await startClamd(t, ['MaxFileSize 100K']);
  const unaware = await startBridge(t, { address });
  assert.deepEqual((await unaware.post(infected(100 * KIB + 1))).body, CLEAN, 'clamd says OK to what it skips');

  const { post } = await startBridge(t, { address, maxBytes: 100 * KIB });
  const limit = /^the file is larger than the scan limit of 102400 bytes$/;
  assert.deepEqual((await post(infected(100 * KIB, 50_000))).body, BAD);
  assertNotScanned(await post(infected(100 * KIB + 1)), limit);
  assertNotScanned(await post(ReadableStream.from([infected(100 * KIB), Buffer.from('a')])), limit);
  assertNotScanned(await post(Buffer.alloc(64 * MIB)), limit);
});

test('a clamd that dies while it gets a file, or while it scans it, leaves the file not scanned', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const getting = await startClamd(t);
  const bridge = await startBridge(t, { address: getting.address });
  const { promise: half, resolve: goOn } = Promise.withResolvers<void>();
  const answer = bridge.post(ReadableStream.from((async function* () {
    yield Buffer.alloc(300 * KIB);
    await half;
    for (let sent = 0; sent < 4; sent += 1) yield Buffer.alloc(64 * KIB);
  })()));
  await waitUntil('the bridge has a request', () => connectionsTo(bridge).then((count) => count > 0));
  await getting.kill();
  goOn();
  assertNotScanned(await answer, /^clamd (broke off|closed the connection|cannot be reached)/);

  const scanning = await startClamd(t);
  scanning.process.kill('SIGSTOP'); // the kernel takes the connection and the bytes, nobody answers
  const second = await startBridge(t, { address: scanning.address });
  const unanswered = second.post('Barn owls hunt at night.');
  await waitUntil('the bridge has a request', () => connectionsTo(second).then((count) => count > 0));
  await scanning.kill();
  assertNotScanned(await unanswered, /^clamd (broke off|closed the connection|cannot be reached)/);
});

test('where no clamd is, nothing is clean and health says so; when it comes, the bridge goes on', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const missing = await startBridge(t, { address: { path: join(socketFolder(t), 'none') } });
  assertNotScanned(await missing.post('x'), /^clamd cannot be reached \(ENOENT\)$/);
  assert.equal(await healthOf(missing), 503);

  const port = await freePort();
  const bridge = await startBridge(t, { address: { host: '127.0.0.1', port } });
  assertNotScanned(await bridge.post(Buffer.alloc(MIB)), /^clamd cannot be reached \(ECONNREFUSED\)$/);
  await startClamd(t, [], port);
  assert.deepEqual((await bridge.post('x')).body, CLEAN);
});

test('the configuration names a Unix socket or a host and port, and every mistake', () => {
  const read = (env: Record<string, string>) => readBridgeConfig({ env, projectRoot: '/', readFile: () => '' });
  const clamd = (text: string) => read({ CLAMD_ADDRESS: text }).clamd;

  const clamdOfDebian = { path: '/run/clamav/clamd.ctl' };
  assert.deepEqual(read({}), { clamd: clamdOfDebian, port: 3311, maxBytes: 26_214_400, logLevel: 'info' });
  assert.deepEqual(clamd('127.0.0.1:3310'), { host: '127.0.0.1', port: 3310 });
  assert.deepEqual(clamd('clamd.internal:3310'), { host: 'clamd.internal', port: 3310 });
  assert.deepEqual(clamd('[::1]:3310'), { host: '::1', port: 3310 });
  const wrong = ['', 'clamd', 'run/clamd.ctl', ':3310', 'a:0', 'a:65536', 'a b:1', '::1:3310', 'http://a:1'];
  for (const text of [...wrong, `/${'x'.repeat(107)}`]) {
    assert.throws(() => clamd(text), /CLAMD_ADDRESS must be the path/, text);
  }
  const mistakes = { CLAMD_ADDRESS: 'x', CLAMD_BRIDGE_PORT: 'x', CLAMD_STREAM_MAX_BYTES: '0', LOG_LEVEL: 'loud' };
  assert.throws(() => read(mistakes), (error) => error instanceof ConfigError && error.problems.length === 4);
});

/** The bridge as `launch.ts clamd-bridge` starts it: a process of its own, confined. */
function launchBridge(t: TestContext, env: Record<string, string>, launch = LAUNCH): HubProcess {
  return watchHubProcess(t, spawn(process.execPath, [launch, 'clamd-bridge'], { env, stdio: 'pipe' }));
}

test('the confined program reaches clamd by its socket, scans, and ends at SIGTERM', async (t) => {
  if (!requireTool(t, 'clamd')) return;
  const { address } = await startClamd(t);
  assert.ok('path' in address);
  const settings = { CLAMD_ADDRESS: address.path, CLAMD_STREAM_MAX_BYTES: '1000000' };
  const bridge = launchBridge(t, { CLAMD_BRIDGE_PORT: '0', ...settings });
  const url = await bridge.address();

  await bridge.logged('clamd answers');
  assert.deepEqual((await postTo(url, 'Barn owls hunt at night.')).body, CLEAN);
  assert.deepEqual((await postTo(url, infected(1_000_000))).body, BAD);
  assertNotScanned(await postTo(url, infected(1_000_001)), /larger than the scan limit of 1000000 bytes/);
  assert.equal(await bridge.end('SIGTERM'), 0);
  assert.deepEqual(bridge.lines().map((line) => line['program']).filter((name) => name !== 'clamd-bridge'), []);
  assert.equal(bridge.stdout(), '');
});

test('the confined program needs the source and the settings in .env, and makes no DATA_DIR', async (t) => {
  const folder = temporaryProject(t, ['package.json', 'src']);
  writeFiles(folder, { '.env': 'CLAMD_BRIDGE_PORT=0\nCLAMD_ADDRESS=/none/clamd.ctl\nCLAMD_STREAM_MAX_BYTES=123\n' });
  const bridge = launchBridge(t, {}, join(folder, 'src/bin/launch.ts'));

  assert.equal((await bridge.logged('listening'))['maxBytes'], 123);
  assert.equal(await bridge.end('SIGINT'), 0);
  assert.deepEqual(readdirSync(folder).sort(), ['.env', 'package.json', 'src']);
});

test('a scan in hand is finished when the program is asked to stop', async (t) => {
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<Socket>();
  const { port } = await startRawOrigin(t, (socket) => onWholeStream(socket, () => onAsked(socket)));
  const bridge = launchBridge(t, { CLAMD_BRIDGE_PORT: '0', CLAMD_ADDRESS: `127.0.0.1:${port}` });
  const answer = postTo(await bridge.address(), 'Barn owls hunt at night.');
  const clamd = await asked;
  bridge.child.kill('SIGTERM');
  await bridge.logged('stopping');
  clamd.end('stream: OK\0');

  assert.deepEqual((await answer).body, CLEAN);
  assert.equal(await bridge.ended, 0);
  assert.equal(bridge.lines('stopped').length, 1);
});

test('the program says at its start that clamd does not answer, or why it cannot run', async (t) => {
  const lonely = launchBridge(t, { CLAMD_BRIDGE_PORT: '0', CLAMD_ADDRESS: '/none/clamd.ctl' });
  assert.equal((await lonely.logged('clamd does not answer'))['error'], 'clamd cannot be reached (ENOENT)');

  const { port } = new URL(await lonely.address());
  const second = launchBridge(t, { CLAMD_BRIDGE_PORT: port });
  assert.equal(await second.ended, 1);
  assert.match(String(second.lines('cannot listen')[0]?.['error']), /EADDRINUSE/);

  const env = { CLAMD_BRIDGE_PORT: 'x', CLAMD_ADDRESS: 'y' };
  const { status, stderr } = await runProgram(process.execPath, [LAUNCH, 'clamd-bridge'], { env });
  assert.equal(status, 2);
  assert.match(stderr, /^the configuration is invalid.*\n {2}CLAMD_ADDRESS must .*\n {2}CLAMD_BRIDGE_PORT must .*\n$/);
});
