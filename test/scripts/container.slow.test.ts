// Protects the hub in a container, by the commands of scripts/container/README.md in their order.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync, cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { addNotes, addPost, itemsAt } from '../support/accounts.ts';
import { copyProject } from '../support/booted-system.ts';
import { type Client, createClient } from '../support/client.ts';
import { freePort } from '../support/ports.ts';
import { catches, type Outcome, PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { writeFiles } from '../support/temporary-project.ts';
import { requireRoot, requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const PASSWORD = 'correct horse battery';

const README = readFileSync(join(PROJECT_ROOT, 'scripts/container/README.md'), 'utf8');
const BLOCKS = [...README.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text = '']) => text);
const [START = '', AFTER_REBOOT = '', BACKUPS = '', FROM_OUTSIDE = '', RESTORE = '', UPGRADE = ''] = BLOCKS;

/** The commands as they are typed here; all of them have to succeed. */
async function done(host: ContainerHost, text: string): Promise<Outcome> {
  const ours = text.replaceAll('/srv/content-hub', host.data)
    .replaceAll('podman build', 'podman build --network none --build-arg BASE=localhost/base')
    .replaceAll('https://hub.example', host.address).replaceAll('git pull', 'echo "// newer" >>src/bin/start.ts')
    .replaceAll('/etc/systemd', `'${host.units}'/etc/systemd`).replaceAll('systemctl daemon-reload', ':')
    .replaceAll('systemctl enable --now', `systemctl --root='${host.units}' enable`)
    .replaceAll('20260131-031500', `"$(ls '${host.data}/backups' | grep -xE '[0-9]{8}-[0-9]{6}' | tail -n 1)"`);
  const outcome = await host.run(ours);
  assert.equal(outcome.status, 0, `${ours}\n${outcome.stdout}${outcome.stderr}`);
  return outcome;
}

function backupsOf({ data }: ContainerHost): string[] {
  const folder = join(data, 'backups');
  return existsSync(folder) ? readdirSync(folder).filter((name) => /^\d{8}-\d{6}$/.test(name)) : [];
}

async function untilReady({ address }: ContainerHost): Promise<void> {
  const isReady = (): Promise<boolean> => fetch(`${address}/api/health`).then(({ ok }) => ok, () => false);
  await waitUntil('the hub is ready', isReady);
}

test('a hub in a container does what its README says, from the first start to an upgrade', async (t) => {
  const host = await containerHost(t);
  if (!host) return;
  const ada = createClient(host.address);
  await t.test('it starts confined, and is reached from this machine', () => startConfined(host, ada));
  const sourceId = await addNotes(ada);
  await addPost(ada, sourceId, 'Before the backup');
  await t.test('the address of a client behind a proxy is believed', () => believesProxy(host));
  await t.test('another hub on the same folder is refused', () => refusesAnother(host));
  await t.test('it comes back after a reboot', () => comesBack(host, ada));
  await t.test('it is backed up from inside', () => backUp(host, BACKUPS));
  await t.test('it is backed up from outside', () => backUp(host, FROM_OUTSIDE));
  await addPost(ada, sourceId, 'After the backup');
  await t.test('it is restored', () => restore(host, ada));
  await t.test('it is replaced by a new version', () => upgrade(host, ada));
  assert.equal(BLOCKS.length, 6, 'each block was run');
});

