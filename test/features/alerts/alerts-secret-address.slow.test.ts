// Protects the secret address of alerts: no output, log, page, metric or file of a real hub tells it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { alertDeliveries, alertEvents } from '../../../src/features/alerts/alert-store.ts';
import { ALERT_WORDS } from '../../../src/features/health/watch-conditions.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { hubctlProcess } from '../../support/hubctl.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { startOrigin, type OriginRequest } from '../../support/origin.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startWebWithAccount } from '../../support/web-with-account.ts';

/** Stands in every part of the address that is a secret. */
const MARK = 'hush7';
const USER = { name: `${MARK}user`, password: `${MARK}word` };
const CREDENTIALS = Buffer.from(`${USER.name}:${USER.password}`).toString('base64');
const TRACES = new RegExp(`${MARK}|%68ush7|${CREDENTIALS.slice(0, 16)}`, 'i');

type Fault = (request: OriginRequest, response: ServerResponse) => void;

const echo = (status: number): Fault => ({ path, headers }, response) =>
  void response.writeHead(status, { 'x-path': path, 'www-authenticate': `Basic realm="${path}"` })
    .end(`Cannot POST ${path} ${decodeURIComponent(path)} with ${String(headers.authorization)}`);

/** How the receiver fails, a different way for each kind of trouble. */
const FAULTS: Record<string, Fault> = {
  'sync-failed': echo(500),
  'webhook-silent': echo(404),
  'worker-silent': ({ path }, response) => void response.writeHead(302, { location: path }).end(path),
  'backup-dir-missing': echo(400),
  'backup-failed': (_request, response) => void response.destroy(),
  'backup-degraded': echo(502),
  'backup-interim-failed': echo(509),
  'backup-stale': echo(401),
  'backup-offsite-failed': echo(403),
  'backup-offsite-stale': echo(503),
  'backup-verify-failed': echo(429),
  'certificate-ending': echo(410),
  'drill-failed': echo(501),
  'restore-unproven': echo(504),
  'clock-ahead': echo(408),
  'heartbeat-failed': echo(505),
  'scanner-silent': echo(507),
  'content-quota': echo(506),
  'disk-full': echo(508),
  'database-gone': echo(510),
  'index-damaged': echo(511),
  'space-low': ({ path }, response) => void response.socket?.end(`HTTP/1.1 ${path}\r\n\r\n`),
  'error-burst': ({ path }, response) => void response.writeHead(200, { 'x-path': path.repeat(1_000) }).end(),
};

/** How the process shows itself to everybody on the machine. */
function shownByKernel(pid: number | undefined): string {
  return ['cmdline', 'comm'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'utf8')).join(' ').replaceAll('\0', ' ');
}

async function failingReceiver(t: TestContext) {
  const origin = await startOrigin(t, (request, response) => {
    const { event } = JSON.parse(request.body.toString()) as { event: string };
    (FAULTS[event] ?? echo(500))(request, response);
  });
  const { host } = new URL(origin.url);
  const address = `http://${USER.name}:${USER.password}@${host}/${MARK}path/%68ush7?key=${MARK}%2Dkey`;
  return { ...origin, host, address };
}

test('with deliveries failing in every way, no output, log, page, metric, title or file of a real hub tells the address of its alerts', async (t) => {
  const receiver = await failingReceiver(t);
  const dataDir = temporaryDataDir(t);
  const env = { ALERT_WEBHOOK_URL: receiver.address, ALERT_WEBHOOK_FORMAT: 'json', LOG_LEVEL: 'debug' };
  const { web, client } = await startWebWithAccount(t, dataDir, env);
  const worker = startHubProcess(t, 'worker', dataDir, env);
  await worker.logged('working');

  const db = openDatabase(join(dataDir, 'hub.db'));
  t.after(() => db.close());
  for (const event of Object.keys(FAULTS)) {
    const raised = { isOpen: 1, isTold: 0, isUnsent: 0, untold: 1, raisedAt: 0, toldAt: null, overToldAt: null };
    alertEvents({ db, clock: Date.now }).put({ event, subjects: ['something'], ...raised });
  }
  const deliveries = alertDeliveries({ db, clock: Date.now });
  const attempted = (): number => deliveries.list({ limit: 999 }).filter(({ lastError }) => lastError !== null).length;
  assert.deepEqual(Object.keys(FAULTS).sort(), [...ALERT_WORDS.keys()].sort());
  const kinds = Object.keys(FAULTS).length;
  await waitUntil('each kind has been tried in vain', () => attempted() >= kinds);

  const shown: Record<string, string> = {};
  for (const path of [
    '/api/metrics', '/api/health', '/api/admin/alerts', '/admin/alerts', '/admin/alerts?state=failed', '/api/admin/jobs',
    '/admin', '/admin/jobs', '/api/admin/errors', '/admin/errors', '/api/admin/audit', '/admin/audit', '/api/openapi.json',
  ]) {
    const { status, text } = await client.get(path);
    assert.equal(status, 200, path);
    shown[path] = text;
  }
  for (const args of ['alerts test', 'alerts list', 'alerts list --json', 'jobs list --state retrying --json', 'doctor --json', '--help']) {
    const { stdout, stderr } = await hubctlProcess(dataDir, args.split(' '), env);
    shown[`hubctl ${args}`] = stdout + stderr;
  }
  if (existsSync('/proc/self/cmdline')) {
    shown['titles'] = [web, worker].map(({ child }) => shownByKernel(child.pid)).join('\n');
    assert.match(shown['titles'], /web\.ts[^]*worker\.ts/);
  }
  await receiver.close();
  const { stdout: refused, stderr: refusedLog } = await hubctlProcess(dataDir, ['alerts', 'test'], env);
  shown['hubctl alerts test, nobody there'] = refused + refusedLog;
  for (const { child } of [web, worker]) child.kill('SIGTERM');
  await Promise.all([web.ended, worker.ended]);
  Object.assign(shown, { web: web.stdout() + web.stderr(), worker: worker.stdout() + worker.stderr() });
  for (const file of readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())) {
    shown['files'] = (shown['files'] ?? '') + readFileSync(join(file.parentPath, file.name), 'latin1');
  }

  assert.ok(receiver.requests.every(({ path, headers }) =>
    TRACES.test(path) && TRACES.test(headers.authorization ?? '')), 'the receiver was told all of it');
  for (const [where, text] of Object.entries(shown)) {
    const [found] = new RegExp(`.{0,80}(?:${TRACES.source}).{0,20}`, 'i').exec(text) ?? [];
    assert.equal(found, undefined, where);
  }
  for (const where of ['worker', '/api/admin/alerts', 'hubctl alerts list', 'files']) {
    assert.ok(new RegExp(`${receiver.host} answered (500|404|401|429|302)`).test(shown[where] ?? ''), `${where} tells the host`);
  }
  assert.match(shown['hubctl alerts test, nobody there'] ?? '', new RegExp(`${receiver.host} failed \\(ECONNREFUSED\\)`));
  assert.match(shown['/api/metrics'] ?? '', /service_alert_deliveries\{state="pending"\} [1-9]/);
});
