// Protects the systemd units on a booted system: confined, restarted, and still during a restore.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHeartbeats } from '../../src/platform/jobs/scheduler.ts';
import { AT, installedHub, type InstalledHub } from '../support/booted-system.ts';
import { catches } from '../support/run-program.ts';
import { query } from '../support/restore-hub.ts';
import { putUpload } from '../support/stored-uploads.ts';
import { testWith } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const test = testWith('root', 'systemd-nspawn', 'crontab');

/** The first answer counts: the unit is active only once web has answered. A failure says what the hub logged. */
async function assertHealthy(hub: InstalledHub): Promise<void> {
  const { status, stderr } = await hub.sh(`'${AT}/scripts/healthcheck.sh'`);
  const logged = status === 0 ? '' : (await hub.sh('journalctl -o short-monotonic -n 60')).stdout;
  assert.equal(status, 0, `${stderr}${logged}`);
}

/** The worker was last seen a minute ago, without a minute's waiting. */
function silenceWorker({ project }: InstalledHub): void {
  query(join(project, 'data'), (db) => createHeartbeats(db, () => Date.now() - 60_000).beat('worker'));
}

test('under systemd the confined hub becomes healthy, comes back when killed and stops within its grace', async (t) => {
  const hub = await installedHub(t);
  await assertHealthy(hub);
  assert.deepEqual([await hub.show('web', 'ActiveState'), await hub.show('worker', 'ActiveState')], ['active', 'active']);
  assert.match((await hub.sh('journalctl -u content-hub-web')).stdout, /no account yet.*hubctl invite --role admin/);

  for (const unit of ['web', 'worker'] as const) {
    const { stdout } = await hub.sh(`cat /proc/${await hub.pid(unit)}/status`);
    assert.equal(catches(stdout, 10), false, `${unit} opens no debugger at SIGUSR1`);
  }

  const first = await hub.pid('web');
  await hub.sh(`kill -9 ${first}`);
  await waitUntil('web is back', async () => ![0, first].includes(await hub.pid('web')) &&
    (await hub.show('web', 'ActiveState')) === 'active', 30_000);

  assert.equal((await hub.sh('systemctl stop content-hub-worker content-hub-web')).status, 0);
  for (const unit of ['web', 'worker']) assert.equal(await hub.show(unit, 'Result'), 'success');
});

test('under systemd a web or a worker that hangs is restarted, and one that was stopped is left alone', async (t) => {
  const hub = await installedHub(t);
  // Its own runs would join in: one that meets the stop below fails, and the start that joined it with it.
  assert.equal((await hub.sh('systemctl stop content-hub-health.timer')).status, 0);
  const hung = await hub.pid('web');
  await hub.sh(`sed -i 's/ 3 15/ 2 1/' /etc/systemd/system/content-hub-health.service && systemctl daemon-reload`);
  const check = async (): Promise<number | null> => (await hub.sh('systemctl start content-hub-health.service')).status;
  const isAnew = (unit: string, old: number) => async (): Promise<boolean> =>
    ![0, old].includes(await hub.pid(unit)) && (await hub.show(unit, 'ActiveState')) === 'active';
  const worker = await hub.pid('worker');

  await hub.sh(`echo PORT=x >'${AT}/.env'`);
  assert.notEqual(await check(), 0, 'a mistake in .env');
  rmSync(join(hub.project, '.env'));
  assert.equal(await check(), 0);
  assert.deepEqual([await hub.pid('web'), await hub.pid('worker')], [hung, worker]);

  await hub.sh(`kill -STOP ${worker}`);
  silenceWorker(hub);
  assert.notEqual(await check(), 0);
  await waitUntil('the worker was restarted', isAnew('worker', worker));
  assert.equal(await hub.pid('web'), hung);

  await hub.sh(`kill -STOP ${hung}`);
  assert.notEqual(await check(), 0);
  await waitUntil('web was restarted', isAnew('web', hung));
  await assertHealthy(hub);

  await hub.sh('systemctl stop content-hub-worker');
  silenceWorker(hub);
  assert.notEqual(await check(), 0);
  await hub.sh('systemctl stop content-hub-web');
  assert.equal(await check(), 0);
  for (const unit of ['web', 'worker']) assert.equal(await hub.show(unit, 'ActiveState'), 'inactive', unit);
});

