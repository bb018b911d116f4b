import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { copyProject } from './booted-system.ts';
import { freePort } from './ports.ts';
import { PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';
import { writeFiles } from './temporary-project.ts';
import { requireRoot, requireTool } from './tools.ts';

export type ContainerHost = NonNullable<Awaited<ReturnType<typeof containerHost>>>;

const BASE = 'localhost/base';

/**
 * A machine with podman, whose containers and networks are the test's own, and a clone of the project on it that was
 * set up. Images cannot be pulled: `BASE` is made of this machine's own essential packages and Node, and its npm takes
 * the packages from the project.
 */
export async function containerHost(t: TestContext) {
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