async function startConfined(host: ContainerHost, ada: Client): Promise<void> {
  const settings = `printf 'HUB_DATA=%s\\nHUB_PORT=%s\\n' '${host.data}' '${host.port}' >>scripts/container/.env\n`;
  await done(host, START.replace('podman-compose', `${settings}podman-compose`));
  await untilReady(host);
  await done(host, 'podman healthcheck run content-hub');
  let link: string | undefined;
  await waitUntil('the link is printed', async () => {
    [link] = /http:\S+\/join\/\S+/.exec((await host.run('podman logs content-hub')).stdout) ?? [];
    return link !== undefined;
  });
  const joined = await ada.post('/api/accounts', { invitation: link, username: 'ada', password: PASSWORD });
  assert.equal(joined.status, 201, joined.text);

  const inside = 'cat /proc/1/status /proc/mounts; ' +
    'for place in /usr /opt/content-hub /data /tmp; do touch $place/x && echo "wrote $place"; done';
  const { stdout } = await host.run(`podman exec content-hub sh -c '${inside}' || :`);
  assert.match(stdout, /^Uid:\t1000\t1000\t1000\t1000$/m);
  for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) assert.match(stdout, new RegExp(`^Cap${set}:\t0+$`, 'm'));
  assert.match(stdout, /^NoNewPrivs:\t1$/m);
  const all = await host.run("podman exec content-hub sh -c 'for file in /proc/[0-9]*/status; do echo \"$file\"; grep -E \"^(Name|SigCgt)\" \"$file\"; done'");
  const nodes = all.stdout.split('/proc/').filter((text) => /^Name:\t(?:node|MainThread)/m.test(text));
  assert.ok(nodes.length >= 3, all.stdout);
  assert.deepEqual(nodes.filter((text) => catches(text, 10)), [], 'no process opens a debugger at SIGUSR1');
  assert.match(stdout, /^\S+ \/ \S+ ro,/m);
  assert.deepEqual(stdout.match(/^wrote .*$/gm), ['wrote /data', 'wrote /tmp']);
  const image = await done(host, "podman image inspect --format '{{json .HealthCheck}}' content-hub");
  assert.match(image.stdout, /scripts\/healthcheck\.sh/);
  const { stdout: ports } = await host.run('podman port content-hub');
  assert.equal(ports.trim(), `8080/tcp -> 127.0.0.1:${host.port}`);
}

/** Of two clients that the proxy tells of, only the one who has tried often enough is refused. */
async function believesProxy(host: ContainerHost): Promise<void> {
  const body = JSON.stringify({ invitation: 'x', username: 'eve', password: PASSWORD });
  const join = async (address: string): Promise<number> => (await fetch(`${host.address}/api/accounts`, {
    method: 'POST', body, headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
  })).status;
  const statuses = [];
  for (let n = 0; n < 21; n++) statuses.push(await join('198.51.100.1'));
  assert.deepEqual([...new Set(statuses)], [410, 429]);
  assert.equal(await join('198.51.100.2'), 410);
}

async function refusesAnother(host: ContainerHost): Promise<void> {
  const refusal = /another hub runs on /;
  const inside = await host.run(`podman run --rm --user 1000:1000 -v '${host.data}':/data content-hub`);
  assert.deepEqual([inside.status, refusal.test(inside.stderr)], [75, true], inside.stderr);
  const outside = await host.run(`DATA_DIR='${host.data}' PORT=0 "$HUB_NODE" src/bin/start.ts`);
  assert.deepEqual([outside.status, refusal.test(outside.stderr)], [75, true], outside.stderr);
  await untilReady(host);
}

