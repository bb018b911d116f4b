// Protects that an operator learns which format `auto` has chosen, and of a topic that it no longer recognises.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findings } from '../../../src/features/health/findings.ts';
import { MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { hubEnvironment } from '../../support/hub-process.ts';
import { hubctl } from '../../support/hubctl.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';
import { passTime } from '../../support/receiver.ts';

const UNCLEAR = 'Alerts are sent as JSON to what may be an ntfy topic.';

function problemWithAlerts(hub: Hub): string | null | undefined {
  return findings(hub.handle).find(({ subject }) => subject === 'Alerts')?.problem;
}

test('a topic that only its path shows gets JSON and a finding without an alert, and neither page nor hubctl tells it', async (t) => {
  const receiver = await startOrigin(t, reply(200, {}, 'ok'));
  const env = { ALERT_WEBHOOK_URL: `${receiver.url}/SECRET-topic` };
  const hub = await startHub(t, env);
  const ada = await hub.person('ada');
  await ada.form('/admin/alerts/test');
  await passTime(hub, 2 * MINUTE, 30 * SECOND);

  assert.deepEqual(receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { event: string }).event), ['test']);
  assert.equal(problemWithAlerts(hub), UNCLEAR);
  assert.deepEqual(conditionsOn(hub.handle, 'Alerts'), ['alert-format-unclear']);
  const page = (await ada.page('/admin/alerts')).text;
  assert.match(page, /in the format <code>json<\/code>, which <code>ALERT_WEBHOOK_FORMAT=auto<\/code> derives/);
  assert.match(page, /The test alert arrived \(format json\)\./);
  const sent = await hubctl(hubEnvironment(hub.dataDir, env), 'alerts', 'test');
  assert.match(sent.stdout, /\nformat: json, which ALERT_WEBHOOK_FORMAT=auto derives from the address\n$/);
  const doctor = await hubctl(hubEnvironment(hub.dataDir, env), 'doctor');
  assert.match(doctor.stdout, /may be an ntfy topic[^]*Set ALERT_WEBHOOK_FORMAT=ntfy if it is one/);
  assert.doesNotMatch(page + sent.stdout + doctor.stdout + JSON.stringify(hub.logged()), /SECRET/);
});

for (const [path, format, what] of [
  ['/SECRET-topic', 'ntfy', 'a format that is set'], ['/SECRET-topic', 'json', 'JSON that is set'],
  ['/hooks/a/b', 'auto', 'a form that is known'], ['/alerts/SECRET', 'auto', 'a path that was never a topic'],
] as const) {
  test(`${what} makes no finding: ${format} for ${path}`, async (t) => {
    const hub = await startHub(t, { ALERT_WEBHOOK_URL: `http://127.0.0.1:8${path}`, ALERT_WEBHOOK_FORMAT: format });
    assert.equal(problemWithAlerts(hub), null);
  });
}
