// Protects the scrape by a real Prometheus, which reads both formats of metrics alike.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { createHeartbeats } from '../../../src/platform/jobs/scheduler.ts';
import type { Family } from '../../../src/platform/metrics/exposition.ts';
import { START, startHealth } from '../../support/health-server.ts';
import { listen } from '../../support/ports.ts';
import { startPrometheus } from '../../support/prometheus.ts';
import { requireTool } from '../../support/tools.ts';

const TOKEN = 'scrape-token-0123456789';
const ODD_VALUES = ['\\', '"', 'a\nb', '\\n', '{x="y"} 1', '# EOF', 'ünï ☃ 😀', '\t', 'a\r\nb', ' '];
const ODD_LABELS: Family = {
  type: 'gauge',
  name: 'odd_labels',
  help: 'A "help" with \\ and\na line end.',
  samples: ODD_VALUES.map((value) => ({ labels: { value }, value: 1 })),
};

test('a Prometheus server reads both formats alike and keeps odd label values as they are', async (t) => {
  if (!requireTool(t, 'prometheus')) return;
  const { address, server, db } = await startHealth(t, { metricsToken: TOKEN, extraFamilies: [ODD_LABELS] });
  createHeartbeats(db, () => START).beat('worker');
  const withoutAccept = createServer((req, res) => {
    delete req.headers.accept; // what asks for OpenMetrics
    server.emit('request', req, res);
  });
  const targets = { openmetrics: address, prometheus: `127.0.0.1:${await listen(t, withoutAccept)}` };
  assert.match(await contentTypeAt(targets.openmetrics), /^application\/openmetrics-text/);
  assert.match(await contentTypeAt(targets.prometheus), /^text\/plain/);
  const query = await startPrometheus(t, targets, TOKEN);

  const seen = await query('service_worker_last_seen_timestamp_seconds');
  assert.deepEqual(seen.map(({ labels, value }) => [labels['job'], value]), [
    ['openmetrics', String(START / 1000)], ['prometheus', String(START / 1000)],
  ]);
  for (const job of Object.keys(targets)) {
    const odd = await query(`odd_labels{job="${job}"}`);
    assert.deepEqual(odd.map(({ labels }) => labels['value']).sort(), [...ODD_VALUES].sort(), job);
    const build = await query(`service_build_info{job="${job}",node="${process.version}"}`);
    assert.equal(build.length, 1, job);
    const buckets = await query(`service_sync_duration_seconds_bucket{job="${job}",le="1.0"}`);
    assert.equal(buckets.length, 1, job);
  }
});

/** What is sent to who asks for OpenMetrics, as the server of the test does. */
async function contentTypeAt(address: string): Promise<string> {
  const headers = { authorization: `Bearer ${TOKEN}`, accept: 'application/openmetrics-text;version=1.0.0' };
  const response = await fetch(`http://${address}/api/metrics`, { headers });
  return response.headers.get('content-type') ?? '';
}
