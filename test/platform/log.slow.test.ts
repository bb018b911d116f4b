// Protects the log: one JSON line an event with the ids in hand, none lost at the end, and never a secret.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openDatabase, type SlowQuery } from '../../src/platform/db/open-database.ts';
import { createWorkerQueue } from '../../src/platform/jobs/worker-queue.ts';
import type { JobHandler } from '../../src/platform/jobs/run-job.ts';
import { createWorker } from '../../src/platform/jobs/worker.ts';
import { createLog, errorFields, withLogContext, type LogLevel } from '../../src/platform/log.ts';
import { createClient } from '../support/client.ts';
import { startHubProcess, temporaryDataDir } from '../support/hub-process.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const NOON = Date.UTC(2030, 0, 15, 12);

function startLog(level: LogLevel = 'debug') {
  const writes: string[] = [];
  const log = createLog('web', level, () => NOON, (text) => writes.push(text));
  return { log, writes, lines: () => writes.join('').split('\n').filter(Boolean).map((line) => JSON.parse(line)) };
}

test('an event is one line of JSON with time, level, program, event, the ids in hand and its fields', () => {
  const { log, writes } = startLog();
  const fields = { path: '/a\n{"level":"error"}', size: 3, gone: undefined, none: null };
  withLogContext({ requestId: 'r1' }, () => log.warn('odd', fields));
  withLogContext({ jobId: 7 }, () => log.error('bad'));
  log.error('nobody’s');

  assert.deepEqual(writes, [
    '{"time":"2030-01-15T12:00:00.000Z","level":"warn","program":"web","event":"odd","requestId":"r1",' +
      '"path":"/a\\n{\\"level\\":\\"error\\"}","size":3,"none":null}\n',
    '{"time":"2030-01-15T12:00:00.000Z","level":"error","program":"web","event":"bad","jobId":7}\n',
    '{"time":"2030-01-15T12:00:00.000Z","level":"error","program":"web","event":"nobody’s"}\n',
  ]);
});

test('no line is longer than 2,000 bytes and no path than 200 characters, whatever its fields hold', () => {
  const { log, writes, lines } = startLog();
  const long = { plain: 'a', wide: '€', paired: '🦉', escaped: '\u0001', quoted: '"', newline: '\n' };
  for (const sign of Object.values(long)) {
    const error = Object.assign(new Error(sign.repeat(20_000)), { cause: new Error(sign.repeat(20_000)) });
    error.stack = `Error: ${sign.repeat(9_000)}\n    at a file`;
    withLogContext({ requestId: 'r1' }, () => log.error('bad', { path: `/${sign.repeat(15_000)}`, agent: sign.repeat(8_000), ...errorFields(error) }));
  }
  log.error('many', Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`field${n}`, 'x'])));

  assert.deepEqual(writes.filter((text) => Buffer.byteLength(text) > 2_000).map(({ length }) => length), []);
  for (const line of lines().slice(0, -1)) {
    assert.deepEqual([line.event, line.requestId, line.path.length <= 200, line.path.endsWith('…')], ['bad', 'r1', true, true]);
    assert.ok(line.error.length > 20 && line.stack.length > 20, 'every field keeps its beginning');
  }
  assert.deepEqual([lines().at(-1).event, lines().at(-1).cut], ['many', true]);
});

test('what happens later in a request carries its id, whatever others do meanwhile', async () => {
  const { log, lines } = startLog();
  const work = (requestId: string) => withLogContext({ requestId }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    log.info('later');
    setImmediate(() => log.info('much later'));
  });
  await Promise.all([work('a'), work('b')]);
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  log.flush();

  const told = lines().map(({ event, requestId }) => `${requestId} ${event}`);
  assert.deepEqual(told.sort(), ['a later', 'a much later', 'b later', 'b much later']);
});

for (const [level, expected] of [
  ['debug', ['debug', 'info', 'warn', 'error']],
  ['info', ['info', 'warn', 'error']],
  ['warn', ['warn', 'error']],
  ['error', ['error']],
] as const) {
  test(`at level ${level} nothing below is written`, () => {
    const { log, lines } = startLog(level);
    for (const one of ['debug', 'info', 'warn', 'error'] as const) log[one]('event');
    log.flush();

    assert.deepEqual(lines().map((line) => line.level), expected);
  });
}

test('lines that come quickly are written before many wait, whole and in order', () => {
  const { log, writes, lines } = startLog();
  for (let n = 0; n < 1_000; n++) log.info('request', { n, text: 'a'.repeat(n) });
  assert.ok(writes.length > 20, `${writes.length} writes`);
  assert.ok(writes.every((text) => text.endsWith('}\n') && text.length < 18_000));
  log.flush();

  assert.deepEqual(lines().map(({ n }) => n), Array.from({ length: 1_000 }, (_, n) => n));
});

