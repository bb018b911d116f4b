// Protects operators from addresses that only fail once something happens: what fetch refuses is refused at the start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCKED_PORTS } from '../../../src/features/hub/setting-values.ts';
import { hubctl } from '../../support/hubctl.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';

test('the ports that the settings refuse are those that fetch refuses', async () => {
  const ports = [...Array.from({ length: 1_024 }, (_, n) => n + 1), ...[...BLOCKED_PORTS].flatMap((port) => [port - 1, port, port + 1])];
  const refused = new Set<number>();
  for (const port of new Set(ports)) {
    const answer = fetch(`http://127.0.0.1:${port}/`).then((response) => response.body?.cancel());
    await answer.catch(({ cause }: { cause?: Error }) => cause?.message === 'bad port' && refused.add(port));
  }
  assert.deepEqual([...refused].sort((a, b) => a - b), [...BLOCKED_PORTS]);
});

test('no program starts with NODE_TLS_REJECT_UNAUTHORIZED=0, a blocked port or a scan of ten minutes, and says why', async (t) => {
  const dataDir = temporaryDataDir(t);
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0', VIRUS_SCAN_URL: 'http://u:SECRET@127.0.0.1:6667/', VIRUS_SCAN_TIMEOUT_SECONDS: '600' };
  const reasons = [/VIRUS_SCAN_URL must be an address with another port: fetch never connects to port 6667/,
    /VIRUS_SCAN_TIMEOUT_SECONDS must be a whole number from 1 to 300/, /NODE_TLS_REJECT_UNAUTHORIZED must not be 0/];
  for (const program of ['web', 'worker'] as const) {
    const started = startHubProcess(t, program, dataDir, env);
    assert.equal(await started.ended, 2);
    for (const reason of reasons) assert.match(started.stderr(), reason);
    assert.doesNotMatch(started.stderr(), /SECRET/);
  }
  assert.equal((await hubctl(hubEnvironment(dataDir, env), 'status')).status, 2);
});
