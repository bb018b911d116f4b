// Protects the process from sockets, timers and listeners that a fetch would leave behind.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { createOutboundFetch } from '../../../src/platform/net/outbound-fetch.ts';
import { fakeLookup } from '../../support/fake-lookup.ts';
import { rawReply, startRawOrigin } from '../../support/origin.ts';

const OK = 'HTTP/1.1 200 OK\r\n';

test('no socket, timer or listener outlives a fetch, however it ended', async (t) => {
  const answers = [
    `${OK}Content-Length: 2\r\n\r\nok`, `${OK}\r\nstalls`, `${OK}Content-Length: 99999\r\n\r\n`, 'garbage', '',
    'HTTP/1.1 404 No\r\n\r\nbody', 'HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\n\r\n',
  ];
  const origins = await Promise.all(answers.map((bytes) => startRawOrigin(t, rawReply(bytes, { end: false }))));
  const controller = new AbortController();
  const { lookup } = fakeLookup({ 'named.example': ['127.0.0.1'] });
  const options = { userAgent: 'Hub/1', allow: parseCidrs('127.0.0.1'), lookup };
  const hasty = createOutboundFetch({ ...options, headerMs: 1_000, idleMs: 1_000 });
  const patient = createOutboundFetch(options); // a timer it left behind would be there for seconds
  const before = resources();

  const endings = await Promise.allSettled(origins.flatMap(({ url, port }) => [
    hasty({ url, maxBytes: 999, signal: controller.signal }),
    patient({ url: `http://named.example:${port}`, maxBytes: 999, signal: AbortSignal.timeout(100) }),
  ]));
  assert.deepEqual(new Set(endings.map(({ status }) => status)), new Set(['fulfilled', 'rejected']));
  assert.deepEqual(getEventListeners(controller.signal, 'abort'), []);
  const patience = AbortSignal.timeout(3_000);
  while (resources() > before && !patience.aborted) await delay(5, undefined, { ref: false });
  assert.equal(resources(), before);
});

/** Open sockets and armed timers of this process. */
function resources(): number {
  return process.getActiveResourcesInfo().filter((kind) => /TCPSocket|TLS|Timeout|Immediate/.test(kind)).length;
}