/** The unit's own commands, since no systemd runs here: one stops it for the reboot, the other starts it afterwards. */
async function comesBack(host: ContainerHost, ada: Client): Promise<void> {
  await host.run(`mkdir -p '${host.units}/etc/systemd/system'`);
  await done(host, AFTER_REBOOT);
  const place = join(host.units, 'etc/systemd/system');
  assert.deepEqual(readdirSync(join(place, 'multi-user.target.wants')), ['content-hub-container.service']);
  const verified = await host.run(`systemd-analyze verify '${place}/content-hub-container.service'`);
  assert.deepEqual([verified.status, verified.stderr], [0, '']);
  const unit = readFileSync(join(place, 'content-hub-container.service'), 'utf8');
  const [, start = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const [, stop = ''] = /^ExecStop=(.*)$/m.exec(unit) ?? [];

  await done(host, stop);
  const { stdout } = await host.run("podman inspect --format '{{.State.ExitCode}}' content-hub");
  assert.equal(stdout.trim(), '0', 'it ends by itself');
  await host.reboot();
  await assert.rejects(fetch(host.address));

  await done(host, start);

  await untilReady(host);
  assert.equal((await ada.get('/api/account')).status, 200);
}

async function backUp(host: ContainerHost, text: string): Promise<void> {
  const before = backupsOf(host);
  const { stdout } = await done(host, text);
  assert.match(stdout, /^result=verified /m);
  const made = backupsOf(host).filter((name) => !before.includes(name));
  assert.ok(made.length > 0);
  for (const name of made) assert.equal(statSync(join(host.data, 'backups', name, 'hub.db')).uid, 1000);
}

/** What was written after the backup is gone, and everybody has to sign in again. */
async function restore(host: ContainerHost, ada: Client): Promise<void> {
  const titles = async (): Promise<unknown[]> => (await itemsAt(ada, '/api/posts')).map(({ title }) => title);
  const before = await titles();
  await done(host, RESTORE);
  await untilReady(host);
  ada.cookies.clear();
  assert.equal((await ada.post('/api/session', { username: 'ada', password: PASSWORD })).status, 200);
  assert.deepEqual([before.length, await titles()], [2, before.slice(1)]);
}

async function upgrade(host: ContainerHost, ada: Client): Promise<void> {
  await done(host, UPGRADE);

  await untilReady(host);
  assert.match((await host.run('podman exec content-hub tail -n 1 src/bin/start.ts')).stdout, /newer/);
  assert.equal((await ada.get('/api/account')).status, 200);
  await done(host, 'podman stop content-hub');
  const { stdout } = await host.run("podman inspect --format '{{.State.ExitCode}}' content-hub");
  assert.equal(stdout.trim(), '0', 'it ends by itself when it is told to');
}

type ContainerHost = NonNullable<Awaited<ReturnType<typeof containerHost>>>;

const BASE = 'localhost/base';

/**
 * A machine with podman, whose containers and networks are the test's own, and a clone of the project on it that was
 * set up. Images cannot be pulled: `BASE` is made of this machine's own essential packages and Node, and its npm takes
 * the packages from the project.
 */
async function containerHost(t: TestContext) {
  for (const tool of ['podman', 'podman-compose', 'runc']) if (!requireTool(t, tool)) return undefined;
  if (!requireRoot(t, 'only root can run containers here')) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'hub-container-'));
  chmodSync(folder, 0o755); // account 1000 runs scripts of the clone
  const place = (name: string): string => join(folder, name);
  const env = { PATH: process.env.PATH ?? '', HUB_NODE: process.execPath, HOME: folder, ...podmanSettings(folder) };
  for (const name of ['project', 'net', 'base']) mkdirSync(place(name));
  copyProject(place('project'));
  for (const name of ['package-lock.json', '.npmrc']) cpSync(join(PROJECT_ROOT, name), join(place('project'), name));
  const run = (script: string): Promise<Outcome> =>
    runProgram('sh', ['-ec', script], { cwd: place('project'), env });
  t.after(async () => {
    await run('podman rm --force --time 0 --all; podman network prune --force');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const probe = await run('podman info');
  if (probe.status !== 0) Object.assign(env, podmanSettings(folder, 'vfs')); // no overlay upon an overlay

  writeBase(place('base'), place('base.tar'));
  const imported = await run(`podman import --quiet '${place('base.tar')}' ${BASE}`);
  assert.equal(imported.status, 0, imported.stderr);
  const port = await freePort();

  /** What podman finds after a reboot in which everything was stopped: /run is empty and nothing is mounted. */
  async function reboot(): Promise<void> {
    const { status, stderr } = await run(`
      awk -v at='${folder}/' 'index($5, at) == 1 { print $5 }' /proc/self/mountinfo | sort -r | xargs -r umount
      rm -rf '${place('run')}'`);
    assert.equal(status, 0, stderr);
  }
  return { run, reboot, data: place('data'), units: place('units'), port, address: `http://127.0.0.1:${port}` };
}

/**
 * Where podman keeps everything, and with what it works in this machine, which may itself be a container. Whatever asks
 * for no network has none: podman's own bridge would outlive the test.
 */
function podmanSettings(folder: string, driver = 'overlay'): Record<string, string> {
  writeFiles(folder, {
    'storage.conf': `[storage]\ndriver = "${driver}"\ngraphroot = "${folder}/root"\nrunroot = "${folder}/run"\n`,
    'containers.conf': `[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]\nnetns = "none"\n
      [engine]\ncgroup_manager = "cgroupfs"\ntmp_dir = "${folder}/run/libpod"\nlock_type = "file"\nevents_logger = "file"\nruntime = "runc"\n
      [network]\nnetwork_config_dir = "${folder}/net"\n`,
  });
  const files = { CONTAINERS_CONF: `${folder}/containers.conf`, CONTAINERS_STORAGE_CONF: `${folder}/storage.conf` };
  return { ...files, BUILDAH_LAYERS: 'false' };
}

/** As in a minimal Debian, with the `node` and `npm` of an image for Node. */
function writeBase(root: string, tar: string): void {
  for (const name of ['etc', 'packages', 'proc', 'root', 'sys', 'dev', 'run', 'tmp', 'usr/local/bin', 'var/tmp']) {
    mkdirSync(join(root, name), { recursive: true });
  }
  chmodSync(join(root, 'tmp'), 0o1777);
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) symlinkSync(`usr/${name}`, join(root, name));
  const master = '/usr/share/base-passwd';
  for (const name of ['passwd', 'group']) cpSync(join(master, `${name}.master`), join(root, 'etc', name));
  cpSync(process.execPath, join(root, 'usr/local/bin/node'));
  for (const name of ['better-sqlite3', 'node-addon-api']) {
    cpSync(join(PROJECT_ROOT, 'node_modules', name), join(root, 'packages', name), { recursive: true });
  }
  const npm = '#!/bin/sh\n[ "$1" = ci ] && mkdir node_modules && cp -R /packages/* node_modules/\n';
  writeFiles(join(root, 'usr/local/bin'), { npm }, 0o755);
  const list = join(dirname(tar), 'files');
  writeFileSync(list, filesOf(essentialPackages()).join('\n'));
  const fromHere = ['-C', '/', '--no-recursion', '-T', list];
  execFileSync('tar', ['-c', '-f', tar, '--owner=0', '--group=0', '-C', root, '.', ...fromHere]);
  rmSync(root, { recursive: true });
}

