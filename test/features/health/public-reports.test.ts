// Protects what people reported of Prometheus and of addresses of alerts: each gets the form that it takes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guessFormat } from '../../../src/features/alerts/format-alert.ts';
import { startHub } from '../../support/hub.ts';

const PLAIN = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** What Prometheus 3 sends as Accept, and the Content-Type of the answer. */
const CASES: [id: string, accept: string, type: string][] = [
  ['M01', 'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', OPEN],
  ['M02', 'text/plain;version=1.0.0;escaping=allow-utf-8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', PLAIN],
  ['M03', '*/*', PLAIN],
  ['M04', 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,'
    + 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1', OPEN],
  ['M05', 'text/html', PLAIN],
];

test('M01 to M05 (prometheus#15777 #17086): metrics have a Content-Type that Prometheus 3 takes', async (t) => {
  const { anybody } = await startHub(t);
  for (const [id, accept, type] of CASES) {
    assert.equal((await anybody.get('/api/metrics', { accept })).headers.get('content-type'), type, id);
  }
});

test('M06 (swisscom/backman#89, shoutrrr#446): addresses of Teams workflows get the form of Teams', () => {
  const path = '/workflows/0123456789abcdef/triggers/manual/paths/invoke?api-version=1&sig=x';
  const hosts = [
    'prod-12.westeurope.logic.azure.com', '0a.1.environment.api.powerplatform.com', 'prod-1.usgovtexas.logic.azure.us',
  ];
  for (const host of hosts) assert.equal(guessFormat(`https://${host}:443${path}`), 'teams', host);
});