test('lines up to info wait for others, a warning takes them along in order, and a flush leaves none', async () => {
  const { log, writes, lines } = startLog();
  log.info('1');
  log.debug('2');
  assert.equal(writes.length, 0);
  log.warn('3');
  assert.equal(writes.length, 1);
  log.info('4');
  log.flush();
  log.flush();
  assert.equal(writes.length, 2);
  log.info('5');
  await waitUntil('it is written by itself', () => writes.length === 3);

  assert.deepEqual(lines().map(({ event }) => event), ['1', '2', '3', '4', '5']);
});

test('an error becomes its message, stack and cause, anything else its text', () => {
  const { error, stack, cause } = errorFields(new Error('unreachable', { cause: new Error('refused') }));
  assert.deepEqual([error, cause], ['unreachable', 'refused']);
  assert.match(String(stack), /log\.slow\.test\.ts/);
  assert.deepEqual(errorFields('text'), { error: 'text' });
  assert.deepEqual(errorFields(undefined), { error: 'undefined' });
});

test('the last lines of a process are written before it ends', async (t) => {
  const web = startHubProcess(t, 'web', temporaryDataDir(t));
  await web.address();
  assert.equal(await web.end('SIGTERM'), 0);

  const lines = web.lines().filter(({ event }) => event !== 'slow query'); // as on a machine that is busy
  assert.deepEqual(lines.map(({ level, event }) => `${String(level)} ${String(event)}`), [
    'info listening', 'warn no account yet', 'info stopping', 'info stopped',
  ]);
});

test('the line of a request names its id once, whether its answer was made or kept', async (t) => {
  const web = startHubProcess(t, 'web', temporaryDataDir(t));
  const client = createClient(await web.address());
  const ids = [];
  for (let n = 0; n < 3; n++) ids.push((await client.get('/api/posts')).headers.get('x-request-id'));
  await web.end('SIGTERM');

  const lines = web.stderr().split('\n').filter((line) => line.includes('"path":"/api/posts"'));
  const named = lines.map((line) => [...line.matchAll(/"requestId":"([^"]+)"/g)].map(([, id]) => id));
  assert.deepEqual(named, ids.map((id) => [id]));
});

test('a process whose standard error is gone works on and stops when it is told to', async (t) => {
  const web = startHubProcess(t, 'web', temporaryDataDir(t));
  const address = await web.address();
  web.child.stderr?.destroy();

  for (let n = 0; n < 120; n++) { // more than lines wait to be written
    assert.equal((await createClient(address).get('/api/posts')).status, 200);
  }
  web.child.kill('SIGTERM');
  await waitUntil('it has ended', () => web.child.exitCode !== null);
  assert.equal(web.child.exitCode, 0);
});

/** Takes long inside any statement that fires it. */
const SLOW = `SELECT (
  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 2000000) SELECT max(n) FROM numbers
)`;

test('a slow statement in a request is logged by its name, with the id of the request', async (t) => {
  const dataDir = temporaryDataDir(t);
  const web = startHubProcess(t, 'web', dataDir);
  const client = createClient(await web.address());
  const db = openDatabase(`${dataDir}/hub.db`);
  db.exec(`CREATE TRIGGER slow AFTER INSERT ON rate_limits BEGIN ${SLOW}; END`);
  db.close();

  const { status, headers } = await client.post('/api/session', { username: 'nobody', password: 'x' });
  assert.equal(status, 401);
  const ofRequest = () => web.lines('slow query').filter(({ requestId }) => requestId === headers.get('x-request-id'));
  await waitUntil('it is logged', () => ofRequest().length > 0);
  const [{ level, statement, milliseconds } = {}] = ofRequest();

  assert.equal(level, 'warn');
  assert.match(String(statement), /limit/);
  assert.ok(Number(milliseconds) > 50);
});

/** Does one job; the slow statements that were logged. */
async function slowQueriesOfJob(t: TestContext, run: (slow: () => void) => JobHandler['run']): Promise<unknown[]> {
  const { log, lines } = startLog();
  const { path } = migratedDatabase(t);
  const onSlow: SlowQuery = (statement, milliseconds) => log.warn('slow query', { statement, milliseconds });
  const db = openDatabase(path, { onSlow });
  t.after(() => db.close());
  const slow = db.prepare<[], object>('slow one', SLOW);
  const queue = createWorkerQueue(db, Date.now);
  const handlers = { k: { concurrency: 1, run: run(() => void slow.get()) } };
  queue.enqueue({ kind: 'other', payload: {} });
  queue.enqueue({ kind: 'k', payload: {} });
  await createWorker({ db, queue, handlers, clock: Date.now, log, onError: assert.ifError }).runDue();
  return lines().filter(({ statement }) => statement === 'slow one').map(({ event, jobId }) => ({ event, jobId }));
}

test('a slow statement of a job, or among its effects, is logged with the id of the job', async (t) => {
  for (const run of [(slow: () => void) => async () => slow(), (slow: () => void) => async () => slow]) {
    assert.deepEqual(await slowQueriesOfJob(t, run), [{ event: 'slow query', jobId: 2 }]);
  }
});
