// Protects the name under which the hub asks other servers, and the address by which its operator can be found.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubOf } from '../../../src/app/processes/open-hub.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';

test('a real process says to every server who it is and where its hub can be reached', async (t) => {
  const origin = await startOrigin(t, reply(200, {}));
  for (const [env, address] of [
    [{ BASE_URL: 'https://hub.example' }, 'https://hub.example'],
    [{ BASE_URL: 'https://hub.example:8443/' }, 'https://hub.example:8443'],
    [{ HOST: '127.0.0.1', PORT: '8099' }, 'http://127.0.0.1:8099'],
  ] as const) {
    const { config, db, handle } = await startHub(t, env);
    const { outbound } = hubOf('web', config, db, handle.log);

    await outbound({ url: origin.url, maxBytes: 9, headers: { 'user-agent': 'Mozilla/5.0' } });
    const sent = origin.requests.at(-1)?.headers['user-agent'];
    assert.match(sent ?? '', /^ContentHub\/\d+\.\d+\.\d+ \(\+[^)]+\)$/);
    assert.ok(sent?.endsWith(` (+${address})`), sent);
  }
});