test('under systemd nothing starts during a restore, and a mistake in the configuration is not tried again', async (t) => {
  const hub = await installedHub(t);
  const state = join(hub.project, 'data/run/restore-state.json');
  await hub.sh('systemctl stop content-hub-web content-hub-worker');
  await hub.sh(`touch '${AT}/data/run/restore-state.json'`);
  await hub.sh('systemctl start content-hub-web content-hub-worker');
  for (const unit of ['web', 'worker']) assert.equal(await hub.show(unit, 'ActiveState'), 'inactive', unit);

  rmSync(state);
  await hub.sh(`echo PORT=x >'${AT}/.env'`);
  assert.notEqual((await hub.sh('systemctl start content-hub-web')).status, 0);
  assert.deepEqual([await hub.show('web', 'ActiveState'), await hub.show('web', 'ExecMainStatus')], ['failed', '2']);

  rmSync(join(hub.project, '.env'));
  assert.equal((await hub.sh('systemctl start content-hub-web content-hub-worker')).status, 0);
});

test('under systemd the sandboxed night sends a copy, and its drill proves that the copy can be restored', async (t) => {
  const hub = await installedHub(t);
  await hub.sh(`install -d -o daemon /srv/far && echo BACKUP_OFFSITE_DIR=/srv/far >'${AT}/.env' && ` +
    `'${AT}/scripts/install-systemd.sh' --user daemon`);

  const { status, stderr } = await hub.sh('systemctl start content-hub-backup.service');

  const log = readFileSync(join(hub.project, 'data/backups/nightly.log'), 'utf8');
  assert.equal(status, 0, stderr + log);
  assert.match(log, /^REHEARSED: .*\nPROVEN: \/srv\/far\/[\d-]+ was fetched, verified and restored\.$/m);
  assert.deepEqual(readdirSync(join(hub.project, 'data/tmp')), []);
});

test('under systemd the sandboxed backup runs, and can write nowhere else', async (t) => {
  const hub = await installedHub(t);
  mkdirSync(join(hub.project, 'open'), { mode: 0o777 });
  await hub.sh(`chmod 777 '${AT}/open' && printf '#!/bin/sh\\n${''}id -un; for place in "$DATA" /srv/open "$OPEN"; do ` +
    `touch "$place/x" && echo "wrote $place"; done\\n' >'${AT}/scripts/backup.sh' && mkdir -m 777 /srv/open && ` +
    'mkdir -p /run/systemd/system/content-hub-backup.service.d && ' +
    `printf '[Service]\\nEnvironment="DATA=${AT.replace('%', '%%%%')}/data" "OPEN=${AT.replace('%', '%%%%')}/open"\\n' ` +
    '>/run/systemd/system/content-hub-backup.service.d/where.conf && systemctl daemon-reload');

  await hub.sh('systemctl start content-hub-backup.service');

  const log = readFileSync(join(hub.project, 'data/backups/nightly.log'), 'utf8');
  assert.match(log, /^daemon$/m);
  assert.match(log, new RegExp(`^wrote ${AT}/data$`, 'm'));
  assert.equal(log.match(/^wrote/gm)?.length, 1);
  assert.equal(log.match(/Read-only file system/g)?.length, 2);
});

test('under systemd interim backups are made by their timer’s sandboxed service, with links to the uploads', async (t) => {
  const hub = await installedHub(t);
  assert.equal((await hub.sh(`'${AT}/scripts/install-systemd.sh' --every 2`)).status, 0);
  assert.match((await hub.sh('systemctl list-timers')).stdout, /content-hub-interim\.timer/);
  const content = 'an owl';
  const sha256 = createHash('sha256').update(content).digest('hex');
  const folder = join(hub.project, 'data/uploads', sha256.slice(0, 2));
  const isOwn = `chown -R daemon '${AT}/data/uploads'`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, sha256), content);
  query(join(hub.project, 'data'), (db) => putUpload({ db }, sha256, content.length));
  assert.equal((await hub.sh(isOwn)).status, 0);

  assert.equal((await hub.sh('systemctl start content-hub-interim.service')).status, 0);

  const log = readFileSync(join(hub.project, 'data/backups/interim.log'), 'utf8');
  assert.match(log, /result=verified off-site=none name=\S+Z /);
  assert.equal(statSync(join(folder, sha256)).nlink, 2);
  assert.equal((await hub.sh(`'${AT}/scripts/install-systemd.sh' --every 24`)).status, 0);
  assert.doesNotMatch((await hub.sh('systemctl list-timers')).stdout, /interim/);
  assert.ok(!existsSync(join(hub.project, 'data/run/last-interim.json')));
});

