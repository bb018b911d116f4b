// Protects the overview's word on the certificate of BASE_URL: what browsers get is looked at, and told before it ends.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import tls from 'node:tls';
import { findings } from '../../../src/features/health/findings.ts';
import { certificates, seenCertificate } from '../../../src/features/history/history-store.ts';
import { lookAtCertificate } from '../../../src/features/history/watch-certificate.ts';
import type { Hub } from '../../../src/features/hub/hub.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { startHub } from '../../support/hub.ts';
import { countRows } from '../../support/stored-rows.ts';
import { makeCertificate } from '../../support/self-signed.ts';

/** A hub behind a server with such a certificate, on the machine's own clock. */
async function behind(t: TestContext, days: [from: number, until: number], name = 'localhost'): Promise<Hub> {
  const server = tls.createServer(makeCertificate([name], days), (socket) => socket.on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { handle } = await startHub(t, { BASE_URL: `https://localhost:${(server.address() as AddressInfo).port}` });
  return { ...handle, clock: Date.now };
}

async function told(hub: Hub) {
  await lookAtCertificate(hub);
  const found = findings(hub).filter(({ subject }) => subject === 'Certificate');
  assert.equal(found.length, 1);
  return { level: found[0]?.level, state: found[0]?.state, problem: found[0]?.problem ?? null };
}

test('how long the certificate is good is told, whoever has signed it', async (t) => {
  assert.deepEqual(await told(await behind(t, [-29, 61.5])), { level: 'good', state: '61 days left', problem: null });
});

test('one of which less than a sixth is left is late; one that has ended, or is for another name, is bad', async (t) => {
  const late = await behind(t, [-80, 10.5]);
  const { problem, ...ending } = await told(late);
  assert.deepEqual(conditionsOn(late, 'Certificate'), ['certificate-ending']);
  assert.deepEqual(ending, { level: 'warn', state: 'ends soon' });
  assert.match(problem ?? '', /^The certificate ends at 20\d\d-\d\d-\d\d \d\d:\d\d UTC and was not renewed\.$/);
  assert.deepEqual(await told(await behind(t, [-2, 4.5])), { level: 'good', state: '4 days left', problem: null },
    'those that last six days are renewed later');
  assert.deepEqual(await told(await behind(t, [-90, -1])),
    { level: 'bad', state: 'has ended', problem: 'The certificate has ended: browsers refuse the hub.' });
  const other = await behind(t, [-30, 60.5], 'other.example');
  assert.deepEqual(await told(other),
    { level: 'bad', state: 'for another name', problem: 'The certificate is for another name than localhost.' });
  assert.deepEqual(conditionsOn(other, 'Certificate'), ['certificate-for-other-name']);
});

test('an address that the hub cannot reach is no fault, and what was seen before is still known', async (t) => {
  const hub = await behind(t, [-29, 61.5]);
  await lookAtCertificate(hub);
  const away: Hub = { ...hub, config: { ...hub.config, baseUrl: 'https://127.0.0.1:9' } };
  assert.deepEqual(await told(away), { level: 'off', state: 'not seen', problem: null });
  certificates(hub).note(new URL(hub.config.baseUrl).origin, seenCertificate(hub)?.expiresAt ?? null, 'not seen');
  assert.equal(findings(hub).find(({ subject }) => subject === 'Certificate')?.state, '61 days left');
});

test('what was wrong with a certificate is told until another one is seen, also while the hub cannot reach itself', async (t) => {
  for (const [days, name, level] of [[[-80, 10.5], 'localhost', 'warn'], [[-30, 60.5], 'other.example', 'bad']] as const) {
    const hub = await behind(t, [...days], name);
    assert.equal((await told(hub)).level, level);
    certificates(hub).note(new URL(hub.config.baseUrl).origin, null, 'not seen');
    assert.equal(findings(hub).find(({ subject }) => subject === 'Certificate')?.level, level);
  }
});

test('a hub on http has no certificate, and nobody looks for one', async (t) => {
  const { handle, db } = await startHub(t);
  await lookAtCertificate(handle);
  assert.deepEqual(findings(handle).filter(({ subject }) => subject === 'Certificate'), []);
  assert.equal(countRows({ db }, 'certificates'), 0);
});