/** Those without which Debian is none, with all that they need, and what Node needs. */
function essentialPackages(): string[] {
  const format = '${Essential}|${Package}|${Pre-Depends},${Depends}\n';
  const installed = execFileSync('dpkg-query', ['-W', '-f', format], { encoding: 'utf8' }).trim().split('\n')
    .map((line) => line.split('|'));
  const needs = new Map(installed.map(([, name = '', ...needed]) => [name, needed.join('|').match(NAMES) ?? []]));
  const essential = installed.filter(([answer]) => answer === 'yes').map(([, name = '']) => name);
  const found = new Set(['libstdc++6', ...essential]);
  for (const name of found) for (const other of needs.get(name) ?? []) if (needs.has(other)) found.add(other);
  return [...found].filter((name) => needs.has(name));
}

/** Names in `libc6 (>= 2.36), dpkg:any | other`, without versions. */
const NAMES = /(?<=^|[,|] ?)[a-z0-9][a-z0-9.+-]+/g;

function filesOf(packages: string[]): string[] {
  const listed = execFileSync('dpkg-query', ['-L', ...packages], { encoding: 'utf8', maxBuffer: 1 << 26 }).split('\n');
  const paths = listed.map((path) => path.replace(/^\/(?=(?:s?bin|lib\w*)\/)/, '/usr/'))
    .filter((path) => /^\/(?:etc|usr|var)\//.test(path) && !/^\/usr\/share\/(?:doc|info|locale|man)\b/.test(path));
  const here = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  return [...new Set(paths)].filter(here).map((path) => path.slice(1));
}
