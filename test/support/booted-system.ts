import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isRunning, linkModules, PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';
import { waitUntil } from './wait-until.ts';

/** Where the hub lies in the booted system. */
export const AT = '/opt/a hub 100%';
const PARTS = ['scripts', 'src', 'migrations', 'package.json', 'node_modules/better-sqlite3', 'node_modules/node-addon-api'];

export type InstalledHub = Awaited<ReturnType<typeof installedHub>>;

/**
 * A hub installed by install-systemd.sh under a real systemd, as the account daemon; `project` is its folder on this
 * side, in which `prepare` may put more before the system starts, such as data.
 */
export async function installedHub(t: TestContext, prepare: (project: string) => void = () => {}) {
  const project = mkdtempSync(join(tmpdir(), 'hub-booted-'));
  t.after(() => rmSync(project, { recursive: true, force: true, maxRetries: 5 }));
  copyProject(project);
  prepare(project);
  const isCompiled = existsSync(join(project, 'data')) && layModules(join(project, 'data/run/compiled'));
  const env = { NODE_COMPILE_CACHE: join(AT, 'data/run/compiled'), NODE_COMPILE_CACHE_PORTABLE: '1' };
  const system = await bootSystem(t, project, AT, isCompiled ? env : {});
  if (isCompiled) await system.sh(`systemctl import-environment ${Object.keys(env).join(' ')}`);
  // Readable for daemon; the mode is that of mkdtemp.
  await system.sh(`chmod 755 '${AT}'; ! [ -e '${AT}/data' ] || chown -R daemon: '${AT}/data'`);
  const installed = await system.sh(`'${AT}/scripts/install-systemd.sh' --user daemon`);
  assert.equal(installed.status, 0, `${installed.stderr}${(await system.sh('journalctl -o cat -n 40')).stdout}`);

  /** One property of a unit, such as ActiveState or MainPID. */
  async function show(unit: string, property: string): Promise<string> {
    return (await system.sh(`systemctl show -p ${property} --value content-hub-${unit}`)).stdout.trim();
  }
  async function pid(unit: string): Promise<number> {
    return Number(await show(unit, 'MainPID'));
  }
  return { project, sh: system.sh, show, pid };
}

/** Compiled modules for root and for daemon: Node has folders of their own for them, which end in the account's id. */
function layModules(folder: string): boolean {
  linkModules('anywhere', folder);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of names) execFileSync('cp', ['-al', join(folder, name), join(folder, name.replace(/-0$/, '-1'))]);
  return names.length > 0;
}

/** What a clone has that was set up, in that folder. */
export function copyProject(folder: string): void {
  for (const part of PARTS) {
    if (existsSync(join(PROJECT_ROOT, part))) cpSync(join(PROJECT_ROOT, part), join(folder, part), { recursive: true });
  }
}

type BootedSystem = {
  /** Runs a line of shell in it, as root. */
  sh(script: string): Promise<Outcome>;
};

/**
 * A real systemd, started with this machine's own files (what it writes goes to memory) and a network of its own;
 * `project` is seen at `at`, and this Node at /opt/node. Needs root and systemd-nspawn.
 */
export async function bootSystem(
  t: TestContext, project: string, at: string, env: Record<string, string> = {},
): Promise<BootedSystem> {
  const folder = mkdtempSync(join(tmpdir(), 'hub-system-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'root'));
  const nspawn = ['systemd-nspawn', '-D', join(folder, 'root'), '--volatile=overlay', '--boot', '--register=no',
    '--keep-unit', '--private-network', '--console=pipe', '--link-journal=no', `--bind=${project}:${at}`,
    `--bind-ro=${process.execPath}:/opt/node`, 'systemd.unit=basic.target'];
  const script = `mount --bind / '${folder}/root' && exec "$@"`;
  const container = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', ...nspawn], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [container.stdout, container.stderr]) stream.on('data', (text: Buffer) => (said += String(text)));
  const ended = new Promise((resolve) => container.once('close', resolve));
  const leader = (): number => Number(childrenOf(container.pid ?? 0)[0] ?? 0);
  t.after(async () => {
    if (leader() > 0) process.kill(leader(), 'SIGKILL'); // the first process of a system takes all others with it
    await ended;
  });

  const sh: BootedSystem['sh'] = (line) =>
    runProgram('nsenter', ['-t', String(leader()), '-a', '/bin/sh', '-c', line], {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', HUB_NODE: '/opt/node', ...env },
    });
  const isUp = async (): Promise<boolean> => {
    if (container.exitCode !== null) throw new Error(`systemd does not start here: ${said}`);
    return leader() > 0 && isRunning(leader()) && (await sh('systemctl is-active basic.target')).status === 0;
  };
  await waitUntil('systemd has started', isUp);
  return { sh };
}

function childrenOf(pid: number): string[] {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks).flatMap((task) => readFileSync(join(tasks, task, 'children'), 'utf8').split(' '))
      .filter(Boolean);
  } catch {
    return [];
  }
}
