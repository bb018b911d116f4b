// Protects the metrics of HTTP answers, and that clients cannot make up new series.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { familiesFrom, renderPrometheus } from '../../../src/platform/metrics/exposition.ts';
import { createHttpMetrics, HTTP_METRICS, type HttpMetrics } from '../../../src/platform/metrics/http-metrics.ts';

const families = familiesFrom(HTTP_METRICS);

function lines(metrics: HttpMetrics, pattern: RegExp): string[] {
  return renderPrometheus(families({ http: metrics.read(), waits: [] })).split('\n').filter((line) => !line.startsWith('#') && pattern.test(line));
}

test('an answer is counted once, under its method, route and code', () => {
  const metrics = createHttpMetrics();

  metrics.observe('GET', '/posts/:id', 200, 0.001);
  metrics.observe('GET', '/posts/:id', 200, 0.001);
  metrics.observe('GET', '/posts/:id', 404, 0.001);
  metrics.observe('POST', '/api/posts', 201, 0.001);

  assert.deepEqual(lines(metrics, /requests_total/), [
    'service_http_requests_total{method="GET",route="/posts/:id",code="200"} 2',
    'service_http_requests_total{method="GET",route="/posts/:id",code="404"} 1',
    'service_http_requests_total{method="POST",route="/api/posts",code="201"} 1',
  ]);
});

test('a duration falls into the first bucket whose bound it does not exceed', () => {
  const metrics = createHttpMetrics();

  for (const seconds of [0, 0.001, 0.0010001, 10, 10.5, 3600]) metrics.observe('GET', '/', 200, seconds);

  const buckets = lines(metrics, /_bucket/).map((line) => /le="(.*)"\} (\d+)$/.exec(line)?.slice(1));
  assert.deepEqual(buckets[0], ['0.001', '2']);
  assert.deepEqual(buckets[1], ['0.0025', '3']);
  assert.deepEqual(buckets.at(-2), ['10.0', '4']);
  assert.deepEqual(buckets.at(-1), ['+Inf', '6']);
  assert.match(lines(metrics, /_count/)[0] ?? '', / 6$/);
  assert.match(lines(metrics, /_sum/)[0] ?? '', / 3620\.50200\d*$/);
});

test('methods and paths that clients make up do not make series', () => {
  const metrics = createHttpMetrics();

  for (let index = 0; index < 100; index++) metrics.observe(`M${index}`, undefined, 404, 0.001);
  metrics.observe('get', undefined, 404, 0.001);

  assert.deepEqual(lines(metrics, /requests_total/), [
    'service_http_requests_total{method="_OTHER",route="unmatched",code="404"} 101',
  ]);
});

test('a hub that has answered every route in four ways stays under 10,000 series', () => {
  const metrics = createHttpMetrics();

  for (let route = 0; route < 100; route++) {
    for (const code of [200, 304, 401, 404]) metrics.observe('GET', `/r${route}`, code, 0.001);
  }

  const series = lines(metrics, /./).length;
  assert.ok(series > 4_000 && series < 10_000, `${series} series`);
});
