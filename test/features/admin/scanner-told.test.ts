// Protects operators from a virus scanner that fails unnoticed: overview, command line and alerts tell them.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { findings } from '../../../src/features/health/findings.ts';
import { MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { hubEnvironment } from '../../support/hub-process.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { hubctl } from '../../support/hubctl.ts';
import { reply } from '../../support/origin.ts';
import { overviewOf } from '../../support/overview.ts';
import { hubWithReceiver } from '../../support/receiver.ts';
import { CLEAN, INFECTED, startScanner } from '../../support/scanner.ts';
import { removeRows } from '../../support/stored-rows.ts';
import { addFiles, writePost, writer } from '../../support/uploads.ts';

const FILE = { filename: 'a report.txt', data: 'Nothing but words.' };
const AWAY = reply(503, {}, '{"detail":"clamd is away"}');

function scannerOf({ handle }: Hub) {
  const found = findings(handle).filter(({ subject }) => subject === 'Virus scanner');
  assert.ok(found.length <= 1);
  return found[0];
}

/** A hub whose scanner does as it is told, and that tells a receiver of its troubles. */
async function scannedHub(t: TestContext, isRequired: boolean) {
  const scanner = await startScanner(t, CLEAN);
  const env = { VIRUS_SCAN_URL: `${scanner.url}/scan`, VIRUS_SCAN_REQUIRED: isRequired ? '1' : '0' };
  const { hub, receiver } = await hubWithReceiver(t, env);
  const ada = await writer(hub, 'ada');
  const { id } = await writePost(hub, ada);
  const upload = async (): Promise<number> => (await addFiles(hub, ada.client, id, [FILE])).status;
  const told = (): string[] => receiver.alerts().map(({ event, severity }) => `${event} ${severity}`);
  const passMinutes = async (count: number): Promise<void> => {
    for (let left = count * 6; left > 0; left--) {
      await hub.work(10 * SECOND);
    }
  };
  return { hub, receiver, scanner, env, ada, post: id, upload, told, passMinutes };
}

test('the overview and hubctl tell at once that the hub refuses uploads because a required scanner is down', async (t) => {
  const { hub, scanner, env, ada, upload } = await scannedHub(t, true);
  assert.deepEqual([scannerOf(hub)?.level, scannerOf(hub)?.state], ['good', 'no trouble seen']);
  scanner.answers = AWAY;
  assert.equal(await upload(), 503);
  const since = hub.now();
  hub.passTime(5 * MINUTE);
  assert.equal(await upload(), 503);

  const found = scannerOf(hub);
  assert.deepEqual([found?.level, found?.since, found?.problem],
    ['bad', since, 'The virus scanner does not answer: every upload is refused.']);
  const { verdict } = await overviewOf(ada.client);
  assert.match(verdict, /The virus scanner does not answer: every upload is refused\./);
  for (const command of ['status', 'doctor']) {
    const { status, stdout } = await hubctl(hubEnvironment(hub.dataDir, env), command);
    assert.equal(status, 1);
    assert.match(stdout, /^BAD {2}Virus scanner: does not answer\n {5}The virus scanner does not answer: every upload is refused\. Since 2030-01-15 12:00 UTC\. See /m);
    assert.doesNotMatch(stdout, new RegExp(new URL(scanner.url).host), 'its address is a secret');
  }

  scanner.answers = INFECTED;
  assert.equal(await upload(), 422);
  assert.equal(scannerOf(hub)?.level, 'good', 'a verdict is an answer, whatever it is');
});

test('an alert is sent while a required scanner is away, and that it is over once it answers, without another upload', async (t) => {
  const { hub, receiver, scanner, upload, told, passMinutes } = await scannedHub(t, true);
  await passMinutes(2);
  assert.equal(scanner.requests.length, 0, 'a scanner that has not failed is left in peace');
  scanner.answers = AWAY;
  await upload();
  await passMinutes(2);
  assert.deepEqual(told(), ['scanner-silent error']);
  assert.match(receiver.alerts()[0]?.text ?? '', /^The virus scanner does not answer: every upload is refused\. Since 2030-01-15 12:02 UTC\./);
  scanner.answers = CLEAN;
  await passMinutes(2);
  assert.equal(scannerOf(hub)?.level, 'good');
  await passMinutes(60);
  assert.deepEqual(told(), ['scanner-silent error', 'scanner-silent resolved']);
  const asked = scanner.requests.length;
  await passMinutes(3);
  assert.equal(scanner.requests.length, asked);
});

test('a scanner that answers when it is asked again was only slow: nobody is told', async (t) => {
  const { hub, scanner, upload, told, passMinutes } = await scannedHub(t, true);
  scanner.answers = AWAY;
  await upload();
  scanner.answers = CLEAN;
  await passMinutes(2);
  assert.deepEqual([scannerOf(hub)?.level, told()], ['good', []]);
});

test('an upload that is scanned again ends it too; a hub that does not require the scanner only warns', async (t) => {
  const strict = await scannedHub(t, true);
  strict.scanner.answers = AWAY;
  await strict.upload();
  strict.scanner.answers = CLEAN;
  assert.equal(await strict.upload(), 201);
  assert.equal(scannerOf(strict.hub)?.level, 'good');

  const lenient = await scannedHub(t, false);
  lenient.scanner.answers = AWAY;
  assert.equal(await lenient.upload(), 201);
  const { level, problem } = scannerOf(lenient.hub) ?? {};
  assert.deepEqual([level, problem], ['warn', 'The virus scanner does not answer: uploads are taken unscanned and scanned later.']);
  await lenient.passMinutes(2);
  assert.deepEqual(lenient.told(), []);
  await lenient.ada.client.delete(`/api/posts/${lenient.post}`);
  await lenient.passMinutes(1);
  removeRows(lenient.hub, 'uploads');
  assert.equal(scannerOf(lenient.hub)?.level, 'good', 'nothing waits for it');
});

test('a hub without a scanner says nothing of one', async (t) => {
  assert.equal(scannerOf(await startHub(t)), undefined);
});
