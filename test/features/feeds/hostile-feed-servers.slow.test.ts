// Protects sources whose server turns hostile: their owner can read why, and their posts stay.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, constants } from 'node:zlib';
import { DAY } from '../../../src/platform/clock.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';
import { rowsOf } from '../../support/stored-rows.ts';

const BOMB = brotliCompressSync(Buffer.alloc(50 * 1024 * 1024), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
const LIMITS = { totalMs: 1_500, headerMs: 400, idleMs: 300 };

/** A feed that was followed while its server was well, and whose host then turns into this. */
const SERVERS: Record<string, { answer: OriginHandler; reason: RegExp }> = {
  'redirects in a circle': { answer: reply(302, { location: '/feed' }), reason: /loop/ },
  'redirects to a private address': { answer: reply(302, { location: 'http://10.0.0.1/feed' }), reason: /10\.0\.0\.1/ },
  'sends a few bytes that unpack to 50 MiB': { answer: reply(200, { 'content-encoding': 'br' }, BOMB), reason: /is binary data/ },
  'says that its body is longer than it is': {
    answer: (_request, response) => {
      response.writeHead(200, { 'content-length': '5000' });
      response.write('<rss>', () => response.destroy());
    },
    reason: /broke off|closed|complete|ended|early/,
  },
  'never answers': { answer: () => {}, reason: /within|answer/ },
  'trickles its body': {
    answer: (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('<'), 50);
      response.on('close', () => clearInterval(drip));
    },
    reason: /within/,
  },
};

for (const [name, { answer, reason }] of Object.entries(SERVERS)) {
  test(`a feed server that ${name}: the source is failing with a reason its owner can read, and its posts stay`, async (t) => {
    const hub = await startHub(t, {}, LIMITS);
    let handler: OriginHandler = serving(() => rss('Owls', [{ guid: 'a' }]));
    const origin = await startOrigin(t, (request, response) => handler(request, response));
    const ada = await hub.person('ada');
    const { id } = (await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/feed` })).json<{ id: number }>();
    handler = answer;
    hub.passTime(DAY);

    assert.equal(await hub.countJobs('sync-source'), 1);
    const source = (await ada.get(`/api/sources/${id}`)).json<{ state: string; stateReason: string }>();
    assert.equal(source.state, 'failing');
    assert.match(source.stateReason, reason);
    assert.doesNotMatch(source.stateReason, /undefined|\[object|Error:/);
    assert.equal((await hub.anybody.get('/api/posts')).json<{ items: unknown[] }>().items.length, 1);
    assert.deepEqual(rowsOf(hub, 'error_events'), [[]], 'other people’s faults are not ours');
  });
}