/** In the worker's place: what gets past Node's permission model. */
const OUTBREAK = `
  import { readFileSync, renameSync, writeFileSync } from 'node:fs';
  import { createServer } from 'node:net';
  import Database from 'better-sqlite3';
  const [project, data] = [process.cwd(), process.cwd() + '/data'];
  const addon = project + '/node_modules/better-sqlite3/prebuilds/linux-' + process.arch + '.node';
  const attach = (path) => new Database(':memory:').exec("ATTACH '" + path + "' AS other; CREATE TABLE other.t (x)");
  const attempts = {
    attachInData: () => attach(data + '/mine.db'),
    attachOutside: () => attach('/srv/open/other.db'),
    attachInProject: () => attach(project + '/open/other.db'),
    readOutside: () => readFileSync('/etc/passwd'),
    loadProgram: () => process.dlopen({ exports: {} }, addon),
    loadData: () => {
      writeFileSync(data + '/addon.node', readFileSync(addon));
      process.dlopen({ exports: {} }, data + '/addon.node');
    },
    loadProject: () => process.dlopen({ exports: {} }, project + '/open/addon.node'),
  };
  const outcome = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try { attempt(); outcome[name] = 'done'; } catch (error) { outcome[name] = error.code + ' ' + error.message; }
  }
  const server = createServer().once('error', (error) => end('listen', error.code)).listen(18080, () => end('listen', 'done'));
  const end = (name, result) => {
    outcome[name] = result;
    server.close();
    writeFileSync(data + '/outcome', JSON.stringify(outcome));
    renameSync(data + '/outcome', data + '/outcome.json'); // there once it is whole
  };
`;

test('under systemd the worker can neither ATTACH a database outside DATA_DIR, nor load another addon, nor (with BPF) listen on a port', async (t) => {
  const hub = await installedHub(t);
  mkdirSync(join(hub.project, 'open'), { mode: 0o777 });
  writeFileSync(join(hub.project, 'src/bin/worker.ts'), OUTBREAK);
  const prebuilt = `prebuilds/linux-${process.arch}.node`;
  copyFileSync(join(hub.project, 'node_modules/better-sqlite3', prebuilt), join(hub.project, 'open/addon.node'));
  await hub.sh(`chmod 777 '${AT}/open' && mkdir -m 777 /srv/open`);

  await hub.sh('systemctl restart content-hub-worker.service');
  const result = join(hub.project, 'data/outcome.json');
  await waitUntil('it has tried', () => existsSync(result));

  const outcome = JSON.parse(readFileSync(result, 'utf8'));
  const [allowed, refused] = [['attachInData', 'loadProgram'], ['attachOutside', 'attachInProject', 'readOutside']];
  for (const name of allowed) assert.equal(outcome[name], 'done', name);
  for (const name of refused) assert.match(outcome[name], /^(?:SQLITE_CANTOPEN|ERR_ACCESS_DENIED|ERR_DLOPEN_FAILED) /, name);
  for (const name of ['loadData', 'loadProject']) assert.match(outcome[name], /failed to map segment/);
  const hasBpf = (await hub.sh('systemctl --version')).stdout.includes('+BPF_FRAMEWORK');
  assert.equal(outcome['listen'], hasBpf ? 'EPERM' : 'done', 'SocketBindDeny is up to BPF');
});

test("install-systemd.sh mentions that the account's crontab has this clone's line, and installs all the same", async (t) => {
  const hub = await installedHub(t);
  const asDaemon = 'HOME=/tmp setpriv --reuid=1 --regid=1 --clear-groups';
  const byCron = await hub.sh(`${asDaemon} '${AT}/scripts/install-backup-cron.sh'`);
  assert.equal(byCron.status, 0, byCron.stderr);
  assert.match(byCron.stderr, /^install-backup-cron: systemd's content-hub-backup\.timer also backs up this hub/m);
  const made = (await hub.sh('crontab -u daemon -l')).stdout;
  const quoted = `15 3 * * * "${AT.replace('%', '\\%')}/scripts/nightly-backup.sh" >/dev/null`;

  for (const [table, warns] of [
    [made, true], [`${quoted}\n`, true], [`# ${made}`, false], ['', false],
    [made.replace(AT.slice(1, 8), 'opt/b h'), false], [made.replaceAll("'/opt", "'/other/opt"), false],
  ] as const) {
    assert.equal((await hub.sh(`crontab -u daemon - <<'END'\n${table}END`)).status, 0);
    const { status, stderr } = await hub.sh(`'${AT}/scripts/install-systemd.sh' --user daemon`);
    assert.equal(status, 0, stderr);
    const warning = /^install-systemd: the crontab of daemon also backs up this hub: keep only one .*timer\)$/m;
    assert.equal(warning.test(stderr), warns, table);
  }
});
